//! An SGSN as an operator sees it.

use super::mapping::{gtp_version, port_of};
use crate::node::show as common;
use core::fmt::Write as _;
use core::net::{IpAddr, SocketAddr};
use gannet_machine::time::Instant;
use gannet_node::sgsn::Sgsn;
use gannet_node::sgsn::mobile::Mobile;
use gannet_node::sgsn::quality::Treatment;
use gannet_node::sgsn::subscribers::Subscriber;
use gannet_node::slots::Slot;
use gannet_ops::config::ns::NsBind;
use gannet_ops::config::sgsn::{NsSelection, SgsnConfig};
use gannet_ops::view;
use gannet_proto::bssgp::bvc::{Bvc, BvcCounters, Nse};
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::GmmState;
use gannet_proto::gsup::SubscriberData;
use gannet_proto::gtp::{Version, flow_label};
use gannet_proto::llc::SAPIS;
use gannet_proto::llc::abm::State;
use gannet_proto::ns::{NsEntity, NsVc, VcOrigin};
use gannet_proto::sm::network::{SmContext, SmState};
use gannet_proto::sndcp::compression::Compressions;
use gannet_proto::sndcp::{Counted, Sndcp};
use gannet_qos::class::{CellClass, Precedence};
use gannet_wire::gsup::PdpInfo;
use gannet_wire::id::{Bvci, Nsapi, Nsei, Sapi, Teid};
use gannet_wire::l3::ie::{PdpAddress, QosProfile};

const fn gmm_name(mobile: &Mobile) -> &'static str {
    match mobile.gmm.gmm_state() {
        GmmState::Deregistered => "GMM-DEREGISTERED",
        GmmState::CommonProcedureInitiated => "GMM-COMMON-PROCEDURE-INITIATED",
        GmmState::Registered if mobile.gmm.is_suspended() => "GMM-REGISTERED.SUSPENDED",
        GmmState::Registered => "GMM-REGISTERED",
        GmmState::DeregisteredInitiated => "GMM-DEREGISTERED-INITIATED",
    }
}

const fn mm_name(state: MmState) -> &'static str {
    match state {
        MmState::Idle => "IDLE",
        MmState::Standby => "STANDBY",
        MmState::Ready => "READY",
    }
}

const fn sm_name(state: SmState) -> &'static str {
    match state {
        SmState::ActivePending => "PDP-ACTIVE-PENDING",
        SmState::Active => "PDP-ACTIVE",
        SmState::ModifyPending | SmState::Updating => "PDP-MODIFY-PENDING",
        SmState::InactivePending(_) | SmState::Releasing => "PDP-INACTIVE-PENDING",
    }
}

/// One line of `show subscriber`.
pub fn subscriber(mobile: &Mobile) -> view::Subscriber {
    view::Subscriber {
        imsi: mobile.imsi(),
        msisdn: None,
        imei: mobile.gmm.imei(),
        ptmsi: mobile.gmm.ptmsi(),
        gmm_state: gmm_name(mobile),
        mm_state: mm_name(mobile.gmm.mm_state()),
        pdp_contexts: mobile.sm().iter().filter(|(_, context)| context.is_active()).count(),
    }
}

/// One entry of `show mm-context`.
pub fn mm_context(sgsn: &Sgsn, slot: Slot, mobile: &Mobile, pdp: bool) -> view::MmContext {
    view::MmContext {
        imsi: mobile.imsi(),
        imei: mobile.gmm.imei(),
        ptmsi: mobile.gmm.ptmsi(),
        tlli: Some(mobile.gmm.tlli()),
        tlli_old: mobile.foreign().map(|(_, tlli)| tlli).filter(|tlli| *tlli != mobile.gmm.tlli()),
        gmm_state: gmm_name(mobile),
        mm_state: mm_name(mobile.gmm.mm_state()),
        rai: Some(mobile.gmm.routing_area()),
        cell: Some(mobile.gmm.cell().id),
        msisdn: data(mobile).and_then(|data| data.msisdn).map(|msisdn| msisdn.to_string()),
        hlr: data(mobile).and_then(|data| data.hlr_number).map(|number| number.to_string()),
        counters: mm_counters(mobile),
        pdp_contexts: if pdp { pdp_contexts(sgsn, slot, mobile) } else { Vec::new() },
    }
}

fn data(mobile: &Mobile) -> Option<&SubscriberData> {
    mobile.subscriber().map(Subscriber::data)
}

