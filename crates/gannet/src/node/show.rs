//! What `show …` prints in every kind of node.

use core::fmt::Write as _;
use core::net::SocketAddr;
use gannet_machine::Port;
use gannet_machine::time::Instant;
use gannet_ops::view::{self, Explanation, IpSns, NsVc, NsVcStats, Nse, Why};
use gannet_proto::ns::sns::Sns;
use gannet_proto::ns::{self as proto, NsEntity, VcOrigin, VcState};
use gannet_rt::{Access, Happened};
use gannet_wire::id::{Imsi, Nsei};
use gannet_wire::ns::IpElement;

/// `show drops`.
pub fn drops(access: &mut Access<'_>, out: &mut String) {
    for drop in view::drops(access.log().drops()) {
        let _ = write!(out, "{drop}");
    }
}

/// `show why imsi IMSI`.
pub fn why(access: &mut Access<'_>, imsi: Imsi, out: &mut String) {
    let before = out.len();
    for (time, happened) in access.log().history().of(imsi) {
        let _ = match happened {
            Happened::Dropped(drop) => write!(out, "{}", Why::of_drop(time, *drop)),
            Happened::Explained(sentence) => write!(out, "{}", Explanation { time, sentence }),
        };
    }
    if out.len() == before {
        let _ = writeln!(out, "Nothing of IMSI {imsi} was dropped or refused that is remembered.");
    }
}

/// How NS-VCs are shown.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// When.
    pub now: Instant,
    /// The address of a port, where it is known.
    pub local: &'a dyn Fn(Port) -> Option<SocketAddr>,
    /// With their counters.
    pub stats: bool,
}

/// `show ns`: the NSEs.
pub fn ns(ns: &NsEntity, only: Option<Nsei>, shown: Shown<'_>, out: &mut String) {
    nses(ns, only, |_| true, shown, out);
}

/// The same, with those NS-VCs that are wanted.
pub fn nses(
    ns: &NsEntity,
    only: Option<Nsei>,
    is_wanted: impl Fn(&proto::NsVc) -> bool,
    shown: Shown<'_>,
    out: &mut String,
) {
    let wanted = |nsei: &Nsei| only.is_none_or(|only| only == *nsei);
    let mut nses: Vec<Nsei> = ns.nses().map(proto::Nse::nsei).chain(ns.sns_nses().map(Sns::nsei)).collect();
    nses.sort_unstable();
    nses.dedup();
    for nsei in nses.into_iter().filter(wanted) {
        let vc = |index: &proto::VcIndex| ns.vc(*index).filter(|vc| is_wanted(vc)).map(|vc| ns_vc(vc, shown));
        let nse = ns.nses().find(|nse| nse.nsei() == nsei);
        let vcs = nse.map(|nse| nse.vcs().iter().filter_map(vc).collect()).unwrap_or_default();
        let view = Nse { nsei, ip_sns: ns.sns(nsei).map(ip_sns), vcs };
        let _ = write!(out, "{view}");
    }
}

/// An NS-VC, with its counters where they are wanted.
pub fn ns_vc(vc: &proto::NsVc, shown: Shown<'_>) -> NsVc {
    NsVc {
        number: vc.index().0,
        nsvci: vc.nsvci(),
        local: (shown.local)(vc.port()),
        remote: vc.peer(),
        state: state(vc.state()),
        since: shown.now.since(vc.since()),
        is_configured: vc.origin() == VcOrigin::Configured,
        weights: vc.nsvci().is_none().then(|| vc.weights()),
        stats: shown.stats.then(|| ns_vc_stats(vc)),
    }
}

/// The counters of an NS-VC.
pub const fn ns_vc_stats(vc: &proto::NsVc) -> NsVcStats {
    let counters = vc.counters();
    NsVcStats {
        rx_pdus: counters.pdus_in,
        rx_octets: counters.octets_in,
        tx_pdus: counters.pdus_out,
        tx_octets: counters.octets_out,
        blocked: counters.blocked,
        unblocked: counters.unblocked,
        deaths: counters.deaths,
        moves: counters.moves,
        nsvci_invalid: counters.nsvci_invalid,
        nsei_invalid: counters.nsei_invalid,
        alive_lost: counters.alive_unanswered,
        reset_lost: counters.resets_unanswered,
        resets: counters.resets,
        alive_delay_ms: counters.alive_delay.0 / 1_000_000,
    }
}

fn ip_sns(sns: &Sns) -> IpSns {
    let of = |element: &IpElement| (element.endpoint, element.signalling_weight, element.data_weight);
    IpSns {
        state: sns.state().to_string(),
        local: sns.local().iter().map(|local| of(&local.element)).collect(),
        remote: sns.remote().iter().map(of).collect(),
    }
}

const fn state(state: VcState) -> &'static str {
    match state {
        VcState::Dead => "DEAD",
        VcState::Resetting => "RESETTING",
        VcState::Blocked => "BLOCKED",
        VcState::Unblocking => "UNBLOCKING",
        VcState::Unblocked => "UNBLOCKED",
        VcState::Blocking => "BLOCKING",
        VcState::BlockedLocally => "BLOCKED-LOCALLY",
    }
}
