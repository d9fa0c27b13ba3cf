//! Counters as text: what a VTY and the kernel answer, and what has moved in between.

use std::collections::BTreeMap;

/// The pairs `name value` of an answer, several in a line or one. What two places have counted under the same name is added.
#[must_use]
pub fn read_counters(answer: &str) -> BTreeMap<String, u64> {
    let pairs = answer.lines().flat_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let pair = |pair: &[&str]| match pair {
            [name, value] => Some(((*name).to_owned(), value.parse().ok()?)),
            _ => None,
        };
        words.chunks(2).filter_map(pair).collect::<Vec<_>>()
    });
    pairs.fold(BTreeMap::new(), |mut counters, (name, value): (String, u64)| {
        *counters.entry(name).or_default() += value;
        counters
    })
}

/// The counters of UDP in `/proc/net/snmp`, as `udp.NAME`.
#[must_use]
pub fn parse_snmp(text: &str) -> Vec<(String, u64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return Vec::new() };
    let values = values.split_whitespace().map(|value| value.parse().unwrap_or(0));
    names.split_whitespace().map(|name| format!("udp.{name}")).zip(values).collect()
}

/// A counter of `/proc/net/snmp` or `/proc/net/netstat`: a line of names that begins with the group, then one of numbers.
#[must_use]
pub fn of_kernel(said: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = said.lines().filter(|line| line.split(' ').next() == Some(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split(' ').position(|word| word == name)?;
    values.split(' ').nth(place)?.parse().ok()
}

/// By how much each counter has grown since `before`.
#[must_use]
pub fn moved(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let since = |(name, value): (&String, &u64)| {
        (name.clone(), value.saturating_sub(before.get(name).copied().unwrap_or(0)))
    };
    after.iter().map(since).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_udp() {
        let text = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams RcvbufErrors\nUdp: 10 3\nUdpLite: X\nUdpLite: 9\n";
        let expected = [("udp.InDatagrams".to_owned(), 10), ("udp.RcvbufErrors".to_owned(), 3)];
        assert_eq!(parse_snmp(text), expected);
    }

    #[test]
    fn a_counter_of_the_kernel_is_found_by_its_name() {
        let said =
            "Ip: A B\nIp: 1 2\nTcp: Active RetransSegs\nTcp: 3 44\nTcpExt: TCPTimeouts X\nTcpExt: 5 6\n";
        assert_eq!(of_kernel(said, "Tcp:", "RetransSegs"), Some(44));
        assert_eq!(of_kernel(said, "TcpExt:", "TCPTimeouts"), Some(5));
        assert_eq!(of_kernel(said, "Tcp:", "TCPTimeouts"), None);
        assert_eq!(of_kernel("Tcp: RetransSegs", "Tcp:", "RetransSegs"), None);
    }

    #[test]
    fn only_growth_has_moved() {
        let of = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let after = moved(&of(&[("a", 5), ("b", 9), ("gone", 1)]), &of(&[("a", 7), ("b", 3), ("new", 2)]));
        assert_eq!(after, of(&[("a", 2), ("b", 0), ("new", 2)]));
    }
}
