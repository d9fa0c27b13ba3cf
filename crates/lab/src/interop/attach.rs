//! Attach with authentication and ciphering, what the HLR refuses, and detach.

use super::bed::{At, Bed};
use super::judge::{GB, Payload, count, first, frames, until_on_gb};
use super::network::{
    self, Card, IMSI, SGSN, Setup, Subscription, failed, ping_internet, until_active, until_mobile,
    until_no_context, until_purged,
};
use super::{Found, differences, secrets};
use crate::demo::Peer;
use crate::testbed::TestbedError;

type Result = core::result::Result<Found, TestbedError>;

/// AUTHENTICATION AND CIPHERING REQUEST.
const AUTHENTICATION: &str = "gsm_a.dtap.msg_gmm_type == 0x12";

const AUTHENTICATION_REJECT: &str = "gsm_a.dtap.msg_gmm_type == 0x14";
const ATTACH_ACCEPT: &str = "gsm_a.dtap.msg_gmm_type == 0x02";
const ACTIVATE_REJECT: &str = "gsm_a.dtap.msg_sm_type == 0x43";
const ATTACH_REJECT: &str = "gsm_a.dtap.msg_gmm_type == 0x04";

/// A SIM, and nothing ciphered.
pub fn attach_2g(bed: &mut Bed) -> Result {
    attach(bed, Card::Sim, "0")
}

/// A USIM.
pub fn attach_3g(bed: &mut Bed) -> Result {
    attach(bed, Card::Usim, "3")
}

/// GEA1.
pub fn gea1(bed: &mut Bed) -> Result {
    old_cipher(bed, "1")
}

/// GEA2.
pub fn gea2(bed: &mut Bed) -> Result {
    old_cipher(bed, "2")
}

/// A cipher that osmo-sgsn refuses in its configuration.
fn old_cipher(bed: &mut Bed, geas: &'static str) -> Result {
    match bed.sgsn {
        Peer::Gannet => attach(bed, Card::Sim, geas),
        Peer::Osmocom => {
            let refusal = format!("cipher {geas} is unsupported");
            match network::start(bed, &Setup { geas, ..Setup::default() }) {
                Err(TestbedError::Failed { message, .. }) if message.contains(&refusal) => {
                    Ok(Found::of(Payload::None, format!("'encryption gea {geas}' is refused"))
                        .but(differences::NO_GEA1_GEA2))
                }
                Err(error) => Err(error),
                Ok(()) => Err(failed("encryption gea", "is taken by osmo-sgsn: the difference is gone")),
            }
        }
    }
}

/// GEA3, with the Kc of a SIM.
pub fn gea3(bed: &mut Bed) -> Result {
    attach(bed, Card::Sim, "3")
}

/// GEA4, whose Kc128 only a USIM gives.
pub fn gea4(bed: &mut Bed) -> Result {
    attach(bed, Card::Usim, "4")
}

fn attach(bed: &mut Bed, card: Card, geas: &'static str) -> Result {
    network::start(bed, &Setup { card, geas, ..Setup::default() })?;
    let shown = until_active(bed)?;
    if !shown.contains(&format!("GEA{geas}")) {
        return Err(failed("the cipher is another one", shown));
    }
    let pings = ping_internet(bed)?;
    let drops = bed.vty(At::Radio, network::BSS, "show drops").unwrap_or_default();
    if drops.contains("ciphered") || drops.contains("ms_no_cipher") {
        return Err(failed("frames with another cipher", drops));
    }
    secrets::keep_what_is_shown(bed)?;
    bed.stop(&["bss"]);
    let requests = frames(bed, GB, AUTHENTICATION, &["gsm_a.dtap.rand", "gsm_a.dtap.autn"])?;
    let [rand, autn] = requests.first().map(Vec::as_slice).unwrap_or_default() else {
        return Err(failed(AUTHENTICATION, "the SGSN has not authenticated"));
    };
    let mutual = !autn.is_empty();
    if rand.is_empty() || mutual != (card == Card::Usim) {
        return Err(failed(
            "another authentication than that of the card",
            format!("RAND {rand}, AUTN {autn}"),
        ));
    }
    let payload = if geas == "0" { Payload::Clear } else { Payload::Ciphered };
    let by = if mutual { "AUTN and RES" } else { "SRES" };
    Ok(Found::of(payload, format!("{by}, GEA{geas}, {pings}")))
}

/// A SIM whose key is not that of the HLR.
pub fn wrong_key(bed: &mut Bed) -> Result {
    network::start(bed, &Setup { card: Card::SimOfAnother, ..Setup::default() })?;
    until_mobile(bed, "no-imsi")?;
    let drops = bed.vty(At::Radio, network::BSS, "show drops").unwrap_or_default();
    if !drops.contains("gmm_authentication_failed") {
        return Err(failed("show drops", drops));
    }
    bed.stop(&["bss"]);
    let rejects = count(bed, GB, AUTHENTICATION_REJECT)?;
    let accepts = count(bed, GB, ATTACH_ACCEPT)?;
    if rejects == 0 || accepts > 0 {
        return Err(failed(
            "the answer",
            format!("{rejects} AUTHENTICATION REJECT, {accepts} ATTACH ACCEPT"),
        ));
    }
    Ok(Found::of(Payload::None, "AUTHENTICATION REJECT, no ATTACH ACCEPT"))
}

