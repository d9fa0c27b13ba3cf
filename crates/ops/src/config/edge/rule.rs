//! A rule in words: `from 192.0.2.0/24 protocol udp destination-port 5000-5999 stream voice mark 46`.

use core::fmt;
use core::net::IpAddr;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// The protocols that have a word.
const PROTOCOLS: [(&str, u8); 4] = [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58)];

/// A network of either version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// An address in it.
    pub address: IpAddr,
    /// Bits of its prefix.
    pub bits: u8,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no network: A.B.C.D/M or X:X::X:X/M is expected");
        let (address, bits) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = if bits.is_empty() { Ok(most) } else { bits.parse() };
        let bits = bits.ok().filter(|bits| *bits <= most).ok_or_else(wrong)?;
        Ok(Self { address, bits })
    }
}

/// What a rule does with a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It belongs to the stream of this name.
    Stream(String),
    /// It is best effort.
    BestEffort,
    /// It is dropped.
    Drop,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The interface on which the packet arrived.
    pub ingress: Option<String>,
    /// Where it comes from.
    pub source: Option<Network>,
    /// Where it goes.
    pub destination: Option<Network>,
    /// The protocol behind IP.
    pub protocol: Option<u8>,
    /// Its source port.
    pub source_ports: Option<RangeInclusive<u16>>,
    /// Its destination port.
    pub destination_ports: Option<RangeInclusive<u16>>,
    /// Its code point.
    pub dscp: Option<u8>,
    /// What becomes of it.
    pub outcome: Outcome,
    /// The code point that it gets.
    pub mark: Option<u8>,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rule = Self {
            ingress: None,
            source: None,
            destination: None,
            protocol: None,
            source_ports: None,
            destination_ports: None,
            dscp: None,
            outcome: Outcome::BestEffort,
            mark: None,
        };
        let mut outcome = None;
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "drop" => set(&mut outcome, word, Outcome::Drop)?,
                "best-effort" => set(&mut outcome, word, Outcome::BestEffort)?,
                _ => {
                    let value = words.next().ok_or_else(|| format!("'{word}' lacks its value"))?;
                    if word == "stream" {
                        set(&mut outcome, word, Outcome::Stream(value.to_owned()))?;
                    } else {
                        rule.take(word, value)?;
                    }
                }
            }
        }
        rule.outcome = outcome.ok_or("a rule ends with 'stream NAME', 'best-effort' or 'drop'")?;
        Ok(rule)
    }
}

impl Rule {
    fn take(&mut self, word: &str, value: &str) -> Result<(), String> {
        match word {
            "in" => set(&mut self.ingress, word, value.to_owned()),
            "from" => set(&mut self.source, word, value.parse()?),
            "to" => set(&mut self.destination, word, value.parse()?),
            "protocol" => set(&mut self.protocol, word, protocol(value)?),
            "source-port" => set(&mut self.source_ports, word, ports(value)?),
            "destination-port" => set(&mut self.destination_ports, word, ports(value)?),
            "dscp" => set(&mut self.dscp, word, code_point(value)?),
            "mark" => set(&mut self.mark, word, code_point(value)?),
            _ => Err(format!(
                "'{word}' is no condition: in, from, to, protocol, source-port, destination-port, dscp; and stream, \
                 best-effort, drop, mark"
            )),
        }
    }
}

fn set<T>(place: &mut Option<T>, word: &str, value: T) -> Result<(), String> {
    if place.is_some() {
        return Err(format!("'{word}' is there twice, or beside its like"));
    }
    *place = Some(value);
    Ok(())
}

fn protocol(text: &str) -> Result<u8, String> {
    let named = PROTOCOLS.iter().find(|(word, _)| *word == text).map(|(_, number)| *number);
    let number = named.or_else(|| text.parse().ok());
    number.ok_or_else(|| format!("'{text}' is no protocol: tcp, udp, icmp, icmpv6 or 0 to 255"))
}

fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = first.parse().ok().zip(last.parse().ok()).filter(|(first, last)| first <= last);
    let (first, last) = range.ok_or_else(|| format!("'{text}' is no port and no range of ports"))?;
    Ok(first..=last)
}

fn code_point(text: &str) -> Result<u8, String> {
    let number = text.parse().ok().filter(|number| *number < 64);
    number.ok_or_else(|| format!("'{text}' is no code point: 0 to 63"))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = |range: &RangeInclusive<u16>| match (range.start(), range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        let protocol = |number: u8| {
            let named = PROTOCOLS.iter().find(|(_, of)| *of == number);
            named.map_or_else(|| number.to_string(), |(word, _)| (*word).to_owned())
        };
        let conditions = [
            ("in", self.ingress.clone()),
            ("from", self.source.map(|of| of.to_string())),
            ("to", self.destination.map(|of| of.to_string())),
            ("protocol", self.protocol.map(protocol)),
            ("source-port", self.source_ports.as_ref().map(port)),
            ("destination-port", self.destination_ports.as_ref().map(port)),
            ("dscp", self.dscp.map(|of| of.to_string())),
        ];
        for (word, value) in conditions.iter().filter_map(|(word, value)| Some((word, value.as_ref()?))) {
            write!(f, "{word} {value} ")?;
        }
        match &self.outcome {
            Outcome::Stream(name) => write!(f, "stream {name}")?,
            Outcome::BestEffort => f.write_str("best-effort")?,
            Outcome::Drop => f.write_str("drop")?,
        }
        self.mark.map_or(Ok(()), |mark| write!(f, " mark {mark}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for text in [
            "drop",
            "best-effort mark 8",
            "in lan from 192.0.2.0/24 to 2001:db8::/32 protocol udp source-port 1-9 destination-port 53 dscp 46 stream a mark 0",
            "protocol 132 stream b",
        ] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        assert_eq!("from 192.0.2.1 drop".parse::<Rule>().unwrap().to_string(), "from 192.0.2.1/32 drop");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            ("", "ends with"),
            ("from 192.0.2.0/24", "ends with"),
            ("stream", "lacks its value"),
            ("from 192.0.2.0/33 drop", "no network"),
            ("from x drop", "no network"),
            ("protocol 256 drop", "no protocol"),
            ("source-port 9-1 drop", "no port"),
            ("dscp 64 drop", "no code point"),
            ("drop stream a", "twice"),
            ("dscp 1 dscp 2 drop", "twice"),
            ("where a drop", "no condition"),
        ] {
            let said = text.parse::<Rule>().unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
