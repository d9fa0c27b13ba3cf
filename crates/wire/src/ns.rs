//! Network service: 08.16 (48.016).
