//! Osmocom's BSS with a virtual Um: osmo-bsc, osmo-bts-virtual and osmo-pcu, with the configurations of `docs/examples`.

/// The programs, in the order in which they are started. Socket and files are relative to the directory they run in.
pub(crate) const PROGRAMS: [(&str, &str); 3] =
    [("bsc", "osmo-bsc"), ("bts", "osmo-bts-virtual"), ("pcu", "osmo-pcu")];

/// The configuration of osmo-bsc with an SGSN at this address; `ns` has more lines for NS.
pub(crate) fn bsc(sgsn: &str, ns: &str) -> String {
    const SGSN: &str = "  gprs nsvc 0 remote ip ";
    const EXAMPLE: &str = include_str!("../../../docs/examples/osmo-bsc.cfg");
    let line = |line: &str| match line.strip_prefix(SGSN) {
        Some(_) => format!("{ns}{SGSN}{sgsn}\n"),
        None => format!("{line}\n"),
    };
    EXAMPLE.lines().map(line).collect()
}

/// The configuration of osmo-bts-virtual. Its air needs multicast on the loopback device.
pub(crate) const BTS: &str = include_str!("../../../docs/examples/osmo-bts-virtual.cfg");

/// The configuration of osmo-pcu with this coding scheme, 1 to 4, both ways, and more lines for it.
pub(crate) fn pcu(scheme: u8, more: &str) -> String {
    const EXAMPLE: &str = include_str!("../../../docs/examples/osmo-pcu.cfg");
    EXAMPLE.replacen(" cs 4 4\n", &format!(" cs {scheme} {scheme}\n{more}"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_take_an_sgsn_and_more_lines() {
        let text = bsc("192.0.2.2", "  gprs ns timer tns-test 2\n");
        let expected = "\n  gprs ns timer tns-test 2\n  gprs nsvc 0 remote ip 192.0.2.2\n  trx 0\n";
        assert!(text.contains(expected), "{text}");
        let text = pcu(2, " gb-dialect ip-sns\n");
        assert!(text.contains("\n cs 2 2\n gb-dialect ip-sns\n alloc-algorithm dynamic\n"), "{text}");
        assert!(BTS.contains("\n pcu-socket pcu_bts\n"));
    }
}
