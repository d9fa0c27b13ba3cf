//! Cells as the configuration has them, in a loop: for each node that has some.

use crate::links;
use crate::node::in_use;
use core::convert::Infallible;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_machine::{Machine, Peer, Port};
use gannet_node::bss::calls::{CallPlan, Taken};
use gannet_node::bss::radio::{ChannelConfig, RadioConfig, RlcMacConfig, VirtualUmConfig, Weights};
use gannet_node::bss::{self, Bss, CellConfig, VcConfig, gb_port};
use gannet_ops::config::cells::{
    CallsBy, Cells, CellsConfig, ControlAck, GbDialect, Pcu, PreemptionPolicy, Radio, ScriptedCalls, Sharing,
};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::ns::sns::{LocalEndpoint, SnsSetup};
use gannet_proto::rlcmac::ccch::Layout;
use gannet_proto::rlcmac::config::{NetworkConfig, Preempted, WithoutPdch};
use gannet_proto::rlcmac::mobile::Keeps;
use gannet_proto::rlcmac::multislot::MultislotClass;
use gannet_rt::{EventLoop, MachineId, Outside, UdpConfig};
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci, Rai};
use gannet_wire::ns::IpElement;
use gannet_wire::rlcmac::cell::AccessBurst;
use gannet_wire::rlcmac::value::AckType;

/// Octets for the sockets' buffers in the kernel.
const SOCKET_BUFFER_OCTETS: usize = 1 << 20;
/// TLLIs of mobiles that are elsewhere, at least.
const TLLIS_ON_AIR: u32 = 1024;
/// LL-PDUs in the queues of each direction, for each of a few mobiles and at least: each place takes a frame.
const PDUS_PER_MOBILE: u32 = 64;
const PDUS_MIN: u32 = 2048;

/// The configuration of the machine, and the sockets.
#[derive(Debug)]
pub struct Plan {
    /// The machine.
    pub bss: bss::Config,
    sockets: Vec<(Port, SocketAddr)>,
    /// The group in which the cells hear mobiles that are elsewhere.
    air: Option<Ipv4Addr>,
}

impl Plan {
    /// For so many mobiles.
    ///
    /// # Errors
    /// What cannot be done as configured.
    pub fn new(config: &CellsConfig, mobiles: u32) -> Result<Self, String> {
        let cells: Vec<CellConfig> = (0..config.cells.count).map(|cell| self::cell(config, cell)).collect();
        let nses = config.cells.count.div_ceil(config.cells.per_nse.max(1));
        let remote = SocketAddr::new(IpAddr::V4(config.remote_ip), config.remote_port);
        let ports = config.ports_per_nse();
        let vc = |nse: u16| VcConfig {
            nsei: Nsei(config.cells.nsei_base + nse),
            nsvci: Nsvci(config.cells.nsvci_base + nse),
            port: gb_port(nse),
            peer: remote,
        };
        let sockets: Vec<_> = (0..nses * ports).map(|place| socket(config, place)).collect();
        let (vcs, ip_sns) = match config.dialect {
            GbDialect::Classic => ((0..nses).map(vc).collect(), Vec::new()),
            GbDialect::IpSns => (Vec::new(), (0..nses).map(|nse| ip_sns(config, nse, remote)).collect()),
        };
        let mut bss = bss::Config::new(vcs, cells);
        bss.ip_sns = ip_sns;
        bss.loss_percent = config.radio.loss_percent;
        bss.rlcmac = rlcmac(&config.radio);
        bss.calls = calls(&config.radio.sharing);
        let pcu = config.radio.pcu;
        if bss.rlcmac.is_some() {
            bss.bucket_time = Duration::from_millis(u64::from(pcu.bucket_cs) * 10);
            bss.real_time_lifetime = Duration::from_millis(pcu.real_time_ms.into());
        }
        bss.virtual_um = config.radio.um.zip(bss.rlcmac).map(|(um, rlcmac)| VirtualUmConfig {
            rlcmac,
            arfcn: um.arfcn,
            downlink: Peer::Udp(links::um_address(um.groups.downlink)),
        });
        // Elsewhere there may be any number of them, each with more than one TLLI.
        let least = if bss.virtual_um.is_some() { TLLIS_ON_AIR } else { 1 };
        bss.mobiles_max = mobiles.max(least);
        bss.pdus_max = mobiles.saturating_mul(PDUS_PER_MOBILE).max(PDUS_MIN).min(bss.pdus_max);
        bss.flow_control_interval = Duration::from_secs(config.radio.flow_control_interval_s.into());
        Bss::new(bss.clone()).map_err(|error| error.to_string())?;
        Ok(Self { sockets, bss, air: config.radio.um.map(|um| um.groups.uplink) })
    }

