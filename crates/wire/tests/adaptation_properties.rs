//! The adaptation protocol: what was emitted is read back, and no octets make the parser panic.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::adaptation::{
    ApName, Beacon, BeaconFlags, HEADER_LEN, Header, Hello, Identity, Level, LinkReport, Load,
    MESSAGE_LEN_MAX, Message, MessageType, NetworkMode, PagingCs, PagingPs, Pdu, Probe, ProbeAnswer,
    Reachable, Release, ReleaseCause, Resume, SEGMENTS_MAX, Segment, Suspend, SuspendAck, Trailer, Welcome,
};
use gannet_wire::id::{CellId, Imsi, PTmsi, Rai, Tlli};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn cell() -> impl Strategy<Value = CellId> {
    any::<[u8; 8]>().prop_map(CellId::from_octets)
}

fn identity() -> impl Strategy<Value = Identity> {
    prop_oneof![
        any::<u32>().prop_map(|ptmsi| Identity::PTmsi(PTmsi(ptmsi))),
        vec(0..10_u8, 1..=15).prop_map(|digits| Identity::Imsi(Imsi::from_digits(digits).unwrap())),
    ]
}

fn beacon() -> impl Strategy<Value = Message<'static>> {
    let numbers = (any::<u64>(), any::<u16>(), any::<u16>());
    let said = (any::<u8>(), of(0..=100_u8), any::<u8>());
    (cell(), numbers, said, "[a-zäöü]{0,16}").prop_map(|(cell, numbers, said, name)| {
        let ((boot, interval_ms, ll_pdu_max), (mode, load, flags)) = (numbers, said);
        let (mode, load, flags) = (NetworkMode::from_octet(mode), Load(load), BeaconFlags(flags));
        let beacon = Beacon { cell, boot, interval_ms, ll_pdu_max, mode, load, flags };
        Message::Beacon(beacon, ApName::from_start(name.as_bytes()))
    })
}

fn message() -> impl Strategy<Value = Message<'static>> {
    let level = of(any::<i8>().prop_filter("known", |level| *level != Level::UNKNOWN));
    let report = (any::<u32>(), any::<u32>(), level);
    let rai = || any::<[u8; 6]>().prop_map(Rai::from_octets);
    prop_oneof![
        beacon(),
        (0..100_usize).prop_map(Message::Solicit),
        cell().prop_map(|cell| Message::Reachable(Reachable { cell })),
        report.prop_map(|(sent, received, level)| {
            Message::LinkReport(LinkReport { sent, received, level: Level(level) })
        }),
        any::<u64>().prop_map(|token| Message::Probe(Probe { token })),
        any::<u64>().prop_map(|token| Message::ProbeAnswer(ProbeAnswer { token })),
        identity().prop_map(|identity| Message::PagingPs(PagingPs { identity })),
        identity().prop_map(|identity| Message::PagingCs(PagingCs { identity })),
        rai().prop_map(|rai| Message::Suspend(Suspend { rai })),
        any::<u8>().prop_map(|reference| Message::SuspendAck(SuspendAck { reference })),
        (rai(), any::<u8>()).prop_map(|(rai, reference)| Message::Resume(Resume { rai, reference })),
        any::<u8>().prop_map(|cause| Message::Release(Release { cause: ReleaseCause::from_octet(cause) })),
        (any::<u32>(), any::<[u8; 16]>(), any::<[u8; 16]>())
            .prop_map(|(key, random, mac)| Message::Hello(Hello { key, random, mac })),
        (any::<[u32; 2]>(), any::<[[u8; 16]; 3]>()).prop_map(|([key, session], [random, of_mobile, mac])| {
            Message::Welcome(Welcome { key, session, random, of_mobile, mac })
        }),
    ]
}

fn segment() -> impl Strategy<Value = Option<Segment>> {
    let number = 0..u8::try_from(SEGMENTS_MAX).unwrap();
    of((any::<u16>(), number, any::<bool>()).prop_map(|(datagram, number, is_last)| Segment {
        datagram,
        number,
        is_last,
    }))
}

