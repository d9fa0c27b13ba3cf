//! What the HLR and the SGSN have to say to each other about a subscriber: sequence numbers, another place, another
//! subscription, and an HLR that is lost in the middle of it.

use super::bed::{At, Bed};
use super::judge::{CORE, GB, Payload, count, frames, until_in};
use super::neighbour::Neighbour;
use super::network::{
    self, Card, GGSN, HLR, IMSI, SGSN, Setup, failed, ping_internet, until_active, until_mobile,
    until_no_context, until_purged,
};
use super::{Found, differences};
use crate::demo::Peer;
use crate::testbed::TestbedError;
use gannet_rig::ProcessSignal;
use gannet_wire::gsup::{Body, Cancel, CancelType, CnDomain};

type Result<T = Found> = core::result::Result<T, TestbedError>;

const SYNCH_FAILURE: &str = "gsm_a.dtap.msg_gmm_type == 0x1c && gsm_a.gm.gmm.cause == 21";
const AUTHENTICATION_RESPONSE: &str = "gsm_a.dtap.msg_gmm_type == 0x13";
const AUTHENTICATION_REJECT: &str = "gsm_a.dtap.msg_gmm_type == 0x14";
const DETACH_REQUEST: &str = "gsm_a.dtap.msg_gmm_type == 0x05 && udp.srcport == 23000";

const UPDATE_LOCATION: u8 = 0x04;
const SEND_AUTH_INFO: u8 = 0x08;
const PURGE: u8 = 0x0c;
const INSERT_DATA: u8 = 0x10;

fn gsup(kind: u8) -> String {
    format!("gsup.msg_type == {kind}")
}

/// By the mobile, and everywhere.
fn detach(bed: &mut Bed) -> Result<()> {
    network::order(bed, "mobile 1 detach")?;
    until_mobile(bed, " detached ").map(drop)
}

/// An order to a node of the core.
fn core_order(bed: &Bed, vty: &str, command: &str) -> Result<String> {
    bed.vty(At::Core, vty, command).ok_or_else(|| failed(command, "was refused"))
}

/// The USIM has seen more than the HLR remembers: AUTS brings them in step (33.102 clause 6.3.5).
pub fn resync(bed: &mut Bed) -> Result {
    // Not ciphered, so that what is said can be read.
    network::start(bed, &Setup { card: Card::Usim, geas: "0", ..Setup::default() })?;
    until_active(bed)?;
    detach(bed)?;
    until_purged(bed)?;
    // Nor does the SGSN keep vectors of before.
    core_order(bed, SGSN, "reset sgsn state")?;
    let forget = "update auc_3g set sqn = 0 where subscriber_id = 1;";
    let (content, printed) = bed.run(At::Core, "sqlite3", &["-cmd", ".timeout 5000", "hlr.db", forget])?;
    if !content {
        return Err(failed("sqlite3", printed));
    }
    network::order(bed, "mobile 1 activate")?;
    until_active(bed)?;
    let pings = ping_internet(bed)?;
    bed.stop(&["bss"]);
    bed.end_captures();
    let failures = times(bed, GB, SYNCH_FAILURE)?;
    let answers = times(bed, GB, AUTHENTICATION_RESPONSE)?;
    let with_auts = count(bed, CORE, &format!("{} && gsup.auts", gsup(SEND_AUTH_INFO)))?;
    let rejects = count(bed, GB, AUTHENTICATION_REJECT)?;
    let fact = format!(
        "{} Synch failure, {with_auts} SendAuthInfo with AUTS, {} RES, {rejects} AUTHENTICATION REJECT, {pings}",
        failures.len(),
        answers.len()
    );
    let is_taken = answers.last().zip(failures.last()).is_some_and(|(answer, failure)| answer > failure);
    if failures.len() == 1 && with_auts == 1 && rejects == 0 && is_taken {
        return Ok(Found::of(Payload::Clear, fact));
    }
    Err(failed("resynchronisation", fact))
}

/// The numbers of the frames that a filter lets pass.
fn times(bed: &Bed, file: &str, filter: &str) -> Result<Vec<u64>> {
    let rows = frames(bed, file, filter, &["frame.number"])?;
    Ok(rows.iter().filter_map(|row| row.first()?.parse().ok()).collect())
}

