//! Lines of Osmocom's daemons that are said otherwise here, and how.
//!
//! Most of them are of the network service before osmo-sgsn 1.7, which had one socket and said of an NSE each value in a line of
//! its own.

use crate::grammar::Node;

/// The lines to write for one line that is not taken.
pub(super) fn of_line(element: &str, node: Node, words: &[&str]) -> Vec<String> {
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    match (element, node, words) {
        ("sgsn", Node::Sgsn, ["ggsn", "dynamic"] | ["grx-dns-add", ..]) => {
            lines(&["sgsn", " ggsn 0 remote-ip A.B.C.D", " apn * ggsn 0"])
        }
        ("sgsn", Node::Sgsn, ["access-point-name", name, ..]) => {
            vec!["sgsn".to_owned(), format!(" apn {name} ggsn 0")]
        }
        ("sgsn", Node::Sgsn, ["encryption", algorithm]) => {
            let number = algorithm.to_ascii_lowercase();
            let number = number.strip_prefix("gea").filter(|number| number.len() == 1);
            number
                .map(|number| vec!["sgsn".to_owned(), format!(" encryption gea {number}")])
                .unwrap_or_default()
        }
        ("sgsn", Node::Ns, ["bind", "fr", ..]) | ("sgsn", Node::NsBind, ["fr", ..]) => {
            lines(&["ns", " bind udp local", "  listen A.B.C.D 23000", "  accept-ipaccess"])
        }
        ("sgsn", Node::NsNse, ["nsvc", "fr", .., "nsvci", nsvci]) => {
            vec![format!("nsvc ipa local A.B.C.D 23000 nsvci {nsvci}")]
        }
        (_, Node::Line, ["login"]) => lines(&["line vty", " no login"]),
        _ => Vec::new(),
    }
}

/// What the lines of the old network service have said.
#[derive(Debug, Default)]
pub(super) struct OldNs {
    local_ip: Option<String>,
    local_port: Option<String>,
    /// By NSEI: NSVCI, address, port.
    nses: Vec<OldNse>,
    /// The first line of it.
    first_line: Option<usize>,
}

#[derive(Debug, Default)]
struct OldNse {
    nsei: String,
    nsvci: Option<String>,
    remote_ip: Option<String>,
    remote_port: Option<String>,
}

impl OldNs {
    /// Takes a line, if it is one of the old network service; the number of its first line.
    pub(super) fn take(&mut self, line: usize, node: Node, words: &[&str]) -> Option<usize> {
        if node != Node::Ns {
            return None;
        }
        match *words {
            ["encapsulation", "udp", "local-ip", address] => self.local_ip = Some(address.to_owned()),
            ["encapsulation", "udp", "local-port", port] => self.local_port = Some(port.to_owned()),
            ["encapsulation", ..] => {}
            ["nse", nsei, what @ ("nsvci" | "remote-ip" | "remote-port"), value] => {
                let value = Some(value.to_owned());
                self.of_nse(nsei, |nse| match what {
                    "nsvci" => nse.nsvci = value,
                    "remote-ip" => nse.remote_ip = value,
                    _ => nse.remote_port = value,
                });
            }
            ["nse", nsei, "remote-role" | "encapsulation" | "fr-dlci", ..] => self.of_nse(nsei, |_| ()),
            _ => return None,
        }
        Some(*self.first_line.get_or_insert(line))
    }

    fn of_nse(&mut self, nsei: &str, change: impl FnOnce(&mut OldNse)) {
        if !self.nses.iter().any(|nse| nse.nsei == nsei) {
            self.nses.push(OldNse { nsei: nsei.to_owned(), ..OldNse::default() });
        }
        if let Some(nse) = self.nses.iter_mut().find(|nse| nse.nsei == nsei) {
            change(nse);
        }
    }

    /// Whether its first line is this one.
    pub(super) fn begins_at(&self, line: usize) -> bool {
        self.first_line == Some(line)
    }

    /// The lines that say the same here.
    pub(super) fn instead(&self) -> Vec<String> {
        let or =
            |value: &Option<String>, otherwise: &str| value.clone().unwrap_or_else(|| otherwise.to_owned());
        let mut lines = vec![
            "ns".to_owned(),
            " bind udp local".to_owned(),
            format!("  listen {} {}", or(&self.local_ip, "A.B.C.D"), or(&self.local_port, "23000")),
            // It served everybody who came with an NS-RESET.
            "  accept-ipaccess".to_owned(),
        ];
        for nse in &self.nses {
            lines.push(format!(" nse {}", nse.nsei));
            lines.push(format!(
                "  nsvc ipa local {} {} nsvci {}",
                or(&nse.remote_ip, "A.B.C.D"),
                or(&nse.remote_port, "23000"),
                or(&nse.nsvci, &nse.nsei)
            ));
        }
        lines
    }
}
