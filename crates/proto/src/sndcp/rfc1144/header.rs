//! The headers of a TCP packet over IPv4, as both ends remember them (RFC 791 clause 3.1, RFC 793 clause 3.1).

use super::BadImage;

/// Octets of the longest headers: 60 of IP and 60 of TCP.
pub(super) const HEADERS_MAX: usize = 120;

/// The same as a total length.
const HEADERS_MAX_OCTETS: [u8; 2] = [0, 120];
const IP_LEN: usize = 20;
const TCP_LEN: usize = 20;
const OPTIONS_MAX: usize = 40;
const TCP: u8 = 6;

/// Flags of TCP.
pub(super) mod flag {
    pub(in super::super) const FIN: u8 = 0x01;
    pub(in super::super) const SYN: u8 = 0x02;
    pub(in super::super) const RST: u8 = 0x04;
    pub(in super::super) const PSH: u8 = 0x08;
    pub(in super::super) const ACK: u8 = 0x10;
    pub(in super::super) const URG: u8 = 0x20;
    /// What the change mask says; of all others both ends have to know.
    pub(in super::super) const CHANGING: u8 = PSH | URG;
}

/// Options of IP or of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    len: u8,
    octets: [u8; OPTIONS_MAX],
}

impl Options {
    fn new(options: &[u8]) -> Option<Self> {
        let mut octets = [0; OPTIONS_MAX];
        octets.get_mut(..options.len())?.copy_from_slice(options);
        Some(Self { len: u8::try_from(options.len()).ok()?, octets })
    }

    fn as_slice(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Everything in the headers but the checksum of IP, which follows from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers {
    /// Version, header length and type of service.
    version: [u8; 2],
    pub(super) total_length: u16,
    pub(super) identification: u16,
    /// Flags and fragment offset.
    fragment: [u8; 2],
    ttl: u8,
    addresses: [u8; 8],
    ip_options: Options,
    ports: [u8; 4],
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    /// Data offset and reserved bits.
    offset: u8,
    pub(super) flags: u8,
    pub(super) window: u16,
    pub(super) checksum: u16,
    pub(super) urgent: u16,
    tcp_options: Options,
}

impl Headers {
    /// Reads the headers of `n_pdu`, whose IP protocol may be any. `None` where it is not IPv4, where it has no whole TCP
    /// header or where its total length is not enough for the headers or too much for the N-PDU.
    pub(super) fn parse(n_pdu: &[u8]) -> Option<Self> {
        let (ip, _) = n_pdu.split_first_chunk::<IP_LEN>()?;
        let [v, tos, l0, l1, i0, i1, f0, f1, ttl, _, _, _, addresses @ ..] = *ip;
        let ip_len = usize::from(v & 0xf) * 4;
        let ip_options = Options::new(n_pdu.get(IP_LEN..ip_len)?)?;
        let (tcp, _) = n_pdu.get(ip_len..)?.split_first_chunk::<TCP_LEN>()?;
        let [p0, p1, p2, p3, s0, s1, s2, s3, a0, a1, a2, a3, offset, flags, w0, w1, c0, c1, u0, u1] = *tcp;
        let len = ip_len + usize::from(offset >> 4) * 4;
        let tcp_options = Options::new(n_pdu.get(ip_len + TCP_LEN..len)?)?;
        let total_length = u16::from_be_bytes([l0, l1]);
        let total = usize::from(total_length);
        (v >> 4 == 4 && len <= total && total <= n_pdu.len()).then_some(Self {
            version: [v, tos],
            total_length,
            identification: u16::from_be_bytes([i0, i1]),
            fragment: [f0, f1],
            ttl,
            addresses,
            ip_options,
            ports: [p0, p1, p2, p3],
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            acknowledgement: u32::from_be_bytes([a0, a1, a2, a3]),
            offset,
            flags,
            window: u16::from_be_bytes([w0, w1]),
            checksum: u16::from_be_bytes([c0, c1]),
            urgent: u16::from_be_bytes([u0, u1]),
            tcp_options,
        })
    }

    /// Octets of both headers.
    pub(super) fn len(&self) -> usize {
        IP_LEN + TCP_LEN + usize::from(self.ip_options.len) + usize::from(self.tcp_options.len)
    }

    /// Octets behind the headers.
    pub(super) fn data_len(&self) -> u16 {
        self.total_length.saturating_sub(u16::try_from(self.len()).unwrap_or(u16::MAX))
    }

    /// The headers as octets, with the right checksum of IP; [`Headers::len`] of them.
    pub(super) fn emit(&self) -> [u8; HEADERS_MAX] {
        let mut octets = [0; HEADERS_MAX];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            if let Some(room) = octets.get_mut(at..at + part.len()) {
                room.copy_from_slice(part);
            }
            at += part.len();
        };
        put(&self.version);
        put(&self.total_length.to_be_bytes());
        put(&self.identification.to_be_bytes());
        put(&self.fragment);
        put(&[self.ttl, TCP]);
        put(&self.ip_checksum().to_be_bytes());
        put(&self.addresses);
        put(self.ip_options.as_slice());
        put(&self.ports);
        put(&self.sequence.to_be_bytes());
        put(&self.acknowledgement.to_be_bytes());
        put(&[self.offset, self.flags]);
        put(&self.window.to_be_bytes());
        put(&self.checksum.to_be_bytes());
        put(&self.urgent.to_be_bytes());
        put(self.tcp_options.as_slice());
        octets
    }

    fn ip_checksum(&self) -> u16 {
        let words = [
            self.version,
            self.total_length.to_be_bytes(),
            self.identification.to_be_bytes(),
            self.fragment,
            [self.ttl, TCP],
        ];
        let (addresses, _) = self.addresses.as_chunks::<2>();
        let (options, _) = self.ip_options.as_slice().as_chunks::<2>();
        let words = words.iter().chain(addresses).chain(options);
        let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !u16::try_from(sum).unwrap_or(u16::MAX)
    }

    /// Is it a segment that can be compressed, and one that is restored as it was? No fragment; ACK, and none of SYN, FIN and RST.
    pub(super) fn is_compressible(&self, n_pdu: &[u8]) -> bool {
        let [f0, f1] = self.fragment;
        let connection = self.flags & (flag::SYN | flag::FIN | flag::RST | flag::ACK);
        f0 & 0x3f == 0
            && f1 == 0
            && connection == flag::ACK
            && usize::from(self.total_length) == n_pdu.len()
            && n_pdu.get(..self.len()) == self.emit().get(..self.len())
    }

    /// The same connection: addresses and ports.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.addresses == other.addresses && self.ports == other.ports
    }

