//! What a GGSN's contexts take of memory, under a global allocator that counts octets.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Input, Machine as _, Peer, Surroundings};
use gannet_node::ggsn::{ApnConfig, Ggsn, GgsnConfig, PORT_GTP_C, PORT_TUN, Ranges};
use gannet_rt::alloc_count::{Counting, octets_held};
use gannet_wire::gtp::v1c::{CreateRequest, emit_datagram};
use gannet_wire::gtp::{EndUserAddress, Qos};
use gannet_wire::id::{Nsapi, Teid};
use gannet_wire::l3::ie::Octets;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CONTEXTS: u32 = 100_000;
const OCTETS_MAX: i64 = 1024;
const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const SGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn request(n: u32) -> CreateRequest {
    CreateRequest {
        imsi: format!("001010{n:09}").parse().ok(),
        rai: None,
        recovery: Some(1),
        selection_mode: None,
        teid_data: Teid(n),
        teid_control: Some(Teid(n)),
        nsapi: Nsapi(5),
        linked_nsapi: None,
        charging_characteristics: None,
        trace_reference: None,
        trace_type: None,
        end_user_address: Some(EndUserAddress::Ipv4v6(None, None)),
        apn: "internet".parse().ok(),
        pco: None,
        sgsn_control: SGSN,
        sgsn_user: SGSN,
        alternative_control: None,
        alternative_user: None,
        msisdn: None,
        qos: Qos { allocation_retention: 2, value: Octets::from_start(&[0x23, 0x12, 0x1f]) },
        tft: None,
        trigger_id: None,
        omc_identity: None,
        common_flags: None,
        apn_restriction: None,
        rat_type: None,
        user_location: None,
        ms_time_zone: None,
        imeisv: None,
        private_extension: None,
    }
}

/// Each context has both versions of IP, router advertisements, a time after which it ends without traffic, and buckets for its
/// maximum bit rate: all that a context may have but templates.
#[test]
fn a_hundred_thousand_contexts_have_a_kibibyte_each() {
    let apn = ApnConfig {
        v6: Ranges::dynamic("2001:db8::".parse().unwrap(), 46),
        idle_timeout: Some(Duration::from_secs(86_400)),
        police: true,
        ..ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 0, 0, 0), 14)
    };
    let mut around = Surroundings::new(1, 64, Quiet::default());
    let before = octets_held();
    let config = GgsnConfig {
        context_limit: CONTEXTS,
        echo_interval: Duration::ZERO,
        ..GgsnConfig::new(GGSN, vec![apn])
    };
    let mut ggsn = Ggsn::new(config).unwrap();
    let (mut inputs, mut outputs) = (Batch::default(), Batch::default());
    let mut octets = Vec::new();
    for n in 1..=CONTEXTS {
        octets.clear();
        let sequence = u16::try_from(n % 60_000).unwrap();
        assert!(emit_datagram(Teid(0), sequence, &request(n).into(), &mut octets));
        let frame = around.frames.copy_of(&octets).unwrap();
        let peer = Peer::Udp(SocketAddr::new(SGSN, 2123));
        inputs.push(Input::Datagram { port: PORT_GTP_C, peer, frame });
        // A packet to the mobile, which makes its buckets.
        let own = Ipv4Addr::from_bits(u32::from(Ipv4Addr::new(10, 0, 0, 1)) + n);
        let mut packet = vec![0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0, 198, 51, 100, 1];
        packet.extend(own.octets());
        packet.extend([1, 2, 3, 4]);
        let frame = around.frames.copy_of(&packet).unwrap();
        inputs.push(Input::Datagram { port: PORT_TUN, peer: Peer::Slot(0), frame });
        let mut cx = around.context();
        ggsn.handle_input(&mut cx, &mut inputs);
        ggsn.poll_output(&mut cx, &mut outputs);
        assert!(outputs.len() >= 2, "an answer, an event and a G-PDU");
        while outputs.pop().is_some() {}
        // Answers are kept for a while, in case a request comes again.
        around.now += Duration::from_millis(5);
        while let Some(key) = around.timers.pop_due(around.now) {
            inputs.push(Input::Timeout(key));
            let mut cx = around.context();
            ggsn.handle_input(&mut cx, &mut inputs);
            ggsn.poll_output(&mut cx, &mut outputs);
            while outputs.pop().is_some() {}
        }
    }
    assert_eq!(ggsn.context_count(), CONTEXTS as usize);
    assert_eq!(ggsn.access_points().next().unwrap().counters().downlink.t_pdus, u64::from(CONTEXTS));
    let held = octets_held() - before;
    let each = held / i64::from(CONTEXTS);
    println!("{each} octets for each of {CONTEXTS} contexts");
    assert!(each > 200, "nothing was measured: {each}");
    assert!(each <= OCTETS_MAX, "{each} octets for each context");
}
