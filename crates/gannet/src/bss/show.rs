//! A BSS and its mobiles as an operator sees them.

use super::devices::Devices;
use core::net::IpAddr;
use gannet_node::bss::{Bss, CellCounters};
use gannet_node::ms::show::MobileView;
use gannet_node::ms::{Ms, Stats};
use gannet_ops::view;
use gannet_wire::id::Bvci;
use gannet_wire::l3::ie::PdpAddress;
use std::collections::BTreeMap;

/// One line of `show mobile`.
pub fn mobile(view: &MobileView, devices: &Devices) -> view::Mobile {
    let address = view.contexts.iter().find_map(|context| match context.address? {
        PdpAddress::Ipv4(address) => Some(IpAddr::V4(address)),
        PdpAddress::Ipv6(address) => Some(IpAddr::V6(address)),
        _ => None,
    });
    view::Mobile {
        number: view.index.saturating_add(1),
        imsi: view.imsi,
        state: state(view),
        cell: view.cell.map_or(0, |(index, _)| index),
        tlli: view.tlli,
        address,
        tun: devices.name(view.index).map(str::to_owned),
    }
}

/// What `show mobile N` says beside that line.
pub fn details(view: &MobileView) -> String {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let mut text = format!(
        "       {} ({}), {}, P-TMSI {}, {}{}\n",
        view.gmm,
        view.service,
        view.mm,
        or_dash(view.ptmsi.map(|ptmsi| ptmsi.to_string())),
        view.cipher,
        if view.suspended { ", GPRS suspended" } else { "" }
    );
    for context in &view.contexts {
        let sapi = or_dash(context.sapi.map(|sapi| sapi.to_string()));
        let address = or_dash(context.address.map(|address| address.to_string()));
        text +=
            &format!("       NSAPI {} SAPI {sapi}: {}, address {address}\n", context.nsapi, context.state);
    }
    text
}

/// Where a mobile is in its life, in one word.
fn state(view: &MobileView) -> &'static str {
    let registered = matches!(view.gmm, "gmm-registered" | "gmm-routing-area-updating-initiated");
    let any = |state: &str| view.contexts.iter().any(|context| context.state.starts_with(state));
    match view.gmm {
        "gmm-registered-initiated" => "attaching",
        "gmm-deregistered-initiated" => "detaching",
        _ if registered && any("pdp-active,") => "pdp-active",
        _ if registered && view.contexts.iter().any(|context| context.state == "pdp-active") => "pdp-active",
        _ if registered && any("pdp-activation") => "pdp-activating",
        _ if registered => "attached",
        _ => "detached",
    }
}

/// How many mobiles camp on each cell.
pub fn camping(ms: &Ms) -> BTreeMap<u16, u32> {
    let mut counts = BTreeMap::new();
    for (cell, _) in ms.views().filter_map(|view| view.cell) {
        *counts.entry(cell).or_default() += 1;
    }
    counts
}

/// `show cells`.
pub fn cells(bss: &Bss, camping: &BTreeMap<u16, u32>) -> Vec<view::Cell> {
    let cell = |number: u16| {
        let cell = bss.cell(number.into())?;
        let state = bss.bvcs().get(number.into()).map_or("DOWN", |bvc| bvc.state.name());
        Some(view::Cell {
            number,
            cell: cell.config.id,
            nsei: cell.config.nsei,
            bvci: cell.config.bvci,
            state,
            mobiles: camping.get(&number).copied().unwrap_or(0),
            queued_pdus: cell.queued.frames.into(),
        })
    };
    (0..=u16::MAX).map_while(cell).collect()
}

/// `show bssgp`.
pub fn bvcs(bss: &Bss, stats: bool) -> Vec<view::Bvc> {
    let mut all = Vec::new();
    for nse in bss.bvcs().nses() {
        all.push(view::Bvc {
            nsei: nse.nsei,
            bvci: Bvci::SIGNALLING,
            cell: None,
            state: nse.state.name(),
            flow_control: None,
            stats: None,
        });
        for (index, bvc) in bss.bvcs().bvcs().filter(|(_, bvc)| bvc.nsei == nse.nsei) {
            let counters = bss.cell(index).map(|cell| cell.counters).filter(|_| stats);
            all.push(view::Bvc {
                nsei: bvc.nsei,
                bvci: bvc.bvci,
                cell: Some(bvc.cell),
                state: bvc.state.name(),
                flow_control: None,
                stats: counters.map(|counters| view::BvcStats {
                    rx_pdus: counters.downlink.frames.into(),
                    rx_octets: counters.downlink.octets,
                    tx_pdus: counters.uplink.frames.into(),
                    tx_octets: counters.uplink.octets,
                    dropped_pdus: counters.discarded.frames.into(),
                }),
            });
        }
    }
    all
}

/// What went through all cells.
pub fn cell_counters(bss: &Bss) -> Vec<CellCounters> {
    (0_u32..).map_while(|cell| Some(bss.cell(cell)?.counters)).collect()
}

/// `show stats`.
pub fn counters(stats: &Stats, cells: &[CellCounters]) -> Vec<view::Counter> {
    let discarded = cells.iter().map(|cell| u64::from(cell.discarded.frames)).sum();
    [
        ("n_pdu_downlink", stats.n_pdu_downlink),
        ("n_pdu_uplink", stats.n_pdu_uplink),
        ("ll_pdu_downlink", stats.ll_pdu_downlink),
        ("ll_pdu_uplink", stats.ll_pdu_uplink),
        ("ll_pdu_discarded", discarded),
        ("attached", stats.attached),
        ("activated", stats.activated),
        ("pagings", stats.pagings),
    ]
    .map(|(name, value)| view::Counter { name, value })
    .to_vec()
}