fn mm_counters(mobile: &Mobile) -> view::MmCounters {
    let counters = mobile.counters();
    view::MmCounters {
        messages_in: counters.messages_in.into(),
        messages_out: counters.messages_out.into(),
        activations: counters.activations.into(),
        suspends: counters.suspends.into(),
        pagings: counters.pagings.into(),
        updates: counters.updates.into(),
    }
}

/// One entry of `show subscriber cache`.
pub fn cached_subscriber(mobile: &Mobile) -> view::CachedSubscriber {
    let info = |info: &PdpInfo| {
        let apn = info.apn.as_ref().map(ToString::to_string).unwrap_or_default();
        // The organisation and the number of the PDP type (09.02 clause 17.7.1 [29.060 clause 7.7.27]).
        let kind = match info.address {
            Some(PdpAddress::Ipv4(_)) => 0xf121,
            Some(PdpAddress::Ipv6(_)) => 0xf157,
            Some(PdpAddress::Ipv4v6(..)) => 0xf18d,
            _ => 0,
        };
        (info.context_id, kind, apn)
    };
    view::CachedSubscriber {
        line: subscriber(mobile),
        is_authorized: mobile.gmm.gmm_state() == GmmState::Registered,
        rai: Some(mobile.gmm.routing_area()),
        msisdn: data(mobile).and_then(|data| data.msisdn).map(|msisdn| {
            let digits = msisdn.tbcd.as_slice();
            let first = msisdn.nature_and_plan.unwrap_or(u8::try_from(digits.len()).unwrap_or(0));
            [&[first], digits].concat()
        }),
        pdp_infos: data(mobile).into_iter().flat_map(SubscriberData::pdp_infos).map(info).collect(),
    }
}

/// Octets of a list that a message of the control interface can carry.
const LIST_MAX: usize = 0xff00;

/// CTRL's `subscriber-list-active-v1`: of each mobile its IMSI and the address of its last PDP context, as
/// osmo-sgsn 1.9.0 writes it.
///
/// # Errors
/// Where it is longer than a message; nothing more is looked at then.
pub fn active_list(sgsn: &Sgsn) -> Result<String, String> {
    let mut text = String::new();
    for (_, mobile) in sgsn.mobiles() {
        let Some(imsi) = mobile.imsi() else { continue };
        let contexts = mobile.sm().iter().filter(|(_, context)| context.is_active());
        let address = contexts.last().and_then(|(_, context)| address(context.address()));
        let _ = match address {
            Some(IpAddr::V4(address)) => writeln!(text, "{imsi},IPv4 {address}"),
            Some(IpAddr::V6(address)) => writeln!(text, "{imsi},IPv6 {address}"),
            None => writeln!(text, "{imsi},"),
        };
        if text.len() > LIST_MAX {
            return Err("The list is longer than a message; the VTY has it".to_owned());
        }
    }
    Ok(text)
}

/// All contexts of a mobile.
pub fn pdp_contexts(sgsn: &Sgsn, slot: Slot, mobile: &Mobile) -> Vec<view::PdpContext> {
    mobile.sm().iter().map(|(nsapi, context)| pdp_context(sgsn, slot, mobile, nsapi, context)).collect()
}

fn pdp_context(
    sgsn: &Sgsn,
    slot: Slot,
    mobile: &Mobile,
    nsapi: Nsapi,
    context: &SmContext,
) -> view::PdpContext {
    let tunnel = mobile.bearer(nsapi).and_then(|bearer| bearer.tunnel);
    let access_point = sgsn.access_point(context.apn(), mobile.imsi());
    let ggsn = access_point.and_then(|(_, ggsn)| ggsn);
    let name = access_point.map(|(apn, _)| apn).filter(|apn| !apn.is_unnamed());
    let path = tunnel.and_then(|tunnel| sgsn.gtp().paths().get(tunnel.user_path));
    let version = tunnel.map(|tunnel| tunnel.version).or(ggsn.map(|ggsn| ggsn.version));
    let version = version.unwrap_or_default();
    let ours = sgsn.teid(slot, nsapi).map_or(Teid(0), |teid| match version {
        Version::V0 => Teid(flow_label(teid).0.into()),
        Version::V1 => teid,
    });
    view::PdpContext {
        imsi: mobile.imsi(),
        nsapi,
        at_sgsn: Some(view::AtSgsn {
            sapi: context.sapi(),
            ti: context.ti().0,
            local: sgsn.config().gtp_address,
        }),
        state: sm_name(context.state()),
        apn: name.map_or_else(|| "-".to_owned(), ToString::to_string),
        address: address(context.address()),
        peer: path.map(|path| path.address).or_else(|| ggsn.map(|ggsn| ggsn.address)),
        gtp_version: version.number(),
        teid_control: (ours, tunnel.map_or(Teid(0), |tunnel| tunnel.peer_control)),
        teid_user: (ours, tunnel.map_or(Teid(0), |tunnel| tunnel.peer_user)),
        qos: Some(qos(&context.qos())),
        treatment: Some(treatment(sgsn, slot, mobile, nsapi, context)),
        filters: Vec::new(),
        volumes: None,
    }
}

