//! User data in frames of every shape that is classified, octet by octet.

use super::frames::{self, OWN_V4, OWN_V6};

/// The context of all vectors of GTPv1: generation 3 of place 5.
pub const TEID: u32 = 0x0300_0005;
/// IMSI 00101123, NSAPI 5.
pub const TID: u64 = 0x0001_1132_ffff_ff5f;

/// A frame with user data.
pub struct Vector {
    /// What is special about it.
    pub name: &'static str,
    /// From its Ethernet header on.
    pub frame: Vec<u8>,
    /// `None` for GTPv0.
    pub teid: Option<u32>,
    /// What it carries.
    pub t_pdu: Vec<u8>,
}

/// An IPv4 header and nothing behind it.
const T_PDU: [u8; 20] = [
    0x45, 0x00, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x40, 0x3b, 0x2e, 0x9b, 0xac, 0x10, 0xde, 0x01, 0xc0,
    0x00, 0x02, 0x01,
];

/// The plainest one, written by hand: Ethernet, IPv4, UDP, GTPv1 without any option.
const PLAIN: [u8; 70] = [
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, // Ethernet
    0x45, 0x00, 0x00, 0x38, 0x12, 0x34, 0x00, 0x00, 0x40, 0x11, 0xe4, 0x78, // IPv4
    0xc0, 0x00, 0x02, 0x01, 0xc0, 0x00, 0x02, 0x07, // its addresses
    0x30, 0x39, 0x08, 0x68, 0x00, 0x24, 0x0e, 0xe4, // UDP
    0x30, 0xff, 0x00, 0x14, 0x03, 0x00, 0x00, 0x05, // GTPv1
    0x45, 0x00, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x40, 0x3b, 0x2e, 0x9b, 0xac, 0x10, 0xde, 0x01, 0xc0,
    0x00, 0x02, 0x01, // T-PDU
];

/// All of them, the plainest first.
pub fn all() -> Vec<Vector> {
    let g_pdu =
        |numbers, extensions: &[(u8, Vec<u8>)]| frames::gtp_v1(255, TEID, numbers, extensions, &T_PDU);
    let plain = g_pdu((None, None), &[]);
    let v4 = |port, gtp: &[u8]| frames::udp(OWN_V4.into(), port, true, gtp);
    let ip = |options, gtp: &[u8]| frames::ipv4(OWN_V4, 17, 0x4000, options, &v4(2152, gtp));
    let extensions = [(0xc0, vec![0x01, 0x02]), (0x40, vec![0; 6]), (0x01, vec![9; 10])];
    let version_0 = frames::usual(3386, &frames::gtp_v0(255, TID, &T_PDU));
    let v6 = frames::ipv6(OWN_V6, 17, &frames::udp(OWN_V6.into(), 2152, true, &plain));
    let behind = [frames::usual(2152, &plain), vec![0; 6]].concat();
    let named = [
        ("plain", PLAIN.to_vec()),
        ("sequence number", frames::usual(2152, &g_pdu((Some(0x1234), None), &[]))),
        ("N-PDU number", frames::usual(2152, &g_pdu((None, Some(9)), &[]))),
        ("both numbers", frames::usual(2152, &g_pdu((Some(1), Some(2)), &[]))),
        ("extension headers", frames::usual(2152, &g_pdu((Some(1), None), &extensions))),
        ("IPv4 options", frames::ethernet(&[], 0x0800, &ip(3, &plain))),
        ("all IPv4 options", frames::ethernet(&[], 0x0800, &ip(10, &plain))),
        ("one VLAN tag", frames::ethernet(&[7], 0x0800, &ip(0, &plain))),
        ("two VLAN tags", frames::ethernet(&[7, 8], 0x0800, &ip(0, &plain))),
        ("IPv6", frames::ethernet(&[], 0x86dd, &v6)),
        ("padding behind", behind),
    ];
    let named = named.into_iter().map(|(name, frame)| (name, frame, Some(TEID)));
    let named = named.chain([("version 0", version_0, None)]);
    named.map(|(name, frame, teid)| Vector { name, frame, teid, t_pdu: T_PDU.to_vec() }).collect()
}
