//! How long TBFs stay without data, and how many timeslots they have: words beside `radio rlcmac`.

use super::{HasCells, set};
use crate::config::{ConfigText, Element};
use crate::grammar::{Grammar, Node};

/// TBFs of a radio with RLC/MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tbfs {
    /// The multislot class of the mobiles, 1 to 12 (05.02 annex B [45.002]).
    pub multislot_class: u8,
    /// How long a downlink TBF stays without data (44.060 clause 9.3.1a), in ms; 0 where it ends at once.
    pub idle_ms: u16,
    /// How often the mobile of such a TBF is polled, in ms.
    pub idle_poll_ms: u16,
}

impl Default for Tbfs {
    fn default() -> Self {
        Self { multislot_class: 6, idle_ms: 0, idle_poll_ms: 200 }
    }
}

/// Writes the lines that differ from the defaults.
pub(super) fn write(tbfs: &Tbfs, text: &mut ConfigText) {
    let usual = Tbfs::default();
    if tbfs.multislot_class != usual.multislot_class {
        text.line(format_args!("radio rlcmac multislot-class {}", tbfs.multislot_class));
    }
    if tbfs.idle_poll_ms != usual.idle_poll_ms {
        text.line(format_args!("radio rlcmac idle-poll {}", tbfs.idle_poll_ms));
    }
    if tbfs.idle_ms != usual.idle_ms {
        text.line(format_args!("timer x2031 {}", tbfs.idle_ms));
    }
}

/// The commands, in this node.
pub(super) fn install<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let radio = "The radio of one cell\nWith RLC/MAC: blocks, TBFs and random access";
    let help = format!("{radio}\nMultislot class of the mobiles\nNumber of the class; 6 is the default");
    set(grammar, node, "radio rlcmac multislot-class <1-12>", &help, |edit| {
        edit.config.cells_mut().radio.tbfs.multislot_class = edit.args.value(0)?;
        Ok(())
    });
    let help = format!(
        "{radio}\nHow often a mobile is polled whose TBF has no data\nMilliseconds; 200 is the default"
    );
    set(grammar, node, "radio rlcmac idle-poll <20-5000>", &help, |edit| {
        edit.config.cells_mut().radio.tbfs.idle_poll_ms = edit.args.value(0)?;
        Ok(())
    });
    let help =
        "Timers of RLC/MAC\nHow long a downlink TBF stays without data; 0 ends it at once\nMilliseconds";
    set(grammar, node, "timer x2031 <0-60000>", help, |edit| {
        edit.config.cells_mut().radio.tbfs.idle_ms = edit.args.value(0)?;
        Ok(())
    });
}
