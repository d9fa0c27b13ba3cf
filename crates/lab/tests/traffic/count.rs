//! The sink that only counts: it takes T-PDUs of its kind, and all else passes.

use gannet_demux::bpf::{Loader, Object, TestRun};
use gannet_rig::objects::COUNT;

const PORT: u16 = 7007;
const PASS: u32 = 2;
const DROP: u32 = 1;

fn sink(tunnelled: bool) -> Object {
    let loader = Loader::new(&COUNT);
    let (port, octets, tunnelled) = (PORT.to_ne_bytes(), 40_u16.to_ne_bytes(), [u8::from(tunnelled)]);
    let loader = loader.global("port", &port).global("octets", &octets).global("tunnelled", &tunnelled);
    let mut object = loader.load().unwrap();
    object.load_xdp("count").unwrap();
    object
}

/// UDP in IPv4 to a port.
fn packet(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = u8::try_from(payload.len()).unwrap();
    let mut octets =
        vec![0x45, 0, 0, 28 + len, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x10, 0];
    octets.extend(port.to_be_bytes());
    octets.extend([0, 8 + len, 0, 0]);
    octets.extend(payload);
    octets
}

/// What is said of a packet, and the count after it.
fn verdict(object: &Object, packet: &[u8]) -> (u32, u64) {
    let frame = [&[2; 12][..], &[8, 0], packet].concat();
    let run = TestRun {
        data: &frame,
        data_out: None,
        context: None,
        context_out: None,
        repeat: 1,
        live_batch: None,
    };
    (object.run("count", run).unwrap().verdict, object.array_value("counted", 0).unwrap())
}

pub fn t_pdus_of_one_kind_alone() {
    let object = sink(false);
    let right = packet(PORT, &[0; 12]);
    assert_eq!(verdict(&object, &right), (DROP, 1));
    let mut tcp = right.clone();
    tcp[9] = 6;
    for other in [packet(PORT, &[0; 13]), packet(PORT + 1, &[0; 12]), right[..24].to_vec(), tcp] {
        assert_eq!(verdict(&object, &other), (PASS, 1));
    }
    assert_eq!(verdict(&object, &right), (DROP, 2));
}

pub fn t_pdus_in_g_pdus_alone() {
    let object = sink(true);
    let t_pdu = packet(PORT, &[0; 12]);
    let in_gtp = |header: &[u8], t_pdu: &[u8]| packet(2152, &[header, t_pdu].concat());
    let short = [0x30, 255, 0, 40, 0, 0, 0, 1];
    let long = [0x32, 255, 0, 44, 0, 0, 0, 1, 0, 1, 0, 0];
    assert_eq!(verdict(&object, &in_gtp(&short, &t_pdu)), (DROP, 1));
    assert_eq!(verdict(&object, &in_gtp(&long, &t_pdu)), (DROP, 2));
    let echo = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0];
    let passes = [
        t_pdu.clone(),
        in_gtp(&echo, &[]),
        in_gtp(&echo, &t_pdu),
        in_gtp(&short, &packet(PORT, &[0; 13])),
        in_gtp(&short, &t_pdu[..20]),
        packet(2123, &[&short[..], &t_pdu].concat()),
    ];
    for other in passes {
        assert_eq!(verdict(&object, &other), (PASS, 2));
    }
}
