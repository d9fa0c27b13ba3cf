//! Both ends together.

mod attacks;
mod garbage;
mod learned;
mod net;
mod way;
