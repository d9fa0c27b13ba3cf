//! The nodes of the experiment, and what must be empty when it is over.

use super::Scale;
use core::net::Ipv4Addr;
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, GgsnConfig};
use gannet_node::ms::{MsConfig, NPduDelivery};
use gannet_node::sgsn::{GgsnPeer, SgsnConfig};
use gannet_sim::gprs::{GGSN_GN, GprsWorld, SGSN_GB, SGSN_GN, WorldConfig};
use gannet_sim::link::LinkProfile;
use gannet_wire::id::{Bvci, CellId, Imsi, Nsei, Nsvci, Plmn, Rai};

/// Cells of one routing area.
pub const CELLS_PER_AREA: u16 = 10;
/// Cells of one NSE.
const CELLS_PER_NSE: u16 = 20;

/// The cells by their index.
fn cell_ids(scale: &Scale) -> Vec<CellId> {
    let plmn = Plmn::new(1, 1, false);
    let cell = |index: u16| {
        let rac = u8::try_from(index / CELLS_PER_AREA).unwrap_or(u8::MAX);
        CellId { rai: Rai { plmn, lac: 1, rac }, ci: 100 + index }
    };
    (0..scale.cells).map(cell).collect()
}

/// The first subscriber.
pub(super) fn first_imsi() -> Imsi {
    Imsi::from_digits([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        .unwrap_or_else(|| unreachable!("15 digits"))
}

fn bss(scale: &Scale, ids: &[CellId]) -> bss::Config {
    let nsei = |cell: u16| Nsei(101 + cell / CELLS_PER_NSE);
    let cells = ids.iter().zip(0_u16..).map(|(id, index)| CellConfig::new(nsei(index), Bvci(2 + index), *id));
    // Two NS-VCs for each NSE, so that load is shared.
    let nses = scale.cells.div_ceil(CELLS_PER_NSE);
    let vcs = (0..nses * 2).map(|endpoint| VcConfig {
        nsei: Nsei(101 + endpoint / 2),
        nsvci: Nsvci(201 + endpoint),
        port: gb_port(endpoint),
        peer: SGSN_GB,
    });
    bss::Config {
        mobiles_max: scale.mobiles,
        pdus_max: 65_536,
        ..bss::Config::new(vcs.collect(), cells.collect())
    }
}

/// Everything.
pub fn config(scale: &Scale, seed: u64) -> WorldConfig {
    let ids = cell_ids(scale);
    let mut sgsn = SgsnConfig {
        mobiles_max: scale.mobiles as usize * 2,
        cells_max: u32::from(scale.cells),
        gtp_address: SGSN_GN,
        ggsns: vec![GgsnPeer { number: 0, address: GGSN_GN, version: gannet_proto::gtp::Version::V1 }],
        n201_u: Some(1520),
        ..SgsnConfig::default()
    };
    sgsn.flow.active_ms_max = scale.mobiles;
    let apn = ApnConfig::with_ipv4(
        "internet".parse().unwrap_or_else(|_| unreachable!("a valid name")),
        Ipv4Addr::new(10, 0, 0, 0),
        16,
    );
    let gb = LinkProfile { loss: scale.loss, ..LinkProfile::default() };
    let mut ms = MsConfig::new(scale.mobiles, first_imsi(), ids.clone());
    ms.delivery = NPduDelivery::Event;
    WorldConfig {
        seed,
        frames: 16_384,
        gb,
        gn: LinkProfile::default(),
        sgsn,
        ggsn: GgsnConfig { default_apn: Some(0), ..GgsnConfig::new(GGSN_GN, vec![apn]) },
        bss: bss(scale, &ids),
        ms,
    }
}

/// What is left in tables that should be empty.
pub fn leftovers(world: &GprsWorld) -> Vec<(String, usize)> {
    let sgsn = world.sgsn.machine.leftovers().into_iter().map(|(table, n)| (format!("sgsn: {table}"), n));
    let others = [
        ("ggsn: PDP contexts", world.ggsn.machine.contexts().count()),
        ("ms: N-PDUs in reassembly", world.ms.machine.reassembling()),
        ("sgsn: rules at the driver", world.sgsn.rules.keys().count()),
        (
            "sgsn: rules that contradict others",
            usize::try_from(world.sgsn.contradictions).unwrap_or(usize::MAX),
        ),
    ];
    sgsn.chain(others.map(|(table, n)| (table.to_owned(), n))).filter(|(_, n)| *n > 0).collect()
}