/// Nobody in the HLR has this IMSI: cause 2, with which a phone may try again.
pub fn hlr_unknown(bed: &mut Bed) -> Result {
    network::start(bed, &Setup { subscription: Subscription::Unknown, ..Setup::default() })?;
    until_on_gb(bed, "ATTACH REJECT", ATTACH_REJECT)?;
    bed.stop(&["bss"]);
    match reject_cause(bed)?.as_str() {
        "2" => Ok(Found::of(Payload::None, "ATTACH REJECT with cause 2")),
        cause => Err(failed("ATTACH REJECT", format!("has cause {cause}"))),
    }
}

/// The HLR knows the subscriber, who has no GPRS: cause 7.
pub fn hlr_no_gprs(bed: &mut Bed) -> Result {
    // Not ciphered, so that everything can be read.
    let setup = Setup { subscription: Subscription::CircuitSwitchedOnly, geas: "0", ..Setup::default() };
    network::start(bed, &setup)?;
    match bed.sgsn {
        Peer::Gannet => {
            until_on_gb(bed, "ATTACH REJECT", ATTACH_REJECT)?;
            bed.stop(&["bss"]);
            let cause = reject_cause(bed)?;
            if cause == "7" {
                return Ok(Found::of(Payload::None, "ATTACH REJECT with cause 7"));
            }
            Err(failed("ATTACH REJECT", format!("has cause {cause}")))
        }
        Peer::Osmocom => {
            until_on_gb(bed, "ACTIVATE PDP CONTEXT REJECT", ACTIVATE_REJECT)?;
            bed.stop(&["bss"]);
            let accepted = count(bed, GB, ATTACH_ACCEPT)?;
            let rows = frames(bed, GB, ACTIVATE_REJECT, &["gsm_a.gm.sm.cause"])?;
            if accepted == 0 {
                return Err(failed("ATTACH ACCEPT", "did not come: the difference is gone"));
            }
            let fact = format!("attached, then ACTIVATE PDP CONTEXT REJECT with SM cause {}", first(&rows));
            Ok(Found::of(Payload::None, fact).but(differences::ACCEPTS_EARLY))
        }
    }
}

/// The cause of the first ATTACH REJECT, where no ATTACH ACCEPT came as well.
fn reject_cause(bed: &Bed) -> core::result::Result<String, TestbedError> {
    if count(bed, GB, ATTACH_ACCEPT)? > 0 {
        return Err(failed("ATTACH ACCEPT", "came as well"));
    }
    Ok(first(&frames(bed, GB, ATTACH_REJECT, &["gsm_a.gm.gmm.cause"])?))
}

/// From the mobile, and then from the network.
pub fn detach(bed: &mut Bed) -> Result {
    // Not ciphered, so that what is said can be read.
    network::start(bed, &Setup { geas: "0", ..Setup::default() })?;
    until_active(bed)?;
    network::order(bed, "mobile 1 detach")?;
    until_mobile(bed, " detached ")?;
    until_no_context(bed)?;
    until_purged(bed)?;
    network::order(bed, "mobile 1 activate")?;
    until_active(bed)?;
    let pings = ping_internet(bed)?;
    let fact = format!("by the mobile (HLR: purged), attached again with {pings}, by the network");
    let command = match bed.sgsn {
        Peer::Gannet => format!("subscriber detach imsi {IMSI}"),
        Peer::Osmocom => format!("update-subscriber imsi {IMSI} cancel subscription-withdraw"),
    };
    if bed.vty(At::Core, SGSN, &command).is_none() {
        return Err(failed(&command, "was refused by the SGSN"));
    }
    until_on_gb(
        bed,
        "DETACH ACCEPT of the mobile",
        "gsm_a.dtap.msg_gmm_type == 0x06 && udp.dstport == 23000",
    )?;
    until_no_context(bed)?;
    let requested = "gsm_a.dtap.msg_gmm_type == 0x05 && udp.srcport == 23000";
    let kind = first(&frames(bed, GB, requested, &["gsm_a.gm.gmm.type_of_detach"])?);
    // Of what the mobile is to detach from, 3 is not GPRS (04.08 clause 10.5.5.5 [24.008]).
    if bed.sgsn == Peer::Osmocom && kind == "3" {
        let fact = format!(
            "{fact}, with type {kind}: no context left at the GGSN, and the mobile thinks that it has one"
        );
        return Ok(Found::of(Payload::Clear, fact).but(differences::DETACH_TYPE));
    }
    until_mobile(bed, " detached ")?;
    Ok(Found::of(Payload::Clear, format!("{fact}, with type {kind}; no context left at the GGSN")))
}