/// How its packets are treated.
fn treatment(sgsn: &Sgsn, slot: Slot, mobile: &Mobile, nsapi: Nsapi, context: &SmContext) -> view::Treatment {
    let priority = mobile.bearer(nsapi).map_or(0, |bearer| bearer.allocation_retention);
    let treatment = Treatment::of(&context.qos(), priority);
    let name = sgsn.context_name(slot, nsapi);
    view::Treatment {
        class: match treatment.class {
            CellClass::Signalling => "signalling",
            CellClass::RealTime => "real time",
            CellClass::Guaranteed => "guaranteed",
            CellClass::BestEffort => "best effort",
        },
        precedence: match treatment.precedence {
            Precedence::High => "high",
            Precedence::Normal => "normal",
            Precedence::Low => "low",
        },
        rate_octets_per_s: treatment.rate_octets_per_s,
        guaranteed_octets_per_s: treatment.guaranteed_octets_per_s,
        is_admitted: name.and_then(|name| sgsn.admission().is_admitted(name)).unwrap_or(false),
    }
}

const fn address(address: PdpAddress) -> Option<IpAddr> {
    match address {
        PdpAddress::Ipv4(address) | PdpAddress::Ipv4v6(address, _) => Some(IpAddr::V4(address)),
        PdpAddress::Ipv6(address) => Some(IpAddr::V6(address)),
        _ => None,
    }
}

const fn qos(qos: &QosProfile) -> view::Qos {
    view::Qos {
        precedence: qos.precedence.0,
        delay: qos.delay.0,
        reliability: qos.reliability.0,
        peak: qos.peak.0,
        mean: qos.mean.0,
    }
}

/// `show llc`: one mobile.
pub fn llc(mobile: &Mobile) -> view::Llc {
    let llc = &mobile.llc;
    let mut sapis = SAPIS;
    sapis.sort_by_key(|sapi| sapi.0);
    view::Llc {
        imsi: mobile.imsi(),
        tlli: llc.tlli(),
        tlli_old: llc.tlli_old(),
        cipher: llc.ciphering().algorithm.to_string(),
        bvc: (mobile.bvc().nsei, mobile.bvc().bvci),
        iov_ui: llc.iov_ui(),
        sapis: sapis
            .into_iter()
            .map(|sapi| view::LlcSapi {
                sapi,
                unnumbered: llc.unnumbered(sapi),
                t200_n200: llc.t200_n200(sapi),
                n201: (llc.n201_u(sapi), llc.n201_i(sapi)),
                link: link(mobile, sapi),
            })
            .collect(),
    }
}

/// The acknowledged mode of one of its SAPIs.
fn link(mobile: &Mobile, sapi: Sapi) -> Option<view::Link> {
    let abm = mobile.llc.abm(sapi)?;
    Some(view::Link {
        sapi,
        state: match abm.state() {
            State::Adm => "ADM",
            State::LocalEstablishment => "LOCAL-ESTABLISHMENT",
            State::RemoteEstablishment => "REMOTE-ESTABLISHMENT",
            State::Abm => "ABM",
            State::LocalRelease => "LOCAL-RELEASE",
        },
        n201_i: mobile.llc.n201_i(sapi),
        t200_n200: mobile.llc.t200_n200(sapi),
        windows: (abm.windows().k_sent, abm.windows().k_received),
        variables: abm.variables(),
        unacknowledged: abm.unacknowledged(),
        retransmissions: abm.retransmissions(),
    })
}

