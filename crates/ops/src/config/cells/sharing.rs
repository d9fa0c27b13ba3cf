//! Calls that share the PDCHs of each cell, and what becomes of GPRS: words beside `radio rlcmac`.

use super::{HasCells, set};
use crate::config::{ConfigText, Element};
use crate::grammar::{CommandError, Grammar, Node};

/// Calls of a script that a configuration may have.
pub const SCRIPT_MAX: usize = 32;

/// Calls, and what they do to GPRS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sharing {
    /// How calls come; `None` where there are none.
    pub calls: Option<CallsBy>,
    /// What becomes of LL-PDUs when calls have all PDCHs.
    pub policy: PreemptionPolicy,
    /// Access bursts get no answer then.
    pub ignores_access: bool,
    /// Mobiles hold what they have to send, however often an access has failed.
    pub mobiles_hold: bool,
}

/// How calls come to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of it, which is copied when somebody changes a word"
)]
pub enum CallsBy {
    /// In periods, the first after the time between two of them.
    Periods {
        /// How long each lasts, in s.
        span_s: u32,
        /// From the end of one to the begin of the next, in s.
        between_s: u32,
        /// How many timeslots they take.
        slots: u8,
    },
    /// By a Poisson process, each for a time with an exponential distribution.
    Erlang {
        /// Offered load in thousandths of an Erlang.
        millierlangs: u32,
        /// Mean holding time, in s.
        holding_s: u32,
        /// Of the dice.
        seed: u32,
    },
    /// At times that are given.
    Script([Option<ScriptedCalls>; SCRIPT_MAX]),
}

/// Calls at a time that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptedCalls {
    /// After the start, in s.
    pub at_s: u32,
    /// How long they last, in s.
    pub span_s: u32,
    /// How many timeslots they take.
    pub slots: u8,
}

/// What becomes of LL-PDUs when calls have all PDCHs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreemptionPolicy {
    /// They are discarded.
    Flush,
    /// Those that no TBF has begun to send are held.
    Hold,
    /// They are held for so many seconds and then discarded.
    HoldFor(u8),
    /// All that have not arrived go on when PDCHs return.
    #[default]
    Forward,
}

/// Writes the lines that differ from the defaults.
pub(super) fn write(sharing: &Sharing, text: &mut ConfigText) {
    match &sharing.calls {
        None => {}
        Some(CallsBy::Periods { span_s, between_s, slots }) => {
            text.line(format_args!("radio rlcmac calls periods {span_s} between {between_s} slots {slots}"));
        }
        Some(CallsBy::Erlang { millierlangs, holding_s, seed }) => {
            text.line(format_args!(
                "radio rlcmac calls erlang {millierlangs} holding {holding_s} seed {seed}"
            ));
        }
        Some(CallsBy::Script(script)) => {
            for ScriptedCalls { at_s, span_s, slots } in script.iter().flatten() {
                text.line(format_args!("radio rlcmac calls at {at_s} for {span_s} slots {slots}"));
            }
        }
    }
    match sharing.policy {
        PreemptionPolicy::Forward => {}
        PreemptionPolicy::Flush => text.line(format_args!("preemption policy flush")),
        PreemptionPolicy::Hold => text.line(format_args!("preemption policy hold")),
        PreemptionPolicy::HoldFor(seconds) => text.line(format_args!("preemption policy hold-for {seconds}")),
    }
    if sharing.ignores_access {
        text.line(format_args!("preemption access ignore"));
    }
    if sharing.mobiles_hold {
        text.line(format_args!("preemption mobile hold"));
    }
}

