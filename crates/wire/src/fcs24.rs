//! The 24-bit frame check sequence of LLC (04.64 clause 5.5 [44.064]).
