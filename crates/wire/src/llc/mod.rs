//! Logical link control: 04.64 (44.064).