    /// The cells' names, by their index.
    pub fn ids(&self) -> Vec<CellId> {
        self.bss.cells.iter().map(|cell| cell.id).collect()
    }

    #[cfg(test)]
    pub fn sockets(&self) -> &[(Port, SocketAddr)] {
        &self.sockets
    }

    /// Puts a machine of these cells and its sockets into a loop.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    pub fn build<M>(
        self,
        node: &mut EventLoop,
        make: impl FnOnce(bss::Config) -> Result<M, bss::ConfigError>,
    ) -> Result<MachineId<M>, String>
    where
        M: Machine<Event = bss::Event, Rule = Infallible> + 'static,
    {
        self.build_with(node, make, |_, _, _| ())
    }

    /// The same. What is seen on the air of a cell is for `seen` to take.
    ///
    /// # Errors
    /// As there.
    pub fn build_with<M>(
        self,
        node: &mut EventLoop,
        make: impl FnOnce(bss::Config) -> Result<M, bss::ConfigError>,
        mut seen: impl FnMut(&mut M, u32, &mut Outside<'_>) + 'static,
    ) -> Result<MachineId<M>, String>
    where
        M: Machine<Event = bss::Event, Rule = Infallible> + 'static,
    {
        let machine = make(self.bss).map_err(|error| error.to_string())?;
        let bss = node.add_machine(machine, move |machine, event, outside| match event {
            bss::Event::Seen(cell) => seen(machine, cell, outside),
            bss::Event::CellUp(cell) => cell_is(cell, "in service", outside),
            bss::Event::CellDown(cell) => cell_is(cell, "out of service", outside),
        });
        for (port, address) in self.sockets {
            let mut udp = UdpConfig::new(address).record_as("Gb");
            udp.buffer_octets = Some(SOCKET_BUFFER_OCTETS);
            node.bind_udp(bss, port, &udp).map_err(|error| in_use(&error))?;
        }
        if let Some(group) = self.air {
            links::attach_um(node, (bss, bss::AIR), group)?;
        }
        Ok(bss)
    }

    /// The mobiles are elsewhere.
    pub const fn has_air(&self) -> bool {
        self.air.is_some()
    }
}

/// The socket in this place, counted over all NSEs.
fn socket(config: &CellsConfig, place: u16) -> (Port, SocketAddr) {
    (gb_port(place), SocketAddr::new(IpAddr::V4(config.local_ip), config.local_port + place))
}

/// An endpoint of an NSE, both counted from 0.
pub fn endpoint(config: &CellsConfig, nse: u16, endpoint: u16, weights: (u8, u8)) -> LocalEndpoint {
    let (port, address) = socket(config, nse * config.ports_per_nse() + endpoint);
    let (signalling_weight, data_weight) = weights;
    LocalEndpoint { port, element: IpElement { endpoint: address, signalling_weight, data_weight } }
}

fn ip_sns(config: &CellsConfig, nse: u16, remote: SocketAddr) -> SnsSetup {
    SnsSetup {
        nsei: Nsei(config.cells.nsei_base + nse),
        local: (0..config.ip_sns.count).map(|place| endpoint(config, nse, place, (1, 1))).collect(),
        spare: config.ip_sns.spare,
        initial: vec![remote],
    }
}

/// A cell by its number; the checks of the configuration have seen that the sums fit.
fn cell(config: &CellsConfig, number: u16) -> CellConfig {
    let Cells { lac, rac, per_nse, per_routing_area, .. } = config.cells;
    let (nse, area) = (number / per_nse.max(1), number / per_routing_area.max(1));
    let rac = u8::try_from(u16::from(rac) + area).unwrap_or(u8::MAX);
    let rai = Rai { plmn: config.cells.plmn(), lac, rac };
    let radio = &config.radio;
    let direction = |octets_per_s: u32| RadioConfig {
        rate_bit_per_s: u64::from(octets_per_s) * 8,
        // More than the SGSN is told, since PDUs that were sent in their time may come close together.
        queue_octets: u64::from(radio.cell_bmax_octets) * 5 / 4,
        delay: Duration::from_millis(radio.delay_ms.into()),
    };
    CellConfig {
        nsei: Nsei(config.cells.nsei_base + nse),
        bvci: Bvci(config.cells.bvci_base + number),
        id: CellId { rai, ci: config.cells.ci_base + number },
        downlink: direction(radio.downlink_octets_per_s),
        uplink: direction(radio.uplink_octets_per_s),
        flow: flow(radio),
    }
}

/// The multislot class of the mobiles; the range of the word has all of them.
fn multislot_class(pcu: &Pcu) -> MultislotClass {
    MultislotClass::new(pcu.multislot_class).unwrap_or(MultislotClass::ALL[5])
}

