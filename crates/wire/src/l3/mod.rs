//! Layer 3 between mobile and SGSN: 04.08 (24.008).