/// `show sndcp`: one mobile.
pub fn sndcp(mobile: &Mobile) -> impl Iterator<Item = view::Sndcp> {
    let all = mobile.sndcp();
    mobile.bearers().map(move |(nsapi, bearer)| view::Sndcp {
        imsi: mobile.imsi(),
        tlli: mobile.gmm.tlli(),
        nsapi,
        sapi: bearer.sndcp.sapi,
        next_n_pdu: bearer.sndcp.next_number(),
        acknowledged: all.and_then(|sndcp| {
            let (_, next) = sndcp.receive_numbers().find(|(of, _)| *of == nsapi)?;
            Some((sndcp.unconfirmed_of(nsapi), next))
        }),
        compression: all
            .and_then(|sndcp| sndcp.compressions(bearer.sndcp.sapi))
            .into_iter()
            .flat_map(Compressions::agreed)
            .filter(|(_, _, nsapis)| nsapis.has(nsapi))
            .map(|(_, agreed, _)| agreed.to_string())
            .collect(),
        octets: all.map(Sndcp::counted).map(|counted| {
            let Counted { sent, sent_compressed, received, received_compressed } = *counted;
            [(sent, sent_compressed), (received, received_compressed)]
        }),
    })
}

/// A socket of NS with its NS-VCs.
fn bind(ns: &NsEntity, place: usize, config: &NsBind, shown: common::Shown<'_>) -> Option<view::NsBind> {
    let port = port_of(place);
    let vcs = ns.vcs().filter(|vc| vc.port() == port).map(|vc| common::ns_vc(vc, shown));
    let listen = (shown.local)(port)?;
    Some(view::NsBind {
        name: config.name.clone(),
        listen,
        weights: config.ip_sns_weights,
        vcs: vcs.collect(),
    })
}

