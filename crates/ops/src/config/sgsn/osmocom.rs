//! Commands of osmo-sgsn whose subject is not here: taken without effect where a node without it does what the line says
//! otherwise, refused where it would do something else.

use crate::Sgsn;
use crate::vty::{Action, Grammar, Node};

/// All of them.
pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    let nothing = Action::<Sgsn>::Set(|_| Ok(()));
    let cdr = Action::<Sgsn>::Ignore("charging records are not written yet.");
    grammar.add(sgsn, "cdr filename NAME", "Charging records: not here\nTheir file\nIts path", cdr);
    grammar.add(sgsn, "cdr interval <1-2147483647>", "Charging records: not here\nHow often\nSeconds", cdr);
    grammar.add(sgsn, "cdr trap", "Charging records: not here\nOn the control interface", cdr);
    grammar.add(
        sgsn,
        "no cdr (filename|trap)",
        "Take back\nCharging records\nTheir file\nOn the control interface",
        nothing,
    );
    let iu = Action::<Sgsn>::Ignore("there is no Iu interface here.");
    grammar.add(sgsn, "cs7-instance-iu <0-15>", "Iu: not here\nThe SS7 instance", iu);
    grammar.add(
        sgsn,
        "iu rab-assign-addr-enc (x213|v4raw)",
        "Iu: not here\nForm of addresses\nOne\nAnother",
        iu,
    );
    grammar.add(
        sgsn,
        "encryption uea <0-2> [<0-2>] [<0-2>]",
        "Ciphering\nOf Iu: not here\nAlgorithm\nAnother\nAnother",
        iu,
    );
    let apn = "access points are allowed by 'apn APNAME ggsn <0-255>', and to a subscriber by the HLR.";
    grammar.add(
        sgsn,
        "access-point-name NAME",
        "An APN that is allowed: not here\nIts name",
        Action::<Sgsn>::Refuse(apn),
    );
    let help = "Take back\nAn APN that is allowed: not here\nIts name";
    grammar.add(sgsn, "no access-point-name NAME", help, nothing);
    let mme = "there is no S3 or Gn interface to an MME, and no RAN information management.";
    grammar.add(sgsn, "mme NAME", "An MME: not here\nIts name", Action::<Sgsn>::Refuse(mme));
    grammar.add(sgsn, "no mme NAME", "Take back\nAn MME: not here\nIts name", nothing);
}
