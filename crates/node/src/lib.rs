//! Entities composed into a network element, still sans-IO.
