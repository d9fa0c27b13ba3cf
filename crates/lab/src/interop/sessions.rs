//! PDP contexts: several of one mobile, one that the GGSN refuses, and a GGSN that has forgotten all of them.

use super::bed::{At, Bed};
use super::judge::{CORE, GB, Payload, count, first, frames, until_on_gb};
use super::network::{
    self, CORPORATE, GGSN, IMSI, Setup, address, failed, ping, ping_internet, until_active, until_mobile,
};
use super::{Found, differences};
use crate::demo::Peer;
use crate::testbed::TestbedError;

type Result = core::result::Result<Found, TestbedError>;

const ACTIVATE_REJECT: &str = "gsm_a.dtap.msg_sm_type == 0x43";
const DEACTIVATE: &str = "gsm_a.dtap.msg_sm_type == 0x46";
/// The cause of osmo-sgsn before it has the subscription: requested service option not subscribed.
const NOT_YET: &str = "33";

/// Two primary contexts to two access points, each with an address of its own.
pub fn contexts(bed: &mut Bed) -> Result {
    network::start(bed, &Setup::default())?;
    until_active(bed)?;
    network::order(bed, &format!("mobile 1 activate nsapi 6 apn {}", CORPORATE.0))?;
    let second = bed.until("the second context", |bed| address(&network::mobile(bed)?, 6))?;
    // The device has the address of the first one.
    bed.namespace(At::Radio).ip(&["address", "add", &format!("{second}/32"), "dev", "ms0"])?;
    let first = ping_internet(bed)?;
    let other = ping(bed, At::Radio, CORPORATE.1, &["-I", "ms0", "-I", &second])?;
    let at_ggsn = bed.vty(At::Core, GGSN, "show pdp-context ggsn ggsn0").unwrap_or_default();
    if at_ggsn.matches(&format!("IMSI: {IMSI}")).count() != 2 {
        return Err(failed("the contexts at the GGSN", at_ggsn));
    }
    network::order(bed, "mobile 1 deactivate 6")?;
    bed.until("the end of the second context", |bed| {
        let shown = network::mobile(bed)?;
        (!shown.contains("NSAPI 6") && shown.contains("NSAPI 5")).then_some(())
    })?;
    let after = ping_internet(bed)?;
    Ok(Found::of(
        Payload::Ciphered,
        format!("2 at the GGSN, {first} and {other}; after the second one's end {after} by the first"),
    ))
}

const SECONDARY_ANSWER: &str = "gsm_a.dtap.msg_sm_type == 0x4e || gsm_a.dtap.msg_sm_type == 0x4f";
/// What the network sends to the mobile in the second context.
const DOWN_BY_SECOND: &str = "sndcp.nsapib == 6 && udp.srcport == 23000";

/// A context beside the first one that has a filter for ICMP, at osmo-ggsn and then at our own GGSN.
pub fn secondary(bed: &mut Bed) -> Result {
    // Not ciphered, so that the contexts can be told apart on Gb.
    network::start(bed, &Setup { geas: "0", ..Setup::default() })?;
    until_active(bed)?;
    if bed.sgsn == Peer::Osmocom {
        network::order(bed, BESIDE_FIRST)?;
        until_on_gb(bed, "SM STATUS", "gsm_a.dtap.msg_sm_type == 0x55 && gsm_a.gm.sm.cause == 97")?;
        let pings = ping_internet(bed)?;
        let fact = format!("SM STATUS with cause 97, {pings} by the first context");
        return Ok(Found::of(Payload::Clear, fact).but(differences::SECONDARY_STATUS));
    }
    let refused = order_beside_first(bed)?;
    let gtp = frames(bed, CORE, CREATE_RESPONSE, &["gtp.cause"])?;
    let gtp = gtp.last().and_then(|row| row.first()).cloned().unwrap_or_default();
    if (gtp.as_str(), refused.as_str()) != ("200", "32") {
        return Err(failed("osmo-ggsn's answer", format!("GTP cause {gtp}, SM cause {refused}")));
    }
    let first = ping_internet(bed)?;
    network::order(bed, "mobile 1 detach")?;
    until_mobile(bed, " detached ")?;
    network::until_no_context(bed)?;
    bed.stop(&["ggsn"]);
    network::start_ggsn(bed, Peer::Gannet)?;
    network::order(bed, "mobile 1 activate")?;
    until_active(bed)?;
    let accepted = order_beside_first(bed)?;
    let down = count(bed, GB, DOWN_BY_SECOND)?;
    let pings = ping_internet(bed)?;
    bed.until("five answers in the second context", |bed| {
        count(bed, GB, DOWN_BY_SECOND).is_ok_and(|now| now >= down + 5).then_some(())
    })?;
    let at_ggsn = bed.vty(At::Core, GGSN, "show pdp-context ggsn ggsn0").unwrap_or_default();
    if !accepted.is_empty() || at_ggsn.matches(IMSI).count() != 2 {
        return Err(failed("the contexts at our GGSN", format!("SM cause {accepted}\n{at_ggsn}")));
    }
    let fact = format!(
        "osmo-ggsn: GTP cause {gtp} became SM cause {refused}, {first} by the first context; gannet ggsn: accepted, \
         {pings} by the filter"
    );
    Ok(Found::of(Payload::Clear, fact).but(differences::NO_SECONDARY))
}

