//! The person's door to Gannet.

fn main() {}
