//! Queueing, and nothing but queueing.