    /// Is all equal that a compressed packet can't tell? RFC 1144 knows nothing of the flags that came with RFC 3168: a
    /// change of theirs is such a thing, or the receiver's checksum would fail.
    pub(super) fn is_predicted_by(&self, last: &Self) -> bool {
        self.version == last.version
            && self.fragment == last.fragment
            && self.ttl == last.ttl
            && self.offset == last.offset
            && self.flags | flag::CHANGING == last.flags | flag::CHANGING
            && self.ip_options == last.ip_options
            && self.tcp_options == last.tcp_options
    }

    /// Sets or clears one of the flags that change.
    pub(super) const fn set(&mut self, flag: u8, is_set: bool) {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
    }
}

/// Appends headers to an exported state: as many octets as the headers have.
pub(super) fn export(headers: &Headers, out: &mut Vec<u8>) {
    out.extend(headers.emit().into_iter().take(headers.len()));
    out.extend(headers.total_length.to_be_bytes());
}

/// Reads what [`export`] wrote, and takes it off the front.
pub(super) fn import(octets: &mut &[u8]) -> Result<Headers, BadImage> {
    // The total length counts data that is not there: it is put aside while the headers are read.
    let mut alone: [u8; HEADERS_MAX] = [0; HEADERS_MAX];
    let known = octets.len().min(HEADERS_MAX);
    let (Some(to), Some(from)) = (alone.get_mut(..known), octets.get(..known)) else { return Err(BadImage) };
    to.copy_from_slice(from);
    let [_, _, l0, l1, ..] = &mut alone;
    [*l0, *l1] = HEADERS_MAX_OCTETS;
    let mut headers = Headers::parse(&alone).ok_or(BadImage)?;
    let rest = octets.get(headers.len()..).and_then(|rest| rest.split_first_chunk::<2>());
    let (total_length, rest) = rest.ok_or(BadImage)?;
    headers.total_length = u16::from_be_bytes(*total_length);
    *octets = rest;
    if usize::from(headers.total_length) < headers.len() { Err(BadImage) } else { Ok(headers) }
}