/// By the SGSN; osmo-hlr passes it on in a frame of its own.
const CANCEL_RESULT: &str = "gsup.msg_type == 0x1e && tcp.dstport == 4222";
/// An IMSI that no SGSN has, and what is said of it: IMSI unknown in HLR.
const UNKNOWN_IMSI: &str = "001010000000099";
const CANCEL_ERROR: &str = "gsup.msg_type == 0x1d && gsup.cause == 0x02 && tcp.dstport == 4222";
const CREATE_REQUEST: &str = "gtp.message == 0x10";
/// The selection mode of an access point that the subscription names, and of one that the mobile names and the subscription's
/// wildcard allows (29.060 clause 7.7.12).
const VERIFIED: &str = "0,";
const NOT_VERIFIED: &str = "1,";
/// Detach from GPRS without another attach (04.08 clause 10.5.5.5 [24.008]).
const NO_REATTACH: &str = "2";

fn cancel(cancel_type: CancelType) -> Body {
    let cn_domain = Some(CnDomain::PacketSwitched);
    Body::LocationCancelRequest(Cancel { cancel_type: Some(cancel_type), cn_domain })
}

/// The subscriber registers elsewhere, and then has no subscription any more.
pub fn location_cancel(bed: &mut Bed) -> Result {
    let bss = " cells 2\n cells-per-routing-area 1\n";
    network::start(bed, &Setup { geas: "0", bss, ..Setup::default() })?;
    until_active(bed)?;
    let mut neighbour = Neighbour::new(bed, network::HLR_ADDRESS, IMSI)?;
    neighbour.registers()?;
    let by_hlr = count(bed, CORE, "gsup.msg_type == 0x1c && tcp.srcport == 4222")?;
    if by_hlr > 0 {
        return Err(failed(
            "LocationCancel",
            "comes from osmo-hlr now: interop/README.md says that it does not",
        ));
    }
    neighbour.tells_sgsn_of(UNKNOWN_IMSI, cancel(CancelType::Update))?;
    until_in(bed, CORE, "LocationCancelError with cause 2 for an unknown subscriber", CANCEL_ERROR)?;
    neighbour.tells_sgsn(cancel(CancelType::Update))?;
    until_in(bed, CORE, "LocationCancelResult for an update", CANCEL_RESULT)?;
    until_no_context(bed)?;
    let told = count(bed, GB, DETACH_REQUEST)?;
    // The mobile was not told, and the SGSN does not know it any more: it is refused, and attaches anew.
    network::order(bed, "mobile 1 cell 1")?;
    bed.until("the new context at the GGSN", |bed| {
        let at_ggsn = bed.vty(At::Core, GGSN, "show pdp-context ggsn ggsn0")?;
        at_ggsn.contains(IMSI).then_some(())
    })?;
    until_active(bed)?;
    let pings = ping_internet(bed)?;
    // By now it may have been told to attach anew, as whoever sends with a TLLI that nobody has.
    let before = count(bed, GB, DETACH_REQUEST)?;
    neighbour.tells_sgsn(cancel(CancelType::Withdraw))?;
    bed.until("DETACH REQUEST", |bed| {
        count(bed, GB, DETACH_REQUEST).is_ok_and(|requests| requests > before).then_some(())
    })?;
    until_no_context(bed)?;
    bed.until("LocationCancelResult for both", |bed| {
        count(bed, CORE, CANCEL_RESULT).is_ok_and(|results| results >= 2).then_some(())
    })?;
    let created = frames(bed, CORE, CREATE_REQUEST, &["gtp.sel_mode", "gtp.ext_rat_type", "gtp.ext_imeisv"])?;
    let created = created.first().map(|row| row.join(", ")).unwrap_or_default();
    let rows = frames(bed, GB, DETACH_REQUEST, &["gsm_a.gm.gmm.type_of_detach", "gsm_a.gm.gmm.cause"])?;
    let by_withdrawal = rows.get(before..).unwrap_or_default();
    let last = by_withdrawal.last().map(|row| row.join(", cause ")).unwrap_or_default();
    let kind = by_withdrawal.last().and_then(|row| row.first()).map(String::as_str);
    let fact = format!(
        "Create with selection mode, RAT type, IMEI(SV): {created}; unknown: cause 2; update: no context left, \
         {told} DETACH REQUEST, attached anew with {pings}; withdraw: {} DETACH REQUEST with type {last}, no \
         context left",
        by_withdrawal.len()
    );
    let mut found = Found::of(Payload::Clear, fact);
    if bed.sgsn == Peer::Osmocom && created.starts_with(VERIFIED) {
        found = found.but(differences::SELECTION_MODE);
    }
    match bed.sgsn {
        Peer::Gannet if !created.starts_with(NOT_VERIFIED) => Err(failed("the selection mode", found.fact)),
        Peer::Gannet if told > 0 || by_withdrawal.len() != 1 || kind != Some(NO_REATTACH) => {
            Err(failed("the cancellations", found.fact))
        }
        Peer::Osmocom if kind == Some("3") => Ok(found.but(differences::DETACH_TYPE)),
        Peer::Gannet | Peer::Osmocom => {
            until_mobile(bed, " detached ")?;
            Ok(found)
        }
    }
}