/// `show ns`: the NSEs, the sockets, or some of their NS-VCs.
pub fn ns(sgsn: &Sgsn, binds: &[NsBind], (what, shown): (NsSelection, common::Shown<'_>), out: &mut String) {
    let entities = &sgsn.gb().ns;
    match what {
        NsSelection::Binds => {}
        NsSelection::All | NsSelection::Entities => common::ns(entities, None, shown, out),
        NsSelection::Nse(nsei) => common::ns(entities, Some(nsei), shown, out),
        NsSelection::Nsvc(nsvci) => {
            let mut vcs = entities.vcs().filter(|vc| vc.nsvci() == Some(nsvci)).peekable();
            if vcs.peek().is_none() {
                out.push_str("No such NS Entity\n");
            }
            vcs.for_each(|vc| {
                let _ = write!(out, "{}", common::ns_vc(vc, shown));
            });
        }
        NsSelection::Persistent => {
            let is_kept = |vc: &NsVc| vc.origin() == VcOrigin::Configured;
            let mut nses: Vec<Nsei> = entities.vcs().filter(|vc| is_kept(vc)).map(NsVc::nsei).collect();
            nses.sort_unstable();
            nses.dedup();
            nses.into_iter().for_each(|nsei| common::nses(entities, Some(nsei), is_kept, shown, out));
        }
    }
    if matches!(what, NsSelection::All | NsSelection::Binds) {
        let shown =
            binds.iter().enumerate().filter_map(|(place, config)| bind(entities, place, config, shown));
        shown.for_each(|bind| {
            let _ = write!(out, "{bind}");
        });
    }
}

/// `show bssgp`: first the cells of an NSE, then its signalling BVC.
pub fn bvcs(sgsn: &Sgsn, now: Instant, only: Option<Nsei>, stats: bool) -> Vec<view::Bvc> {
    let gb = sgsn.gb();
    let mut all = Vec::new();
    for nse in gb.bvcs.nses().filter(|nse| only.is_none_or(|only| only == nse.nsei)) {
        for (index, bvc) in gb.bvcs.bvcs().filter(|(_, bvc)| bvc.nsei == nse.nsei) {
            let queued_ms = |flow| view::FlowControl { queued_ms: queued_mobiles(sgsn, now, index), ..flow };
            let flow_control = stats.then(|| flow_control(sgsn, now, index)).flatten().map(queued_ms);
            all.push(view::Bvc { flow_control, ..cell_bvc(bvc, stats) });
        }
        all.push(signalling_bvc(nse, stats));
    }
    all
}

/// The signalling BVC of an NSE.
pub fn signalling_bvc(nse: &Nse, stats: bool) -> view::Bvc {
    view::Bvc {
        nsei: nse.nsei,
        bvci: Bvci::SIGNALLING,
        cell: None,
        state: nse.state.name(),
        flow_control: None,
        stats: stats.then(|| bvc_stats(&nse.counters)),
    }
}

/// The BVC of a cell, without its flow control.
pub fn cell_bvc(bvc: &Bvc, stats: bool) -> view::Bvc {
    view::Bvc {
        nsei: bvc.nsei,
        bvci: bvc.bvci,
        cell: Some(bvc.cell),
        state: bvc.state.name(),
        flow_control: None,
        stats: stats.then(|| bvc_stats(&bvc.counters)),
    }
}

const fn bvc_stats(counters: &BvcCounters) -> view::BvcStats {
    view::BvcStats {
        rx_pdus: counters.pdus_in,
        rx_octets: counters.octets_in,
        tx_pdus: counters.pdus_out,
        tx_octets: counters.octets_out,
        blocked: counters.blocked,
        discarded: counters.discarded,
        statuses: counters.statuses,
    }
}

/// Flow control of a cell; how many mobiles wait there is not counted.
pub fn flow_control(sgsn: &Sgsn, now: Instant, index: u32) -> Option<view::FlowControl> {
    let view = sgsn.gb().flow.cell_view(now, index)?;
    let queued = view.total_queued();
    Some(view::FlowControl {
        bmax_octets: view.bucket.bmax_octets,
        rate_octets_per_s: view.bucket.rate_bit_per_s / 8,
        bucket_octets: view.level_octets,
        queued_pdus: queued.pdus.into(),
        queued_pdus_max: sgsn.config().flow.pdus_max.into(),
        queued_octets: queued.octets,
        queued_ms: 0,
        guaranteed_octets_per_s: sgsn.admission().cell_octets_per_s(index),
    })
}

/// Mobiles in a cell for which something waits.
fn queued_mobiles(sgsn: &Sgsn, now: Instant, cell: u32) -> u64 {
    let gb = sgsn.gb();
    let here = |mobile: &Mobile| gb.bvcs.find(mobile.bvc().nsei, mobile.bvc().bvci) == Some(cell);
    let waits =
        |slot: Slot| gb.flow.ms_view(now, slot.index).is_some_and(|view| view.total_queued().pdus > 0);
    sgsn.mobiles().filter(|(slot, mobile)| here(mobile) && waits(*slot)).count() as u64
}

/// `show sgsn`.
pub fn summary(
    sgsn: &Sgsn,
    gtp_address: IpAddr,
    (restart_counter, hlr): (u8, Option<SocketAddr>),
    now: Instant,
) -> view::SgsnSummary {
    let hlr = hlr.map(|at| (at, sgsn.hlr_is_up()));
    let config = sgsn.config();
    let (mobiles, contexts) = (sgsn.mobiles_len() as u64, sgsn.contexts().len());
    let table = |name, used, limit| view::Table { name, used, limit };
    let gb = sgsn.gb();
    view::SgsnSummary {
        hlr,
        gtp_address,
        restart_counter,
        uptime: now,
        tables: vec![
            table("mobiles", mobiles, config.mobiles_max as u64),
            table("PDP contexts", contexts as u64, sgsn.contexts().limit() as u64),
            table("NSEs", gb.ns.nses().count() as u64, config.nses_max as u64),
            table("cells", gb.bvcs.bvcs().count() as u64, config.cells_max.into()),
            table("LL-PDUs queued", gb.flow.queued_pdus().into(), config.flow.pdus_max.into()),
        ],
    }
}

/// `show ggsn`.
pub fn ggsns(sgsn: &Sgsn, config: &SgsnConfig) -> Vec<view::GgsnPeer> {
    let paths = sgsn.gtp().paths();
    let peer = |number: u8, address: IpAddr, version: Version| {
        let path = paths.find(address, version).and_then(|index| paths.get(index));
        let state = match path {
            Some(path) if path.control.failed || path.user.failed => "down",
            Some(_) => "up",
            None => "unknown",
        };
        view::GgsnPeer {
            number,
            address,
            gtp_version: version.number(),
            path: state,
            restart_counter: path.and_then(|path| path.restart_counter),
            pdp_contexts: path.map_or(0, |path| path.user.tunnels.into()),
        }
    };
    let configured =
        config.ggsns.iter().filter_map(|(number, ggsn)| Some((*number, ggsn.remote_ip?, gtp_version(ggsn))));
    configured.map(|(number, address, version)| peer(number, address, version)).collect()
}
