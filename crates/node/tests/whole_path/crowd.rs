//! Two hundred mobiles of one host for an hour: attach, contexts, packets in both modes of LLC, changes of the access point.

use crate::adaptation::{Choice, OUTSIDE, World};
use crate::world::{FRAMES, packet};
use core::net::Ipv4Addr;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Input, Peer};
use gannet_node::ggsn::PORT_TUN;
use gannet_node::ms::{self, MsCommand, MsEvent};
use gannet_proto::adaptation::Medium;
use gannet_proto::bearer::Order;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{PdpAddress, QosProfile, ReliabilityClass};

const MOBILES: u32 = 200;
/// Every so many of them have a second context.
const SECOND_EVERY: u32 = 10;
const HOUR_S: u64 = 3600;
const CHANGE_EVERY_S: u64 = 300;
/// Nothing is sent in unacknowledged mode for so long after a change: what is on its way then may be lost.
const QUIET_S: u64 = 20;
/// How long the access point in use is cut off.
const CUT_S: u64 = 60;

/// One who sends, and its address.
type Context = (u32, Ipv4Addr);

struct Crowd {
    world: World,
    contexts: Vec<Context>,
    preferred: u16,
    up: Vec<Vec<u8>>,
    down: Vec<(u32, Vec<u8>)>,
    sent: u32,
}

const fn is_acknowledged(mobile: u32) -> bool {
    mobile % 2 == 1
}

impl Crowd {
    fn new() -> Self {
        let mut choice = Choice::new(&[Medium::Ethernet, Medium::Ethernet, Medium::Udp], true);
        // What is sent at one moment arrives at one moment: an hour has fewer moments so.
        (choice.mobiles, choice.profile.rate_octets_per_s) = (MOBILES, None);
        // Reports are most of what goes over the links.
        choice.interval = Duration::from_secs(3);
        let world = World::new(&choice);
        Self { world, contexts: Vec::new(), preferred: 0, up: Vec::new(), down: Vec::new(), sent: 0 }
    }

    fn order(&mut self, command: MsCommand) {
        self.world.ms.inputs.push(Input::Command(command));
    }

    fn activate(&mut self) {
        for mobile in 0..MOBILES {
            let reliability = ReliabilityClass(if is_acknowledged(mobile) { 2 } else { 3 });
            let qos = Some(QosProfile { reliability, ..QosProfile::default() });
            let seconds = (mobile % SECOND_EVERY == 0).then_some(Nsapi(6));
            for nsapi in [Nsapi(5)].into_iter().chain(seconds) {
                self.order(MsCommand::Activate { mobile, nsapi, apn: None, qos, address: None });
            }
        }
        self.world.pass(10_000);
        for event in self.world.events.drain(..) {
            if let MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. } = event {
                self.contexts.push((mobile, address));
            }
        }
        self.contexts.sort_unstable();
        assert_eq!(self.contexts.len(), (MOBILES + MOBILES / SECOND_EVERY) as usize);
    }

    /// A packet each way, no two of which are alike.
    fn send(&mut self, (mobile, address): Context) {
        self.sent += 1;
        let octets = 60 + self.sent as usize * 37 % 1400;
        let numbered = |mut packet: Vec<u8>| {
            packet[20..24].copy_from_slice(&self.sent.to_be_bytes());
            packet
        };
        let up = numbered(packet(address, OUTSIDE, octets));
        let down = numbered(packet(OUTSIDE, address, octets));
        self.world.ms.datagram(ms::TUN, Peer::Slot(mobile), &up);
        self.world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
        self.up.push(up);
        self.down.push((mobile, down));
    }

    /// The next change: another one is preferred, or the one in use is cut off.
    fn change(&mut self, number: u64) {
        if number % 3 == 2 {
            let wire = &mut self.world.wires[usize::from(self.preferred)];
            (wire.up.is_cut, wire.down.is_cut) = (true, true);
        } else {
            self.preferred = (self.preferred + 1) % 3;
            self.order(MsCommand::Bearer(Order::Prefer(vec![self.preferred])));
        }
    }

    fn mend(&mut self) {
        for wire in &mut self.world.wires {
            (wire.up.is_cut, wire.down.is_cut) = (false, false);
        }
    }

    /// Whatever was sent has arrived, once, and where it was to.
    fn check(&mut self, second: u64) {
        let mut up = core::mem::take(&mut self.world.from_ggsn);
        let mut down = core::mem::take(&mut self.world.from_ms);
        up.sort_unstable();
        down.sort_unstable();
        self.up.sort_unstable();
        self.down.sort_unstable();
        assert_eq!(up.len(), self.up.len(), "uplink, second {second}");
        assert_eq!(down.len(), self.down.len(), "downlink, second {second}");
        assert!(up == self.up && down == self.down, "second {second}");
        self.up.clear();
        self.down.clear();
        for event in self.world.events.drain(..) {
            let is_fine = matches!(event, MsEvent::Updated { .. } | MsEvent::HeldBack { .. });
            assert!(is_fine || matches!(event, MsEvent::LinkMtu { .. }), "{event:?}");
        }
    }

    fn pools(&self) -> Vec<usize> {
        let world = &self.world;
        let aps = world.aps.iter().map(|ap| ap.around.frames.free());
        let others = [world.ms.around.frames.free(), world.sgsn.around.frames.free()];
        aps.chain(others).chain([world.ggsn.around.frames.free()]).collect()
    }
}

#[test]
fn two_hundred_mobiles_of_one_host_live_for_an_hour() {
    let mut crowd = Crowd::new();
    crowd.activate();
    let mut changed_s = 0;
    for second in 1..=HOUR_S {
        let in_round = second % CHANGE_EVERY_S;
        if in_round == 0 {
            changed_s = second;
            crowd.change(second / CHANGE_EVERY_S);
        } else if in_round == CUT_S {
            changed_s = second;
            crowd.mend();
        }
        let is_quiet = second - changed_s < QUIET_S;
        for turn in 0..4 {
            let who = usize::try_from(second * 4 + turn).unwrap() * 7 % crowd.contexts.len();
            let context = crowd.contexts[who];
            if is_acknowledged(context.0) || !is_quiet {
                crowd.send(context);
            }
        }
        crowd.world.pass(1000);
        if second % CHANGE_EVERY_S == CHANGE_EVERY_S - 1 {
            crowd.check(second);
        }
    }
    crowd.world.pass(QUIET_S * 1000);
    crowd.check(HOUR_S);
    assert_eq!(crowd.world.ggsn.machine.context_count(), crowd.contexts.len());
    assert_eq!(crowd.world.sgsn.machine.mobiles_len(), MOBILES as usize);
    for ap in &crowd.world.aps {
        assert!(ap.machine.protocol().stations().len() <= MOBILES, "a mobile has one place");
    }
    assert!(crowd.sent > 10_000, "{}", crowd.sent);
    // No update is refused, no PDU is malformed, and nothing waits for ever.
    assert_eq!(crowd.world.drops(Drop::AdaptMalformed), 0);
    for mobile in 0..MOBILES {
        crowd.order(MsCommand::Detach { mobile, power_off: false });
    }
    crowd.world.pass(60_000);
    assert_eq!(crowd.world.ggsn.machine.context_count(), 0);
    assert!(crowd.pools().iter().all(|free| *free == FRAMES), "{:?}", crowd.pools());
}
