//! What the PCUs of a radio with RLC/MAC do: words beside `radio rlcmac`.

use super::{HasCells, set};
use crate::config::{ConfigText, Element};
use crate::grammar::{CommandError, Grammar, Node};

/// What the PCU of a cell with RLC/MAC does, and with what TBFs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pcu {
    /// The multislot class of the mobiles, 1 to 12 (05.02 annex B [45.002]).
    pub multislot_class: u8,
    /// The CCCH shares its channel with SDCCHs (04.18 clause 10.5.2.11 [44.018], CCCH-CONF).
    pub has_combined_ccch: bool,
    /// The form in which mobiles acknowledge control messages (44.060 clause 12.24, CONTROL_ACK_TYPE).
    pub control_ack: ControlAck,
    /// How long a downlink TBF stays without data (44.060 clause 9.3.1a), in ms; 0 where it ends at once.
    pub idle_ms: u16,
    /// How often the mobile of such a TBF is polled, in ms.
    pub idle_poll_ms: u16,
    /// How long a mobile keeps a downlink TBF that is complete, in ms: T3192.
    pub t3192_ms: u16,
    /// Weights of high, normal and low precedence.
    pub weights: [u8; 3],
    /// Longest PDU lifetime of what is of real time, in ms.
    pub real_time_ms: u32,
    /// How long LL-PDUs wait in a bucket, in hundredths of a second.
    pub bucket_cs: u16,
}

/// PACKET CONTROL ACKNOWLEDGEMENT of the mobiles of a cell (44.060 clause 11.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlAck {
    /// A control block.
    Block,
    /// Four access bursts of 8 bits.
    Bursts8,
    /// Four access bursts of 11 bits.
    Bursts11,
}

impl ControlAck {
    const WORDS: [(&str, Self); 3] =
        [("block", Self::Block), ("bursts-8", Self::Bursts8), ("bursts-11", Self::Bursts11)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, form)| *form == self).map_or("block", |(word, _)| word)
    }
}

impl Default for Pcu {
    fn default() -> Self {
        Self {
            multislot_class: 6,
            has_combined_ccch: false,
            control_ack: ControlAck::Block,
            idle_ms: 0,
            idle_poll_ms: 200,
            t3192_ms: 500,
            weights: [4, 2, 1],
            real_time_ms: 4000,
            bucket_cs: 100,
        }
    }
}

/// Writes the lines that differ from the defaults: an access point has none of them.
pub(super) fn write(pcu: &Pcu, text: &mut ConfigText) {
    let usual = Pcu::default();
    if pcu.multislot_class != usual.multislot_class {
        text.line(format_args!("radio rlcmac multislot-class {}", pcu.multislot_class));
    }
    if pcu.has_combined_ccch {
        text.line(format_args!("radio rlcmac ccch combined"));
    }
    if pcu.control_ack != usual.control_ack {
        text.line(format_args!("radio rlcmac control-ack {}", pcu.control_ack.word()));
    }
    if pcu.idle_poll_ms != usual.idle_poll_ms {
        text.line(format_args!("radio rlcmac idle-poll {}", pcu.idle_poll_ms));
    }
    let [high, normal, low] = pcu.weights;
    if pcu.weights != usual.weights {
        text.line(format_args!("radio rlcmac weights high {high} normal {normal} low {low}"));
    }
    if pcu.real_time_ms != usual.real_time_ms {
        text.line(format_args!("radio rlcmac real-time lifetime {}", pcu.real_time_ms));
    }
    if pcu.idle_ms != usual.idle_ms {
        text.line(format_args!("timer x2031 {}", pcu.idle_ms));
    }
    if pcu.t3192_ms != usual.t3192_ms {
        text.line(format_args!("timer t3192 {}", pcu.t3192_ms));
    }
    if pcu.bucket_cs != usual.bucket_cs {
        text.line(format_args!("flow-control bucket-time {}", pcu.bucket_cs));
    }
}

const OF_RLCMAC: &str = "The radio of one cell\nWith RLC/MAC: blocks, TBFs and random access";

/// The commands, in this node.
pub(super) fn install<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    install_tbfs(grammar, node);
    install_shares(grammar, node);
    install_timers(grammar, node);
}