/// The filter takes ICMP.
const BESIDE_FIRST: &str = "mobile 1 secondary 6 beside 5 precedence 1 protocol 1";
const CREATE_RESPONSE: &str = "gtp.message == 0x11";

/// Asks for the second context; the cause of the refusal, which is empty where it was accepted.
fn order_beside_first(bed: &mut Bed) -> core::result::Result<String, TestbedError> {
    let before = count(bed, GB, SECONDARY_ANSWER)?;
    network::order(bed, BESIDE_FIRST)?;
    bed.until("the answer to a secondary context", |bed| {
        count(bed, GB, SECONDARY_ANSWER).is_ok_and(|answers| answers > before).then_some(())
    })?;
    let causes = frames(bed, GB, SECONDARY_ANSWER, &["gsm_a.gm.sm.cause"])?;
    Ok(causes.last().and_then(|row| row.first()).cloned().unwrap_or_default())
}

const ACTIVATE_ACCEPT: &str = "gsm_a.dtap.msg_sm_type == 0x42";

/// A phone that sets the flag of its transactions and names no access point.
pub fn lenient(bed: &mut Bed) -> Result {
    // Not ciphered, so that the answer can be read.
    let bss = " transaction-flag\n no apn\n";
    let at_ggsn = " default-apn internet\n";
    network::start(bed, &Setup { geas: "0", bss, at_ggsn, ..Setup::default() })?;
    until_active(bed)?;
    let pings = ping_internet(bed)?;
    until_on_gb(
        bed,
        "ACTIVATE PDP CONTEXT ACCEPT with flag 0",
        &format!("{ACTIVATE_ACCEPT} && gsm_a.dtap.ti_flag == 0"),
    )?;
    Ok(Found::of(Payload::Clear, format!("answered with flag 0; {pings}")))
}

/// An access point that the GGSN does not have.
pub fn ggsn_reject(bed: &mut Bed) -> Result {
    // Not ciphered, so that the cause can be read.
    network::start(bed, &Setup { geas: "0", apn: "nowhere", ..Setup::default() })?;
    until_on_gb(bed, "ACTIVATE PDP CONTEXT REJECT", ACTIVATE_REJECT)?;
    if bed.sgsn == Peer::Osmocom
        && first(&frames(bed, GB, ACTIVATE_REJECT, &["gsm_a.gm.sm.cause"])?) == NOT_YET
    {
        // It has accepted the attach before the HLR has told it the subscription (accepts-early).
        network::order(bed, "mobile 1 activate")?;
        let other = format!("{ACTIVATE_REJECT} && gsm_a.gm.sm.cause != {NOT_YET}");
        until_on_gb(bed, "ACTIVATE PDP CONTEXT REJECT with the GGSN's cause", &other)?;
    }
    let shown = until_mobile(bed, " attached ")?;
    if shown.contains("NSAPI") {
        return Err(failed("show mobile 1", shown));
    }
    bed.stop(&["bss"]);
    let rows = frames(bed, GB, ACTIVATE_REJECT, &["gsm_a.gm.sm.cause"])?;
    let sm = rows.last().and_then(|row| row.first()).cloned().unwrap_or_default();
    bed.end_captures();
    let gtp = first(&frames(bed, CORE, "gtp.message == 0x11", &["gtp.cause"])?);
    if (gtp.as_str(), sm.as_str()) != ("219", "27") {
        return Err(failed("missing or unknown APN", format!("GTP cause {gtp}, SM cause {sm}")));
    }
    Ok(Found::of(Payload::None, format!("GTP cause {gtp} became SM cause {sm}; the mobile stays attached")))
}

/// The GGSN loses its power and comes back with another restart counter: the mobile is asked to activate anew (23.007).
pub fn ggsn_restart(bed: &mut Bed) -> Result {
    // Not ciphered, so that the cause can be read.
    network::start(bed, &Setup { sgsn: " ggsn 0 echo-interval 2\n", geas: "0", ..Setup::default() })?;
    until_active(bed)?;
    let before = ping_internet(bed)?;
    bed.until("an answered Echo Request", |bed| {
        count(bed, CORE, "gtp.message == 0x02").is_ok_and(|count| count > 0).then_some(())
    })?;
    bed.kill("ggsn")?;
    network::start_ggsn(bed, Peer::Osmocom)?;
    until_on_gb(bed, "the end of the old context", DEACTIVATE)?;
    let cause = first(&frames(bed, GB, DEACTIVATE, &["gsm_a.gm.sm.cause"])?);
    let asked = cause == "39";
    if !asked {
        network::order(bed, "mobile 1 activate")?;
    }
    bed.until("the new context at the GGSN", |bed| {
        let at_ggsn = bed.vty(At::Core, GGSN, "show pdp-context ggsn ggsn0")?;
        (at_ggsn.contains(IMSI) && network::mobile(bed)?.contains("pdp-active")).then_some(())
    })?;
    let after = ping_internet(bed)?;
    let fact = format!("{before}; deactivated by the SGSN with SM cause {cause}; {after} in a new context");
    let found = Found::of(Payload::Clear, fact);
    match (asked, bed.sgsn) {
        (true, _) => Ok(found),
        (false, Peer::Osmocom) => Ok(found.but(differences::NO_REACTIVATION)),
        (false, Peer::Gannet) => Err(failed("the cause", found.fact)),
    }
}
