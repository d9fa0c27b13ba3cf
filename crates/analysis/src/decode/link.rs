//! Types of links: what they carry, and where it begins.

/// Types of links (`LINKTYPE_` of tcpdump.org).
pub mod link_type {
    /// BSD loopback, in the order of the host.
    pub const NULL: u16 = 0;
    /// Ethernet.
    pub const ETHERNET: u16 = 1;
    /// Raw IP, as some systems count it.
    pub const RAW_BSD: u16 = 12;
    /// Raw IP, as OpenBSD counts it.
    pub const RAW_OPENBSD: u16 = 14;
    /// Raw IP.
    pub const RAW: u16 = 101;
    /// OpenBSD loopback.
    pub const LOOP: u16 = 108;
    /// Linux, any device.
    pub const LINUX_SLL: u16 = 113;
    /// An LL-PDU.
    pub const GPRS_LLC: u16 = 169;
    /// GSMTAP, for Um.
    pub const GSMTAP_UM: u16 = 217;
    /// Raw IPv4.
    pub const IPV4: u16 = 228;
    /// Raw IPv6.
    pub const IPV6: u16 = 229;
    /// Linux, any device, version 2.
    pub const LINUX_SLL2: u16 = 276;
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const VLANS_MAX: usize = 4;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside<'a> {
    /// An IP packet and what follows it.
    Ip(&'a [u8]),
    /// GSMTAP.
    Gsmtap(&'a [u8]),
    /// An LL-PDU.
    Llc(&'a [u8]),
    /// Nothing of this.
    Other,
    /// This type of link is not known here.
    UnknownLink,
}

/// What a frame of a link carries.
#[must_use]
pub fn inside(link: u16, frame: &[u8]) -> Inside<'_> {
    let behind = |count: usize| frame.get(count..).unwrap_or_default();
    match link {
        link_type::ETHERNET => of_type(u16_at(frame, 12), behind(14)),
        link_type::LINUX_SLL => of_type(u16_at(frame, 14), behind(16)),
        link_type::LINUX_SLL2 => of_type(u16_at(frame, 0), behind(20)),
        link_type::RAW | link_type::RAW_BSD | link_type::RAW_OPENBSD | link_type::IPV4 | link_type::IPV6 => {
            of_ip(frame)
        }
        link_type::NULL | link_type::LOOP => of_ip(behind(4)),
        link_type::GSMTAP_UM => Inside::Gsmtap(frame),
        link_type::GPRS_LLC => Inside::Llc(frame),
        _ => Inside::UnknownLink,
    }
}

fn u16_at(octets: &[u8], at: usize) -> u16 {
    octets.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u16::from_be_bytes(*octets))
}

fn of_type(mut ether_type: u16, mut rest: &[u8]) -> Inside<'_> {
    for _ in 0..VLANS_MAX {
        if !VLAN.contains(&ether_type) {
            break;
        }
        ether_type = u16_at(rest, 2);
        rest = rest.get(4..).unwrap_or_default();
    }
    if matches!(ether_type, IPV4 | IPV6) { of_ip(rest) } else { Inside::Other }
}

fn of_ip(octets: &[u8]) -> Inside<'_> {
    match octets.first().map(|first| first >> 4) {
        Some(4 | 6) => Inside::Ip(octets),
        _ => Inside::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_is_found_behind_each_link() {
        let ip = [0x45, 0, 0, 20];
        let front = |head: &[u8]| [head, &ip].concat();
        let ethernet = front(&[&[0; 12][..], &[8, 0]].concat());
        let vlan = front(&[&[0; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat());
        let sll = front(&[&[0; 14][..], &[8, 0]].concat());
        let sll2 = front(&[&[8, 0][..], &[0; 18]].concat());
        let null = front(&[2, 0, 0, 0]);
        for (link, frame) in [
            (link_type::ETHERNET, ethernet),
            (link_type::ETHERNET, vlan),
            (link_type::LINUX_SLL, sll),
            (link_type::LINUX_SLL2, sll2),
            (link_type::NULL, null),
            (link_type::RAW, ip.to_vec()),
        ] {
            assert_eq!(inside(link, &frame), Inside::Ip(&ip), "link type {link}");
        }
        assert_eq!(inside(link_type::ETHERNET, &[0; 14]), Inside::Other);
        assert_eq!(inside(link_type::ETHERNET, &[]), Inside::Other);
        assert_eq!(inside(9, &ip), Inside::UnknownLink);
    }
}
