//! Drives nodes in virtual time.
