//! Both ends together.

mod attacks;
mod garbage;
mod net;
mod way;
