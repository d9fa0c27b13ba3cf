//! Commands of osmo-sgsn whose subject is not here: taken without effect where a node without it does what the line says
//! otherwise, refused where it would do something else.

use crate::Sgsn;
use crate::grammar::{Action, Grammar, Node};

/// Why an MME has no effect.
const NO_RIM: &str = "there is no interface to an MME, and no RAN information management (RIM).";
const NO_MME: &str =
    "taken without effect: there is no interface to an MME, and no RAN information management (RIM).";

/// All of them.
pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    let nothing = Action::<Sgsn>::Set(|_| Ok(()));
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
    install_mme(grammar);
}

/// MMEs, of which osmo-sgsn relays RAN information to one.
fn install_mme(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    let enter = Action::<Sgsn>::Enter(Node::Mme, |edit| {
        edit.warn(NO_MME);
        Ok(String::new())
    });
    grammar.add(sgsn, "mme NAME", "An MME: not here\nIts name", enter);
    grammar.add(sgsn, "no mme NAME", "Take back\nAn MME: not here\nIts name", Action::<Sgsn>::Ignore(NO_RIM));
    let mme = &[Node::Mme];
    let ignored = Action::<Sgsn>::Ignore(NO_RIM);
    grammar.add(mme, "gtp remote-ip A.B.C.D", "GTP\nIts address\nThe address", ignored);
    let area = "GTP\nRAN information is relayed: not here\nMCC\nMNC\nTAC";
    grammar.add(mme, "gtp ran-info-relay <0-999> <0-999> <0-65535>", area, ignored);
    let area = format!("Take back\n{area}");
    grammar.add(mme, "no gtp ran-info-relay <0-999> <0-999> <0-65535>", &area, ignored);
    let any = "GTP\nRAN information is relayed: not here\nOf all other areas";
    grammar.add(mme, "gtp ran-info-relay default", any, ignored);
    grammar.add(mme, "no gtp ran-info-relay default", &format!("Take back\n{any}"), ignored);
}
