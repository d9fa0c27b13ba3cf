//! Compression by SNDCP in Osmocom's words, for every element that has SNDCP (04.65 clauses 6.5 and 6.6 [44.065]).
//!
//! *Active* proposes an algorithm to the peer, *passive* takes it where the peer proposes it, with no more than the limits
//! below.

use super::ConfigText;
use crate::config::Element;
use crate::grammar::{Action, Args, CommandError, Grammar, Node};
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
use gannet_wire::sndcp::algorithms::V42bis;

/// Slots less one of RFC 1144 that a passive end takes, which has 16 of them (RFC 1144 appendix A.2).
const PASSIVE_S0_MINUS_1: u8 = 15;

/// The configuration of an element that has SNDCP.
pub(crate) trait HasCompression {
    /// What is proposed and taken.
    fn compression_mut(&mut self) -> &mut CompressionConfig;
}

/// The commands, in this node.
pub(crate) fn install<E: Element>(grammar: &mut Grammar<E>, node: Node)
where
    E::Config: HasCompression,
{
    let mut add =
        |pattern: &'static str, help: &str, action: Action<E>| grammar.add(&[node], pattern, help, action);
    let headers = "Compression by SNDCP\nOf TCP/IP headers";
    let passive = "Where the peer proposes it";
    let help = format!("{headers}\nPropose it\nConnections whose headers are kept\nHow many");
    let set = |edit: &mut crate::grammar::Edit<'_, E::Config>| {
        edit.config.compression_mut().rfc1144 = Offer::Active(slots(edit.args)?);
        Ok(())
    };
    add("compression rfc1144 active slots <1-256>", &help, Action::Set(set));
    let set = |edit: &mut crate::grammar::Edit<'_, E::Config>| {
        edit.config.compression_mut().rfc1144 = Offer::Passive(PASSIVE_S0_MINUS_1);
        Ok(())
    };
    add("compression rfc1144 passive", &format!("{headers}\n{passive}"), Action::Set(set));
    let data = "Compression by SNDCP\nOf data";
    let help = format!(
        "{data}\nPropose it\nWhose N-PDUs\nThe mobile's\nThe SGSN's\nOf both\nSize of the dictionary\n\
         Codewords\nLongest string in it\nOctets"
    );
    let set = |edit: &mut crate::grammar::Edit<'_, E::Config>| {
        edit.config.compression_mut().v42bis = Offer::Active(limits(edit.args)?);
        Ok(())
    };
    add(
        "compression v42bis active direction (ms|sgsn|both) codewords <512-65535> strlen <6-250>",
        &help,
        Action::Set(set),
    );
    let set = |edit: &mut crate::grammar::Edit<'_, E::Config>| {
        edit.config.compression_mut().v42bis = Offer::Passive(V42bisLimits::default());
        Ok(())
    };
    add("compression v42bis passive", &format!("{data}\n{passive}"), Action::Set(set));
    let set = |edit: &mut crate::grammar::Edit<'_, E::Config>| {
        let compression = edit.config.compression_mut();
        match edit.args.text(0) {
            "v42bis" => compression.v42bis = Offer::Refuse,
            _ => compression.rfc1144 = Offer::Refuse,
        }
        Ok(())
    };
    let help = "Take back\nCompression by SNDCP\nOf TCP/IP headers\nOf data";
    add("no compression (rfc1144|v42bis)", help, Action::Set(set));
}

fn slots(args: &Args) -> Result<u8, CommandError> {
    let slots: u16 = args.value(0)?;
    Ok(u8::try_from(slots.saturating_sub(1)).unwrap_or(u8::MAX))
}

fn limits(args: &Args) -> Result<V42bisLimits, CommandError> {
    let p0 = match args.text(0) {
        "ms" => V42bis::P0_MS,
        "sgsn" => V42bis::P0_SGSN,
        _ => V42bis::P0_MS | V42bis::P0_SGSN,
    };
    Ok(V42bisLimits { p0, p1: args.value(1)?, p2: args.value(2)? })
}

/// Writes both algorithms, those that are refused as well.
pub(crate) fn write(compression: &CompressionConfig, text: &mut ConfigText) {
    match compression.rfc1144 {
        Offer::Refuse => text.line(format_args!("no compression rfc1144")),
        Offer::Passive(_) => text.line(format_args!("compression rfc1144 passive")),
        Offer::Active(s0_minus_1) => {
            text.line(format_args!("compression rfc1144 active slots {}", u16::from(s0_minus_1) + 1));
        }
    }
    match compression.v42bis {
        Offer::Refuse => text.line(format_args!("no compression v42bis")),
        Offer::Passive(_) => text.line(format_args!("compression v42bis passive")),
        Offer::Active(limits) => text.line(format_args!("compression v42bis active {limits}")),
    }
}
