//! Protocol configuration options (04.08 clause 10.5.6.3 [24.008]): what the mobile and the GGSN tell each other
//! about PPP and DNS through the SGSN, which carries it untouched.
//!
//! ```text
//!  1 | spare (4) | configuration protocol (3) | [ identifier (2) | length (1) | content ]*
//! ```

use crate::error::{DecodeError, DecodeErrorKind};

/// Identifiers of what an option holds.
pub mod identifier {
    /// Link control protocol (RFC 1661).
    pub const LCP: u16 = 0xc021;
    /// Password authentication protocol (RFC 1334).
    pub const PAP: u16 = 0xc023;
    /// Challenge handshake authentication protocol (RFC 1994).
    pub const CHAP: u16 = 0xc223;
    /// IP control protocol (RFC 1332, with the name servers of RFC 1877).
    pub const IPCP: u16 = 0x8021;
    /// DNS server IPv6 address: empty to ask, sixteen octets to answer.
    pub const DNS_SERVER_IPV6: u16 = 0x0003;
    /// IPv4 link MTU: empty to ask, two octets to answer.
    pub const IPV4_LINK_MTU: u16 = 0x0010;
    /// DNS server IPv4 address: empty to ask, four octets to answer.
    pub const DNS_SERVER_IPV4: u16 = 0x000d;
}

/// One option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PcoOption {
    /// One of [`identifier`], or another.
    pub identifier: u16,
    /// Its content, at most 255 octets.
    pub content: Vec<u8>,
}

/// Reads the options.
///
/// # Errors
/// `Truncated` where there is no first octet or an option reaches beyond the end.
pub fn parse(octets: &[u8]) -> Result<Vec<PcoOption>, DecodeError> {
    match read(octets) {
        (options, None) => Ok(options),
        (_, Some(error)) => Err(error),
    }
}

/// Reads the options that stand before the first fault: what a mobile says there is to be answered whatever follows.
#[must_use]
pub fn readable(octets: &[u8]) -> Vec<PcoOption> {
    read(octets).0
}

fn read(octets: &[u8]) -> (Vec<PcoOption>, Option<DecodeError>) {
    const IE: &str = "Protocol Configuration Options";
    let mut r = crate::Reader::new(octets);
    let mut options = Vec::new();
    let first = match r.u8(IE) {
        Ok(first) => first,
        Err(error) => return (options, Some(error)),
    };
    // Configuration protocol 0, PPP for IP, is the only one; others are read alike.
    if first & 0x80 == 0 {
        return (options, Some(DecodeError::new(IE, 0, DecodeErrorKind::BadValue(u32::from(first)))));
    }
    let mut option = || -> Result<(PcoOption, bool), DecodeError> {
        let identifier = r.u16(IE)?;
        let len = usize::from(r.u8(IE)?);
        Ok((PcoOption { identifier, content: r.take(len, IE)?.to_vec() }, r.is_empty()))
    };
    if octets.len() == 1 {
        return (options, None);
    }
    loop {
        match option() {
            Ok((option, is_last)) => {
                options.push(option);
                if is_last {
                    return (options, None);
                }
            }
            Err(error) => return (options, Some(error)),
        }
    }
}

/// Writes options. Content beyond 255 octets has no length field that could say so: such an option is left out.
#[must_use]
pub fn emit(options: &[PcoOption]) -> Vec<u8> {
    let mut octets = vec![0x80];
    for option in options {
        let Ok(len) = u8::try_from(option.content.len()) else { continue };
        octets.extend(option.identifier.to_be_bytes());
        octets.push(len);
        octets.extend_from_slice(&option.content);
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_apart_and_put_together() {
        let octets = [
            0x80, 0x80, 0x21, 10, 1, 1, 0, 10, 129, 6, 0, 0, 0,
            0, // IPCP Configure-Request, primary DNS
            0x00, 0x0d, 0,
        ];
        let options = parse(&octets).unwrap();
        let identifiers: Vec<u16> = options.iter().map(|option| option.identifier).collect();
        assert_eq!(identifiers, [identifier::IPCP, identifier::DNS_SERVER_IPV4]);
        assert_eq!(emit(&options), octets);
        assert!(parse(&[]).is_err());
        assert!(parse(&[0x00]).is_err());
        assert!(parse(&[0x80, 0x80]).is_err());
        assert!(parse(&[0x80, 0x80, 0x21, 1]).is_err());
        assert_eq!(parse(&[0x80]), Ok(Vec::new()));
        assert_eq!(readable(&octets), options);
        assert_eq!(readable(&octets[..octets.len() - 1]), options[..1]);
        assert_eq!((readable(&[]), readable(&[0])), (Vec::new(), Vec::new()));
    }
}
