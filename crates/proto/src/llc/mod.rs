//! Logical link control entities (04.64 [44.064]).
