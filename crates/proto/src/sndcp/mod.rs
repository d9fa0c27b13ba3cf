//! SNDCP entities (04.65 [44.065]).