/// Timeslots of a downlink TBF beside an uplink TBF of one.
fn tbf_slots(pcu: &Pcu) -> u8 {
    let limits = multislot_class(pcu).limits();
    u8::try_from(limits.rx.min(limits.sum - 1)).unwrap_or(u8::MAX)
}

/// RLC/MAC of all cells. Nothing that has no word departs from the defaults.
fn rlcmac(radio: &Radio) -> Option<RlcMacConfig> {
    let (rlcmac, pcu) = (radio.rlcmac?, radio.pcu);
    let class = multislot_class(&pcu);
    let pdchs = u8::MAX.checked_shl(8 - u32::from(rlcmac.slots.clamp(1, 8))).unwrap_or(u8::MAX);
    let network = NetworkConfig {
        downlink_slots: tbf_slots(&pcu),
        multislot_class: class,
        delayed_release: Duration::from_millis(pcu.idle_ms.into()),
        idle_poll: Duration::from_millis(pcu.idle_poll_ms.into()),
        preempted: preempted(radio.sharing.policy),
        without_pdch: if radio.sharing.ignores_access { WithoutPdch::Ignore } else { WithoutPdch::Reject },
        ..NetworkConfig::new(pdchs, rlcmac.coding)
    };
    let channel =
        ChannelConfig { c_over_i_db: rlcmac.c_over_i_db.map(f64::from), ..ChannelConfig::default() };
    let [high, normal, low] = pcu.weights;
    let weights = Weights { high, normal, low };
    let mut config = RlcMacConfig { channel, weights, ..RlcMacConfig::new(network) };
    config.mobile.multislot_class = class.number();
    config.mobile.keeps = if radio.sharing.mobiles_hold { Keeps::All } else { Keeps::Accesses };
    if pcu.has_combined_ccch {
        config.options.paging.layout = Layout::Combined;
    }
    config.options.t3192 = Duration::from_millis(pcu.t3192_ms.into());
    (config.options.control_ack, config.options.access_burst) = match pcu.control_ack {
        ControlAck::Block => (AckType::ControlBlock, AccessBurst::Bits8),
        ControlAck::Bursts8 => (AckType::AccessBursts, AccessBurst::Bits8),
        ControlAck::Bursts11 => (AckType::AccessBursts, AccessBurst::Bits11),
    };
    Some(config)
}

/// What becomes of LL-PDUs when calls have all PDCHs.
fn preempted(policy: PreemptionPolicy) -> Preempted {
    match policy {
        PreemptionPolicy::Flush => Preempted::Flush,
        PreemptionPolicy::Hold => Preempted::Hold,
        PreemptionPolicy::HoldFor(seconds) => Preempted::HoldFor(Duration::from_secs(seconds.into())),
        PreemptionPolicy::Forward => Preempted::Forward,
    }
}

/// How calls come.
fn calls(sharing: &Sharing) -> Option<CallPlan> {
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    Some(match sharing.calls? {
        CallsBy::Periods { span_s, between_s, slots } => {
            let (span, between) = (seconds(span_s), seconds(between_s));
            CallPlan::Periodic { first: between, span, between, slots }
        }
        CallsBy::Erlang { millierlangs, holding_s, seed } => {
            CallPlan::Erlang { seed: seed.into(), millierlangs, mean_holding: seconds(holding_s) }
        }
        CallsBy::Script(script) => {
            let taken = |calls: ScriptedCalls| Taken {
                at: seconds(calls.at_s),
                span: seconds(calls.span_s),
                slots: calls.slots,
            };
            CallPlan::Script(script.into_iter().flatten().map(taken).collect())
        }
    })
}

/// What the SGSN is told where the radio does not measure; of RLC/MAC what its PDCHs carry, and a mobile's TBF.
fn flow(radio: &Radio) -> BvcParameters {
    let bucket = |octets: u32, octets_per_s: u32| Bucket {
        bmax_octets: octets.into(),
        rate_bit_per_s: u64::from(octets_per_s) * 8,
    };
    let (cell, ms) = match radio.rlcmac {
        None => (radio.downlink_octets_per_s, radio.ms_rate_octets_per_s),
        Some(rlcmac) => {
            let ms = rlcmac.octets_per_s(tbf_slots(&radio.pcu)).min(radio.ms_rate_octets_per_s);
            (rlcmac.octets_per_s(rlcmac.slots), ms)
        }
    };
    BvcParameters { bvc: bucket(radio.cell_bmax_octets, cell), default_ms: bucket(radio.ms_bmax_octets, ms) }
}

/// What an operator reads about a cell.
fn cell_is(cell: u32, state: &str, outside: &mut Outside<'_>) {
    outside.log().line(Category::Bssgp, Level::Notice, format_args!("cell {cell} is {state}"));
}
