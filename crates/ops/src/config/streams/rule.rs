//! A rule in words: `from 192.0.2.0/24 protocol udp destination-port 5000-5999 stream voice mark 46`.

use core::fmt;
use core::ops::RangeInclusive;
use gannet_proto::flow_rule::{self, Outcome};

/// A rule as it is configured: by names.
pub type Rule = flow_rule::Rule<String>;

/// The protocols that have a word.
const PROTOCOLS: [(&str, u8); 4] = [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58)];

/// Reads a rule.
///
/// # Errors
/// What is wrong, without a full stop.
pub fn parse(text: &str) -> Result<Rule, String> {
    let mut rule = Rule::any(Outcome::BestEffort);
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
                    take(&mut rule, word, value)?;
                }
            }
        }
    }
    rule.outcome = outcome.ok_or("a rule ends with 'stream NAME', 'best-effort' or 'drop'")?;
    Ok(rule)
}

fn take(rule: &mut Rule, word: &str, value: &str) -> Result<(), String> {
    match word {
        "in" => set(&mut rule.ingress, word, value.to_owned()),
        "apn" => set(&mut rule.access_point, word, value.to_owned()),
        "group" => set(&mut rule.group, word, value.to_owned()),
        "from" => set(&mut rule.source, word, value.parse()?),
        "to" => set(&mut rule.destination, word, value.parse()?),
        "protocol" => set(&mut rule.protocol, word, protocol(value)?),
        "source-port" => set(&mut rule.source_ports, word, ports(value)?),
        "destination-port" => set(&mut rule.destination_ports, word, ports(value)?),
        "dscp" => set(&mut rule.dscp, word, code_point(value)?),
        "mark" => set(&mut rule.mark, word, code_point(value)?),
        _ => Err(format!(
            "'{word}' is no condition: in, apn, group, from, to, protocol, source-port, destination-port, dscp; and stream, \
             best-effort, drop, mark"
        )),
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

/// A rule in the words in which it is read.
#[derive(Debug, Clone, Copy)]
pub struct Text<'r>(pub &'r Rule);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(rule) = self;
        let port = |range: &RangeInclusive<u16>| match (range.start(), range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        let protocol = |number: u8| {
            let named = PROTOCOLS.iter().find(|(_, of)| *of == number);
            named.map_or_else(|| number.to_string(), |(word, _)| (*word).to_owned())
        };
        let conditions = [
            ("in", rule.ingress.clone()),
            ("apn", rule.access_point.clone()),
            ("group", rule.group.clone()),
            ("from", rule.source.map(|of| of.to_string())),
            ("to", rule.destination.map(|of| of.to_string())),
            ("protocol", rule.protocol.map(protocol)),
            ("source-port", rule.source_ports.as_ref().map(port)),
            ("destination-port", rule.destination_ports.as_ref().map(port)),
            ("dscp", rule.dscp.map(|of| of.to_string())),
        ];
        for (word, value) in conditions.iter().filter_map(|(word, value)| Some((word, value.as_ref()?))) {
            write!(f, "{word} {value} ")?;
        }
        match &rule.outcome {
            Outcome::Stream(name) => write!(f, "stream {name}")?,
            Outcome::BestEffort => f.write_str("best-effort")?,
            Outcome::Drop => f.write_str("drop")?,
        }
        rule.mark.map_or(Ok(()), |mark| write!(f, " mark {mark}"))
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
            "in gi apn internet group gold best-effort",
        ] {
            assert_eq!(Text(&parse(text).unwrap()).to_string(), text);
        }
        assert_eq!(Text(&parse("from 192.0.2.1 drop").unwrap()).to_string(), "from 192.0.2.1/32 drop");
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
            let said = parse(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