/// The commands, in this node.
pub(super) fn install<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    install_calls(grammar, node);
    let preemption = "What happens when calls have all PDCHs of a cell";
    let policy = format!("{preemption}\nWhat becomes of LL-PDUs that wait for mobiles");
    let help = format!(
        "{policy}\nThey are discarded\nThose that no TBF has begun to send are held\n\
         All that have not arrived go on when PDCHs return: the default"
    );
    set(grammar, node, "preemption policy (flush|hold|forward)", &help, |edit| {
        let policy = match edit.args.text(0) {
            "flush" => PreemptionPolicy::Flush,
            "hold" => PreemptionPolicy::Hold,
            _ => PreemptionPolicy::Forward,
        };
        edit.config.cells_mut().radio.sharing.policy = policy;
        Ok(())
    });
    let help = format!("{policy}\nThey are held for a time, and then discarded\nSeconds");
    set(grammar, node, "preemption policy hold-for <0-63>", &help, |edit| {
        edit.config.cells_mut().radio.sharing.policy = PreemptionPolicy::HoldFor(edit.args.value(0)?);
        Ok(())
    });
    let help = format!(
        "{preemption}\nWhat access bursts get\nNothing\nIMMEDIATE ASSIGNMENT REJECT, to wait: the default"
    );
    set(grammar, node, "preemption access (ignore|reject)", &help, |edit| {
        edit.config.cells_mut().radio.sharing.ignores_access = edit.args.text(0) == "ignore";
        Ok(())
    });
    let help = format!(
        "{preemption}\nWhat becomes of LL-PDUs that mobiles have to send\nThey are held\n\
         They are given up with the fifth access in a row that has failed: the default"
    );
    set(grammar, node, "preemption mobile (hold|flush)", &help, |edit| {
        edit.config.cells_mut().radio.sharing.mobiles_hold = edit.args.text(0) == "hold";
        Ok(())
    });
}

fn install_calls<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let calls = "The radio of one cell\nWith RLC/MAC: blocks, TBFs and random access\n\
                 Circuit-switched calls, which go before GPRS and take its PDCHs";
    let slots = "Timeslots that they take\nHow many";
    let help = format!(
        "{calls}\nAgain and again\nSeconds that a period lasts\nFrom one to the next\nSeconds\n{slots}"
    );
    set(grammar, node, "radio rlcmac calls periods <1-86400> between <1-86400> slots <1-8>", &help, |edit| {
        let (span_s, between_s) = (edit.args.value(0)?, edit.args.value(1)?);
        let periods = CallsBy::Periods { span_s, between_s, slots: edit.args.value(2)? };
        edit.config.cells_mut().radio.sharing.calls = Some(periods);
        Ok(())
    });
    let help = format!(
        "{calls}\nAt random, with a Poisson process\nOffered load in thousandths of an Erlang\n\
         Mean holding time\nSeconds\nOf the dice\nNumber"
    );
    let pattern = "radio rlcmac calls erlang <1-100000> holding <1-86400> seed <0-4294967295>";
    set(grammar, node, pattern, &help, |edit| {
        let (millierlangs, holding_s) = (edit.args.value(0)?, edit.args.value(1)?);
        let erlang = CallsBy::Erlang { millierlangs, holding_s, seed: edit.args.value(2)? };
        edit.config.cells_mut().radio.sharing.calls = Some(erlang);
        Ok(())
    });
    let help = format!(
        "{calls}\nAt a time; further lines add more\nSeconds after the start\nFor a time\nSeconds\n{slots}"
    );
    set(grammar, node, "radio rlcmac calls at <0-86400> for <1-86400> slots <1-8>", &help, |edit| {
        let (at_s, span_s) = (edit.args.value(0)?, edit.args.value(1)?);
        let more = ScriptedCalls { at_s, span_s, slots: edit.args.value(2)? };
        let calls = &mut edit.config.cells_mut().radio.sharing.calls;
        let mut script = match *calls {
            Some(CallsBy::Script(script)) => script,
            Some(CallsBy::Periods { .. } | CallsBy::Erlang { .. }) | None => [None; SCRIPT_MAX],
        };
        let Some(place) = script.iter_mut().find(|place| place.is_none()) else {
            return Err(CommandError(format!("there are {SCRIPT_MAX} lines of calls already.")));
        };
        *place = Some(more);
        *calls = Some(CallsBy::Script(script));
        Ok(())
    });
    set(grammar, node, "no radio rlcmac calls", &format!("Take back\n{calls}"), |edit| {
        edit.config.cells_mut().radio.sharing.calls = None;
        Ok(())
    });
}
