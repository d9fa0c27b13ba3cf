use super::{Layer, Layers, LayersReport};
use crate::record::{
    BlockContents, Carrier, DataBlock, Direction, Fcs, LlPdu, Packet, Proof, RadioBlock, Record, Seen, SnPdu,
    Stamp, TcpSegment,
};
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::llc;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::sndcp::{Compression, Header, Pdu};

const MS: u64 = 1_000_000;

struct Feed {
    layers: Layers,
    frame: u64,
}

impl Feed {
    fn new() -> Self {
        Self { layers: Layers::default(), frame: 0 }
    }

    fn frame(&mut self, at_ns: u64, records: Vec<Record>) {
        self.frame += 1;
        let proof = Proof { file: 0, frame: self.frame };
        for what in records {
            self.layers.take(&Seen { at: Stamp(1_000_000_000_000 + at_ns), proof, place: 0, what });
        }
    }
}

fn block(timeslot: u8, user_octets: u16) -> Record {
    let data = DataBlock {
        rrbp: None,
        goes_on: false,
        ends_before: false,
        is_filler: false,
        scheme: Some(CodingScheme::Cs2),
        tfi: 1,
        bsn: 0,
        countdown: 15,
        polls_or_stalls: false,
        tlli: None,
        user_octets,
        digest: 0,
    };
    Record::Radio(RadioBlock {
        arfcn: 1,
        timeslot,
        frame_number: 0,
        direction: Direction::Down,
        contents: BlockContents::Data(data),
    })
}

fn ll_pdu(information: u32, fcs: Fcs) -> Record {
    let control = llc::Control::Ui { nu: 0, encrypted: false, protected: true };
    Record::Llc(LlPdu {
        direction: Direction::Down,
        tlli: None,
        mobile: None,
        header: Some(llc::Header { sapi: Sapi::DATA3, cr: false, control }),
        fcs,
        deciphered: None,
        octets: information + 6,
        info_octets: information,
        digest: 0,
        began: Stamp(0),
        first: Proof { file: 0, frame: 1 },
        blocks: 0,
        bvci: None,
    })
}

fn sn_pdu(segment: u8, more: bool, octets: u32) -> Record {
    let first = (segment == 0).then_some(Compression::NONE);
    let header = Header { nsapi: Nsapi(5), more, pdu: Pdu::Unitdata { first, segment, number: 3 } };
    Record::Segment(SnPdu { direction: Direction::Down, tlli: None, mobile: None, header, octets })
}

fn packet(octets: u32, count: u8) -> Record {
    Record::Packet(Packet {
        direction: Some(Direction::Down),
        mobile: None,
        digest: None,
        ip: None,
        octets,
        began: Stamp(0),
        first: Proof { file: 0, frame: 1 },
        carrier: Carrier::Segments { nsapi: 5, number: 3, count },
    })
}

fn segment(sequence: u32, length: u32) -> Record {
    Record::Tcp(TcpSegment {
        connection: 0,
        is_forward: false,
        sequence,
        acknowledgement: 0,
        length,
        flags: 16,
        window: 1,
        sack: Vec::new(),
        timestamps: None,
        scale: None,
        mss: None,
        identification: 0,
        ip_octets: length + 40,
    })
}

fn row(report: &LayersReport, layer: Layer) -> super::LayerRow {
    *report.rows.iter().find(|row| row.layer == layer).unwrap()
}

#[test]
fn blocks_of_two_timeslots_fill_their_line() {
    let mut feed = Feed::new();
    // Five idle seconds, then 20 s of full blocks.
    feed.frame(0, vec![block(3, 1)]);
    for number in 0..1000 {
        feed.frame(5_000 * MS + number * 20 * MS, vec![block(3, 30), block(4, 30)]);
    }
    let report = feed.layers.finish();
    let line = report.line(Direction::Down).unwrap();
    assert_eq!((line.timeslots, line.bits_per_s), (2, 24_000.0));
    let rlc = row(&report, Layer::Rlc);
    assert_eq!((rlc.units, rlc.octets, rlc.payload_octets), (2001, 2001 * 30, 60_001));
    let [(Direction::Down, window)] = report.windows[..] else { panic!() };
    assert_eq!(window.length_ns, super::WINDOW_NS);
    assert!(window.from >= Stamp(1_005_000_000_000));
    assert_eq!((rlc.window_octets, rlc.bits_per_s), (30_000, 24_000.0));
}

#[test]
fn goodput_counts_each_octet_once() {
    let mut feed = Feed::new();
    let start = u32::MAX - 1_499;
    for (at, sequence, length) in [
        (0, start, 1_000),
        (1, start, 1_000),
        (2, start + 1_000, 1_000),
        (3, start + 500, 2_000),
        (4, 1_000, 0),
    ] {
        feed.frame(at * MS, vec![packet(length + 40, 1), segment(sequence, length)]);
    }
    // A segment without its packet is of an unknown direction.
    feed.frame(5 * MS, vec![segment(9_000, 100)]);
    let tcp = row(&feed.layers.finish(), Layer::Tcp);
    assert_eq!((tcp.units, tcp.octets, tcp.payload_octets), (5, 5_000, 2_500));
}

#[test]
fn splitting_costs_what_later_segments_have_in_front() {
    let mut feed = Feed::new();
    for (number, more, octets) in [(0, true, 496), (1, true, 497), (2, true, 497), (3, false, 10)] {
        let header = if number == 0 { 4 } else { 3 };
        feed.frame(
            u64::from(number) * MS,
            vec![ll_pdu(octets + header, Fcs::Right), sn_pdu(number, more, octets)],
        );
    }
    feed.frame(3 * MS, vec![packet(1_500, 4)]);
    feed.frame(4 * MS, vec![ll_pdu(44, Fcs::Right), sn_pdu(0, false, 40), packet(40, 1)]);
    // A wrong one counts for nothing.
    feed.frame(5 * MS, vec![ll_pdu(44, Fcs::Wrong)]);
    let report = feed.layers.finish();
    let [it] = report.segmentation[..] else { panic!("{:?}", report.segmentation) };
    assert_eq!((it.ll_pdus, it.n_pdus, it.split, it.split_segments), (5, 2, 1, 4));
    assert_eq!((it.llc_header_octets, it.sndcp_header_octets), (30, 4 + 9 + 4));
    assert_eq!(it.octets, 1_540 + 30 + 17);
    assert_eq!((it.later, it.later_header_octets), (3, 18 + 9));
    assert_eq!((it.information_max, it.last, it.last_information), (500, 1, 13));
    assert_eq!((it.longest.frame, it.n_pdu_max), (1, 1_500));
    assert!((it.last_fill().unwrap() - 0.026).abs() < 1e-9);
    let llc = row(&report, Layer::Llc);
    assert_eq!((llc.units, llc.octets, llc.payload_octets), (5, it.octets, it.octets - 30));
}

#[test]
fn intervals_are_bounded_and_lose_nothing() {
    let mut feed = Feed::new();
    for number in 0..10_000_u64 {
        feed.frame(number * 3_600_000 * MS, vec![packet(100, 1)]);
    }
    assert!(feed.layers.rows.values().all(|row| row.bins.len() <= super::BINS_MAX));
    let ip = row(&feed.layers.finish(), Layer::Ip);
    assert_eq!((ip.units, ip.payload_octets), (10_000, 1_000_000));
    assert!(ip.window_octets >= 100);
}
