//! What is proposed of the links of acknowledged mode, and agreed to, for every element that has LLC (04.64 clause 8.9 [44.064]).

use super::ConfigText;
use crate::config::Element;
use crate::grammar::{Action, CommandError, Edit, Grammar, Node};
use gannet_machine::time::Duration;
use gannet_proto::llc::abm::{LinkConfig, LinksConfig, Retransmission, Timing};
use gannet_wire::id::Sapi;
use gannet_wire::llc::xid::Parameter;

/// The configuration of an element that has LLC.
pub(crate) trait HasLinks {
    /// What is chosen, by SAPI.
    fn links_mut(&mut self) -> &mut LinksConfig;
}

/// Help for the words before those of a parameter.
const SAPI_HELP: &str =
    "LLC\nA link of acknowledged mode\nUser data 1\nUser data 2\nUser data 3\nUser data 4";

/// The commands, in this node.
pub(crate) fn install<E: Element>(grammar: &mut Grammar<E>, node: Node)
where
    E::Config: HasLinks,
{
    let mut add =
        |pattern: &'static str, help: &str, action: Action<E>| grammar.add(&[node], pattern, help, action);
    let sapi = SAPI_HELP;
    let both =
        |what: &str, unit: &str| format!("{sapi}\n{what}\nTo the mobile\n{unit}\nFrom the mobile\n{unit}");
    add(
        "llc sapi (3|5|9|11) window downlink <1-255> uplink <1-255>",
        &both("k: I frames that are not acknowledged at most", "I frames"),
        Action::Set(|edit| {
            link(edit)?.k = Some((edit.args.value(1)?, edit.args.value(2)?));
            Ok(())
        }),
    );
    add(
        "llc sapi (3|5|9|11) buffer downlink <0-24320> uplink <0-24320>",
        &both("m: what these frames take at most", "Units of 16 octets, 9 at least; 0 is no limit"),
        Action::Set(|edit| {
            let m = (units(edit, 1)?, units(edit, 2)?);
            link(edit)?.m = Some(m);
            Ok(())
        }),
    );
    add(
        "llc sapi (3|5|9|11) n201-i <140-1520>",
        &format!("{sapi}\nN201-I: information of an I frame at most\nOctets"),
        Action::Set(|edit| {
            link(edit)?.shared.n201_i = Some(edit.args.value(1)?);
            Ok(())
        }),
    );
    // Before T200, which is a letter away and takes larger values: a wrong N200 is told as one.
    add(
        "llc sapi (3|5|9|11) n200 <1-15>",
        &format!("{sapi}\nN200: repetitions, after which a link is dead\nHow many"),
        Action::Set(|edit| {
            link(edit)?.shared.n200 = Some(edit.args.value(1)?);
            Ok(())
        }),
    );
    add(
        "llc sapi (3|5|9|11) t200 <1-4095>",
        &format!(
            "{sapi}\nT200: how long a command waits for its response, and T201 at most\nTenths of a second"
        ),
        Action::Set(|edit| {
            link(edit)?.shared.t200_tenths = Some(edit.args.value(1)?);
            Ok(())
        }),
    );
    add(
        "no llc sapi (3|5|9|11)",
        &format!("Take back\n{sapi}"),
        Action::Set(|edit| {
            *link(edit)? = LinkConfig::default();
            Ok(())
        }),
    );
    install_own(grammar, node);
}

/// Those about what only this end knows.
fn install_own<E: Element>(grammar: &mut Grammar<E>, node: Node)
where
    E::Config: HasLinks,
{
    let mut add =
        |pattern: &'static str, help: &str, action: Action<E>| grammar.add(&[node], pattern, help, action);
    let sapi = SAPI_HELP;
    let again = "What is sent again where a frame is missing; the peer is not asked\nWhat is missing\nThat, and all behind it";
    add(
        "llc sapi (3|5|9|11) retransmission (selective|go-back-n)",
        &format!("{sapi}\n{again}"),
        Action::Set(|edit| {
            let is_selective = edit.args.text(1) == "selective";
            let chosen = if is_selective { Retransmission::Selective } else { Retransmission::GoBackN };
            link(edit)?.retransmission = Some(chosen);
            Ok(())
        }),
    );
    let timer = "T201, how long an acknowledgement is waited for: at most T200";
    add(
        "llc sapi (3|5|9|11) timer (adaptive|t200)",
        &format!("{sapi}\n{timer}\nBy the measured round trips\nAs long as T200"),
        Action::Set(|edit| {
            let is_adaptive = edit.args.text(1) == "adaptive";
            link(edit)?.timing = Some(if is_adaptive { Timing::Adaptive } else { Timing::Fixed });
            Ok(())
        }),
    );
    add(
        "llc sapi (3|5|9|11) timer ms <1-60000>",
        &format!("{sapi}\n{timer}\nAlways so long\nMilliseconds"),
        Action::Set(|edit| {
            let ms: u16 = edit.args.value(1)?;
            link(edit)?.timing = Some(Timing::Chosen(Duration::from_millis(ms.into())));
            Ok(())
        }),
    );
}

/// What is chosen of the SAPI that the first argument names.
fn link<'e, C: HasLinks>(edit: &'e mut Edit<'_, C>) -> Result<&'e mut LinkConfig, CommandError> {
    let sapi = Sapi(edit.args.value(0)?);
    let links = edit.config.links_mut();
    links.of_mut(sapi).ok_or_else(|| CommandError::new(format!("SAPI {sapi} has no acknowledged mode.")))
}

fn units<C>(edit: &Edit<'_, C>, place: usize) -> Result<u16, CommandError> {
    let units = edit.args.value(place)?;
    if Parameter::MD(units).is_valid() {
        return Ok(units);
    }
    Err(CommandError::new(format!(
        "m is 0, which is no limit, or 9 to 24320 units of 16 octets, not {units}."
    )))
}

/// Writes what is chosen.
pub(crate) fn write(links: &LinksConfig, text: &mut ConfigText) {
    for (sapi, LinkConfig { k, m, shared, retransmission, timing }) in links.iter() {
        if let Some((down, up)) = k {
            text.line(format_args!("llc sapi {sapi} window downlink {down} uplink {up}"));
        }
        if let Some((down, up)) = m {
            text.line(format_args!("llc sapi {sapi} buffer downlink {down} uplink {up}"));
        }
        if let Some(octets) = shared.n201_i {
            text.line(format_args!("llc sapi {sapi} n201-i {octets}"));
        }
        if let Some(tenths) = shared.t200_tenths {
            text.line(format_args!("llc sapi {sapi} t200 {tenths}"));
        }
        if let Some(count) = shared.n200 {
            text.line(format_args!("llc sapi {sapi} n200 {count}"));
        }
        match retransmission {
            Some(Retransmission::Selective) => {
                text.line(format_args!("llc sapi {sapi} retransmission selective"));
            }
            Some(Retransmission::GoBackN) => {
                text.line(format_args!("llc sapi {sapi} retransmission go-back-n"));
            }
            None => {}
        }
        match timing {
            Some(Timing::Adaptive) => text.line(format_args!("llc sapi {sapi} timer adaptive")),
            Some(Timing::Fixed) => text.line(format_args!("llc sapi {sapi} timer t200")),
            Some(Timing::Chosen(Duration(ns))) => {
                text.line(format_args!("llc sapi {sapi} timer ms {}", ns / 1_000_000));
            }
            None => {}
        }
    }
}