/// The subscriber loses GPRS while it uses it.
pub fn delete_data(bed: &mut Bed) -> Result {
    network::start(bed, &Setup { geas: "0", ..Setup::default() })?;
    until_active(bed)?;
    let before = ping_internet(bed)?;
    core_order(bed, HLR, &format!("subscriber imsi {IMSI} update network-access-mode none"))?;
    if bed.sgsn == Peer::Osmocom {
        until_in(bed, CORE, "DeleteSubscriberDataError", "gsup.msg_type == 0x15 && gsup.cause == 97")?;
        let after = ping_internet(bed)?;
        let fact = format!("{before}; DeleteSubscriberDataError with cause 97, and {after} after it");
        return Ok(Found::of(Payload::Clear, fact).but(differences::NO_DELETE_DATA));
    }
    until_in(bed, CORE, "DeleteSubscriberDataResult", "gsup.msg_type == 0x16")?;
    until_no_context(bed)?;
    let shown = until_mobile(bed, " attached ")?;
    if shown.contains("NSAPI") {
        return Err(failed("show mobile 1", shown));
    }
    Ok(Found::of(Payload::Clear, format!("{before}; DeleteSubscriberData: no context left, still attached")))
}

/// How many messages of a kind SGSN and HLR have exchanged so far.
fn exchanged(bed: &Bed, kind: u8) -> Option<usize> {
    count(bed, CORE, &gsup(kind)).ok()
}

/// Whoever has to answer stands still; `act` makes the other ask; when the question is in the HLR's hands, or the SGSN's, the HLR
/// dies, and is back.
fn lose_hlr(bed: &mut Bed, (who, kind): (&str, u8), act: impl FnOnce(&mut Bed) -> Result<()>) -> Result<()> {
    let before = exchanged(bed, kind).ok_or_else(|| failed(CORE, "cannot be read"))?;
    bed.signal(who, ProcessSignal::Stop);
    act(bed)?;
    bed.until(&format!("GSUP message {kind:#04x}"), |bed| {
        exchanged(bed, kind).filter(|count| *count > before).map(drop)
    })?;
    bed.kill("hlr")?;
    bed.signal(who, ProcessSignal::Continue);
    network::start_hlr(bed)
}

/// The HLR dies with a request in its hands, one procedure after the other, and is back a second later.
pub fn hlr_lost(bed: &mut Bed) -> Result {
    network::start(bed, &Setup { geas: "0", ..Setup::default() })?;
    until_active(bed)?;
    lose_hlr(bed, ("hlr", PURGE), detach)?;
    match bed.sgsn {
        Peer::Gannet => until_purged(bed)?,
        Peer::Osmocom => network::until_linked(bed)?,
    }
    lose_hlr(bed, ("hlr", SEND_AUTH_INFO), |bed| network::order(bed, "mobile 1 activate"))?;
    until_active(bed)?;
    let authenticated = ping_internet(bed)?;
    lose_hlr(bed, ("sgsn", INSERT_DATA), |bed| {
        // osmo-hlr's confirmation looks like a refusal: what it says to the SGSN shows that it was none.
        let _ = bed.vty(At::Core, HLR, &format!("subscriber imsi {IMSI} update msisdn 1002"));
        Ok(())
    })?;
    network::until_linked(bed)?;
    let inserted = ping_internet(bed)?;
    let purges = exchanged(bed, PURGE).unwrap_or_default();
    let fact = format!(
        "PurgeMS: sent {purges} times; SendAuthInfo: attached, {authenticated}; InsertSubscriberData, which \
         osmo-hlr does not repeat: linked again, the context kept with {inserted}"
    );
    let found = Found::of(Payload::Clear, fact);
    match bed.sgsn {
        Peer::Osmocom if purges == 1 => Ok(found.but(differences::PURGE_LOST)),
        Peer::Gannet | Peer::Osmocom => Ok(found),
    }
}

/// The same with UpdateLocation. Nobody is authenticated, so that the HLR is asked nothing before it.
pub fn hlr_lost_location(bed: &mut Bed) -> Result {
    network::start(bed, &Setup { geas: "0", sgsn: " authentication optional\n", ..Setup::default() })?;
    until_active(bed)?;
    detach(bed)?;
    until_purged(bed)?;
    lose_hlr(bed, ("hlr", UPDATE_LOCATION), |bed| network::order(bed, "mobile 1 activate"))?;
    until_active(bed)?;
    let pings = ping_internet(bed)?;
    Ok(Found::of(Payload::Clear, format!("UpdateLocation: attached when it was back, {pings}")))
}
