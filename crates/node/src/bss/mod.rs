//! The BSS emulator.
