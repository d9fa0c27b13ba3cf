//! `update-subscriber imsi IMSI …` and `reset sgsn state`: what an operator does in the place of the HLR.

use super::operations::{LocationAnswer, Parsed, SgsnOperation, Update, imsi};
use crate::Sgsn;
use crate::grammar::{Action, Args, Grammar, Node};

impl LocationAnswer {
    fn named(word: &str) -> Self {
        match word {
            "ok" => Self::Ok,
            "data-missing" => Self::DataMissing,
            "unexpected-data-value" => Self::UnexpectedDataValue,
            "unknown-subscriber" => Self::UnknownSubscriber,
            "roaming-not-allowed" => Self::RoamingNotAllowed,
            _ => Self::SystemFailure,
        }
    }
}

/// Why no vector is taken from an operator.
const NO_TRIPLET: &str =
    "keys come from the HLR alone: a session is neither ciphered nor forgotten by the terminal.";
/// Why no subscriber is made.
const NO_CREATE: &str =
    "a subscriber is known from its attach on; who may attach is said by 'auth-policy' and 'imsi-acl'.";

/// All of them.
pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    let enable = &[Node::Enable];
    let who = "A subscriber\nBy IMSI\nThe IMSI";
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        grammar.add(enable, pattern, &format!("{who}\n{help}"), Action::<Sgsn>::Operate(parse));
    };
    let help = "Forget it, with its PDP contexts; the HLR is told, the mobile is not";
    add("update-subscriber imsi IMSI destroy", help, |args| update(args, Update::Destroy));
    let help = "Do what the HLR's cancellation does\nIt is at another SGSN\nIts subscription has ended: it is detached";
    add("update-subscriber imsi IMSI cancel (update-procedure|subscription-withdraw)", help, |args| {
        let withdraw = args.text(1) == "subscription-withdraw";
        update(args, if withdraw { Update::CancelWithdraw } else { Update::CancelUpdate })
    });
    let help = "Answer UpdateLocation in the HLR's place\nIt is here now\nSystem failure\nData missing\n\
                Unexpected data value\nUnknown subscriber\nRoaming not allowed";
    add(
        "update-subscriber imsi IMSI update-location-result (ok|system-failure|data-missing|unexpected-data-value|unknown-subscriber|roaming-not-allowed)",
        help,
        |args| update(args, Update::LocationResult(LocationAnswer::named(args.text(1)))),
    );
    let help = "Have it prove anew who it is, with a vector of the HLR";
    add("update-subscriber imsi IMSI update-auth-info", help, |args| update(args, Update::AuthInfo));
    let help = format!("{who}\nKnow it before it attaches: not here");
    grammar.add(enable, "update-subscriber imsi IMSI create", &help, Action::<Sgsn>::Refuse(NO_CREATE));
    let help =
        format!("{who}\nGive it something\nA vector: not here\nIts key number\nSRES\nIt\nRAND\nIt\nKc\nIt");
    grammar.add(
        enable,
        "update-subscriber imsi IMSI insert auth-triplet <1-5> sres SRES rand RAND kc KC",
        &help,
        Action::<Sgsn>::Refuse(NO_TRIPLET),
    );
    grammar.add(
        enable,
        "reset sgsn state",
        "Begin anew\nThe SGSN\nForget every mobile and its PDP contexts; no mobile is told",
        Action::<Sgsn>::Operate(|_| Ok(SgsnOperation::ResetState)),
    );
}

fn update(args: &Args, update: Update) -> Parsed {
    Ok(SgsnOperation::UpdateSubscriber { imsi: imsi(args, 0)?, update })
}
