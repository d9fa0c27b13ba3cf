//! The emulated radio interface between a BSS and its mobiles.
