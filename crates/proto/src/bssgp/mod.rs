//! BSSGP entities: BVC life cycle and downlink flow control (08.18 [48.018]).
