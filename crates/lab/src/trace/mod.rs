//! Experiments of the tracing study: all that they say of a network is read from captures by the analyser.
//!
//! | experiment | question |
//! |---|---|
//! | [`tbf`] | what RLC does under TCP: TBFs of acknowledgements, blocks sent again without need (figure 7) |

pub mod tbf;
