//! Attach with authentication and ciphering, what the HLR refuses, and detach.

use super::Found;
use super::bed::{At, Bed};
use super::judge::{GB, Payload, count, frames, until_on_gb};
use super::network::{
    self, Card, GGSN, HLR, IMSI, SGSN, Setup, Subscription, failed, ping_internet, until_mobile,
};
use crate::demo::Peer;
use crate::testbed::TestbedError;

type Result = core::result::Result<Found, TestbedError>;

/// AUTHENTICATION AND CIPHERING REQUEST.
const AUTHENTICATION: &str = "gsm_a.dtap.msg_gmm_type == 0x12";

const AUTHENTICATION_REJECT: &str = "gsm_a.dtap.msg_gmm_type == 0x14";
const ATTACH_ACCEPT: &str = "gsm_a.dtap.msg_gmm_type == 0x02";
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
    attach(bed, Card::Sim, "1")
}

/// GEA2.
pub fn gea2(bed: &mut Bed) -> Result {
    attach(bed, Card::Sim, "2")
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
    let shown = until_mobile(bed, "pdp-active")?;
    if !shown.contains(&format!("GEA{geas}")) {
        return Err(failed("the cipher is another one", shown));
    }
    let pings = ping_internet(bed)?;
    let drops = bed.vty(At::Radio, network::BSS, "show drops").unwrap_or_default();
    if drops.contains("ciphered") || drops.contains("ms_no_cipher") {
        return Err(failed("frames with another cipher", drops));
    }
    network::no_key_is_told(bed)?;
    bed.stop(&["bss"]);
    let requests = frames(bed, GB, AUTHENTICATION, &["gsm_a.dtap.rand", "gsm_a.dtap.autn"])?;
    let [rand, autn] = requests.first().map(Vec::as_slice).unwrap_or_default() else {
        return Err(failed(AUTHENTICATION, "the SGSN has not authenticated"));
    };
    let mutual = !autn.is_empty();
    if rand.is_empty() || mutual != (card == Card::Usim) {
        return Err(failed("another authentication than that of the card", format!("RAND {rand}, AUTN {autn}")));
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
        return Err(failed("the answer", format!("{rejects} AUTHENTICATION REJECT, {accepts} ATTACH ACCEPT")));
    }
    Ok(Found::of(Payload::None, "AUTHENTICATION REJECT, no ATTACH ACCEPT"))
}

/// Nobody in the HLR has this IMSI.
pub fn hlr_unknown(bed: &mut Bed) -> Result {
    refused_by_hlr(bed, Subscription::Unknown)
}

/// The HLR knows the subscriber, who has no GPRS.
pub fn hlr_no_gprs(bed: &mut Bed) -> Result {
    refused_by_hlr(bed, Subscription::CircuitSwitchedOnly)
}

fn refused_by_hlr(bed: &mut Bed, subscription: Subscription) -> Result {
    network::start(bed, &Setup { subscription, ..Setup::default() })?;
    until_on_gb(bed, "ATTACH REJECT", ATTACH_REJECT)?;
    bed.stop(&["bss"]);
    let rejects = frames(bed, GB, ATTACH_REJECT, &["gsm_a.gm.gmm.cause"])?;
    let cause = rejects.first().and_then(|row| row.first()).cloned().unwrap_or_default();
    if cause.is_empty() || count(bed, GB, ATTACH_ACCEPT)? > 0 {
        return Err(failed("ATTACH REJECT", format!("has cause '{cause}', or an ATTACH ACCEPT came as well")));
    }
    Ok(Found::of(Payload::None, format!("ATTACH REJECT with cause {cause}")))
}

/// From the mobile, and then from the network.
pub fn detach(bed: &mut Bed) -> Result {
    network::start(bed, &Setup::default())?;
    until_mobile(bed, "pdp-active")?;
    network::order(bed, "mobile 1 detach")?;
    until_mobile(bed, " detached ")?;
    bed.until("the end of the context at the GGSN", no_context_at_ggsn)?;
    let purged = |bed: &Bed| {
        let shown = bed.vty(At::Core, HLR, &format!("show subscriber imsi {IMSI}"))?;
        shown.contains("PS purged").then_some(())
    };
    bed.until("PURGE MS at the HLR", purged)?;
    network::order(bed, "mobile 1 activate")?;
    until_mobile(bed, "pdp-active")?;
    let pings = ping_internet(bed)?;
    let command = match bed.sgsn {
        Peer::Gannet => format!("subscriber detach imsi {IMSI}"),
        Peer::Osmocom => format!("update-subscriber imsi {IMSI} cancel subscription-withdraw"),
    };
    let _ = bed.vty(At::Core, SGSN, &command);
    until_mobile(bed, " detached ")?;
    bed.until("the end of the context at the GGSN", no_context_at_ggsn)?;
    Ok(Found::of(
        Payload::Ciphered,
        format!("by the mobile (HLR: purged), attached again with {pings}, by the network; no context left at the GGSN"),
    ))
}

fn no_context_at_ggsn(bed: &Bed) -> Option<()> {
    let shown = bed.vty(At::Core, GGSN, "show pdp-context ggsn ggsn0")?;
    (!shown.contains(IMSI)).then_some(())
}
