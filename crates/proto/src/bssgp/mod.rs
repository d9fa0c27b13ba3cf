//! BSSGP (08.18 [48.018]): the virtual connections of cells, and the flow control of the downlink.

pub mod bvc;
pub mod flow_control;