proptest! {
    #[test]
    fn messages_come_back(message in message(), tlli: u32, padding in vec(any::<u8>(), 0..40)) {
        let mut room = [0; MESSAGE_LEN_MAX];
        let length = message.emit(Tlli(tlli), false, &mut room).unwrap();
        prop_assert_eq!(length, HEADER_LEN + message.payload_len());
        let sent = [&room[..length], &padding].concat();
        let pdu = Pdu::parse(&sent).unwrap();
        prop_assert_eq!(pdu.header, Header::new(message.kind(), Tlli(tlli)));
        prop_assert_eq!(pdu.message(), Ok(message));
        prop_assert_eq!((pdu.trailer, pdu.signed.len()), (None, length), "whatever pads it");
        for short in 0..length {
            prop_assert!(Pdu::parse(&sent[..short]).is_err(), "{} of {} octets", short, length);
            prop_assert_eq!(message.emit(Tlli(tlli), false, &mut room[..short]), None);
        }
    }

    #[test]
    fn ll_pdus_come_back(
        ll_pdu in vec(any::<u8>(), 1..1600),
        segment in segment(),
        trailer in of((any::<u32>(), any::<u64>(), any::<[u8; 16]>())),
        padding in vec(any::<u8>(), 0..40),
    ) {
        let header = Header {
            is_authenticated: trailer.is_some(),
            segment,
            ..Header::new(MessageType::LlPdu, Tlli(0x7800_0001))
        };
        let mut sent = vec![0; header.buffer_len()];
        prop_assert!(header.emit(ll_pdu.len(), &mut sent));
        sent.extend(&ll_pdu);
        if let Some((session, packet, mac)) = trailer {
            sent.extend(Trailer::signed_octets(session, packet));
            sent.extend(mac);
        }
        let length = sent.len();
        sent.extend(padding);
        let pdu = Pdu::parse(&sent).unwrap();
        prop_assert_eq!((pdu.header, pdu.payload), (header, &ll_pdu[..]));
        prop_assert_eq!(pdu.message(), Ok(Message::LlPdu(&ll_pdu)));
        let trailer = trailer.map(|(session, packet, mac)| Trailer { session, packet, mac });
        prop_assert_eq!(pdu.trailer, trailer);
        prop_assert_eq!(pdu.signed.len(), if trailer.is_some() { length - 16 } else { length });
        prop_assert!(Pdu::parse(&sent[..length - 1]).is_err());
    }

    /// What parses is emitted as the same octets, but for spare bits.
    #[test]
    fn no_octets_make_it_panic(mut octets in vec(any::<u8>(), 0..160), kind in 0..18_u8, length in 0..70_u16) {
        let _ = Pdu::parse(&octets);
        if octets.len() > 3 {
            octets[0] = 0x20 | kind;
            octets[2..4].copy_from_slice(&length.to_be_bytes());
        }
        let Ok(pdu) = Pdu::parse(&octets) else { return Ok(()) };
        let mac = pdu.trailer.map_or(0, |trailer| trailer.mac.len());
        prop_assert!(pdu.signed.len() + mac <= octets.len());
        let Ok(message) = pdu.message() else { return Ok(()) };
        if pdu.header.segment.is_none() {
            let mut room = [0; 256];
            let authenticated = pdu.trailer.is_some();
            let length = message.emit(pdu.header.tlli, authenticated, &mut room).unwrap();
            if authenticated {
                return Ok(());
            }
            prop_assert_eq!(Pdu::parse(&room[..length]).unwrap().message(), Ok(message));
        }
    }

    /// Options that nobody knows are passed over.
    #[test]
    fn a_beacon_may_say_more(beacon in beacon(), tag in 2_u8.., value in vec(any::<u8>(), 0..20)) {
        let mut room = [0; MESSAGE_LEN_MAX];
        let length = beacon.emit(Tlli(0), false, &mut room).unwrap();
        let option = [&[tag, u8::try_from(value.len()).unwrap()], &value[..]].concat();
        let mut sent = [&room[..length], &option].concat();
        let payload = u16::try_from(sent.len() - HEADER_LEN).unwrap();
        sent[2..4].copy_from_slice(&payload.to_be_bytes());
        prop_assert_eq!(Pdu::parse(&sent).unwrap().message(), Ok(beacon));
        let shorter = payload - 1;
        sent[2..4].copy_from_slice(&shorter.to_be_bytes());
        prop_assert!(Pdu::parse(&sent).unwrap().message().is_err(), "an option that ends too early");
    }
}