fn install_tbfs<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let help = format!("{OF_RLCMAC}\nMultislot class of the mobiles\nNumber of the class; 6 is the default");
    set(grammar, node, "radio rlcmac multislot-class <1-12>", &help, |edit| {
        edit.config.cells_mut().radio.pcu.multislot_class = edit.args.value(0)?;
        Ok(())
    });
    let help = format!(
        "{OF_RLCMAC}\nThe CCCH on timeslot 0\nAlone: nine blocks of 51 frames; the default\nWith SDCCHs: three blocks, and 27 places for access bursts"
    );
    set(grammar, node, "radio rlcmac ccch (uncombined|combined)", &help, |edit| {
        edit.config.cells_mut().radio.pcu.has_combined_ccch = edit.args.text(0) == "combined";
        Ok(())
    });
    let help = format!(
        "{OF_RLCMAC}\nHow a mobile acknowledges a control message that polls it\nA control block; the default\n\
         Four access bursts of 8 bits\nFour access bursts of 11 bits"
    );
    set(grammar, node, "radio rlcmac control-ack (block|bursts-8|bursts-11)", &help, |edit| {
        let word = edit.args.text(0);
        let form = ControlAck::WORDS.iter().find(|(name, _)| *name == word).map(|(_, form)| *form);
        edit.config.cells_mut().radio.pcu.control_ack = form.unwrap_or(ControlAck::Block);
        Ok(())
    });
    let help = format!(
        "{OF_RLCMAC}\nHow often a mobile is polled whose TBF has no data\nMilliseconds; 200 is the default"
    );
    set(grammar, node, "radio rlcmac idle-poll <20-5000>", &help, |edit| {
        edit.config.cells_mut().radio.pcu.idle_poll_ms = edit.args.value(0)?;
        Ok(())
    });
}

fn install_shares<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let help = format!(
        "{OF_RLCMAC}\nShares of the blocks where several mobiles have user data to receive, by its precedence\n\
         High precedence\nIts weight\nNormal precedence\nIts weight\nLow precedence\nIts weight"
    );
    set(grammar, node, "radio rlcmac weights high <1-255> normal <1-255> low <1-255>", &help, |edit| {
        let weights = [edit.args.value(0)?, edit.args.value(1)?, edit.args.value(2)?];
        edit.config.cells_mut().radio.pcu.weights = weights;
        Ok(())
    });
    let help = format!(
        "{OF_RLCMAC}\nUser data that goes before what has a weight\nBy the PDU lifetime in DL-UNITDATA, at most\nMilliseconds"
    );
    set(grammar, node, "radio rlcmac real-time lifetime <0-655340>", &help, |edit| {
        edit.config.cells_mut().radio.pcu.real_time_ms = edit.args.value(0)?;
        Ok(())
    });
}

fn install_timers<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let timer = "Timers of RLC/MAC";
    let help =
        format!("{timer}\nHow long a downlink TBF stays without data; 0 ends it at once\nMilliseconds");
    set(grammar, node, "timer x2031 <0-60000>", &help, |edit| {
        edit.config.cells_mut().radio.pcu.idle_ms = edit.args.value(0)?;
        Ok(())
    });
    let help = format!(
        "{timer}\nHow long a mobile keeps a downlink TBF that is complete: 0, 80, 120, 160, 200, 500, 1000 or 1500\nMilliseconds"
    );
    set(grammar, node, "timer t3192 <0-1500>", &help, |edit| {
        let t3192: u16 = edit.args.value(0)?;
        if ![0, 80, 120, 160, 200, 500, 1000, 1500].contains(&t3192) {
            let text = "T3192 is broadcast as 0, 80, 120, 160, 200, 500, 1000 or 1500 ms.";
            return Err(CommandError(text.to_owned()));
        }
        edit.config.cells_mut().radio.pcu.t3192_ms = t3192;
        Ok(())
    });
    let help = "What the BSS tells the SGSN\nWith RLC/MAC: how long LL-PDUs wait in a bucket; Bmax is what is drained in that time\nHundredths of a second";
    set(grammar, node, "flow-control bucket-time <1-65534>", help, |edit| {
        edit.config.cells_mut().radio.pcu.bucket_cs = edit.args.value(0)?;
        Ok(())
    });
}
