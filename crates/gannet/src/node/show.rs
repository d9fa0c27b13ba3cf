//! What `show …` prints in every kind of node.

use core::fmt::Write as _;
use gannet_ops::view::{self, Explanation, IpSns, NsVc, NsVcStats, Nse, Why};
use gannet_proto::ns::sns::Sns;
use gannet_proto::ns::{self as proto, NsEntity, VcState};
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

/// `show ns`: the NSEs.
pub fn ns(ns: &NsEntity, only: Option<Nsei>, stats: bool, out: &mut String) {
    nses(ns, only, |_| true, stats, out);
}

/// The same, with those NS-VCs that are wanted.
pub fn nses(
    ns: &NsEntity,
    only: Option<Nsei>,
    is_wanted: impl Fn(&proto::NsVc) -> bool,
    stats: bool,
    out: &mut String,
) {
    let wanted = |nsei: &Nsei| only.is_none_or(|only| only == *nsei);
    let mut nses: Vec<Nsei> = ns.nses().map(proto::Nse::nsei).chain(ns.sns_nses().map(Sns::nsei)).collect();
    nses.sort_unstable();
    nses.dedup();
    for nsei in nses.into_iter().filter(wanted) {
        let vc = |index: &proto::VcIndex| ns.vc(*index).filter(|vc| is_wanted(vc)).map(|vc| ns_vc(vc, stats));
        let nse = ns.nses().find(|nse| nse.nsei() == nsei);
        let vcs = nse.map(|nse| nse.vcs().iter().filter_map(vc).collect()).unwrap_or_default();
        let view = Nse { nsei, ip_sns: ns.sns(nsei).map(ip_sns), vcs };
        let _ = write!(out, "{view}");
    }
}

/// An NS-VC, with its counters where they are wanted.
pub fn ns_vc(vc: &proto::NsVc, stats: bool) -> NsVc {
    let counters = vc.counters();
    NsVc {
        nsvci: vc.nsvci(),
        remote: vc.peer(),
        state: state(vc.state()),
        weights: vc.nsvci().is_none().then(|| vc.weights()),
        stats: stats.then_some(NsVcStats {
            rx_pdus: counters.pdus_in,
            rx_octets: counters.octets_in,
            tx_pdus: counters.pdus_out,
            tx_octets: counters.octets_out,
            alive_lost: counters.alive_unanswered,
            resets: counters.resets,
        }),
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
