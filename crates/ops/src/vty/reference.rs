//! The reference of all commands, as `docs/vty.md` has it.

use crate::config::Element;
use crate::grammar::{Action, Command, Grammar, Node};
use crate::{AccessPoint, Bss, EdgeRouter, Ggsn, MobileStation, Sgsn};
use core::fmt::Write as _;

const HEAD: &str = "\
# Commands

Every command of the terminal (VTY) and of configuration files, by node. This file is written by the program:
`GANNET_BLESS=1 cargo test -p gannet-ops --test reference` writes it anew.

A configuration file has the same words as the terminal after `configure terminal`. A line that opens a node is followed
by the lines of that node, indented by one blank more. Lines that begin with `!` or `#` are comments. In the terminal,
`?` lists what may come next and TAB completes; words may be cut short as long as they are clear.

In a pattern, `<a-b>` is a number from a to b, `A.B.C.D` an address, a word in capitals any word, `.TEXT` the rest of the
line, `(a|b)` one of these, `[a]` a or nothing.

The keys of cards (`HEX` in `sim` and `usim`) stand in the configuration of the BSS emulator, as osmo-hlr has those of its
subscribers in a database. `write file` writes them; `show running-config`, `show startup-config` and `write terminal` show
`(hidden)` in their place, no log and no error repeats them, and no line with a key in it is remembered for `show history`.
";

const AT_THE_START: &str = "
## What holds from the next start on

A change holds at once: policies, lists, timers, GGSNs and access points, Echo Requests, who may make himself known on Gb, queues
and flow control. The answer to a command names what does not, which is only what concerns the size of a table, an address, or a
file that is open.

| element | words | why |
|---|---|---|
| all | `bind` under `line vty`, `ctrl` and `metrics` | an address |
| all | `busy-poll` | settings of sockets and devices |
| SGSN | `gtp local-ip`, `gtp local-ipv6` | an address, which peers have been told |
| SGSN | `bind udp ID` and `no bind ID` under `ns`, `listen`; `nsvc` and `ip-sns-bind` of a new socket | an address |
| SGSN | `no nsvc`, `no nse` | an NS-VC that is there stays |
| SGSN | `max-mobiles`, `max-pdp-contexts`, `max-cells`, `max-held-n-pdus`, `max-unconfirmed-octets`, `max-frames` | the size of a table |
| SGSN | the first line `gtp-version 0` | the size of a table: that of contexts of GTPv0 at a driver |
| SGSN | `ingress`, `gb-output`, `core`, `socket-buffer` | programs, rings and memory of the kernel |
| SGSN | `gtp state-dir`, `store` | a file that is open |
| GGSN | `gtp bind-ip`, `gtp bind-ipv6`, `ip ifconfig`, `ipv6 ifconfig`, `ipv6 link-local` of the device | an address |
| GGSN | `max-pdp-contexts` | the size of a table |
| GGSN | `tun-device`, `ipup-script`, `ipdown-script`, `mtu … apply`; a new `apn` or `ggsn`, or one that was shut down at the start | a device |
| GGSN | `ip prefix`, `ipv6 prefix`, `type-support`, `ip static` | the size of a table: that of addresses |
| GGSN | `gtp state-dir`, `store` | a file that is open |
| edge router | `interface` and `no interface`, `flows`, and of an interface `overhead`, `pool`, `ef-weight`, `accounting`, `sharing`, `no rate` and the first `rate` | sockets and tables |
| BSS emulator | addresses, cells, mobiles, their cards, QoS and compression | tables, and what mobiles are made of |

`auth-policy remote` connects to the HLR at once; after another policy the link stays until the end, so that who waits for the
HLR is answered. Another `gsup remote-ip`, `gsup remote-port` or `gsup ipa-name` ends the link and begins the new one. An access
point of the GGSN that is shut down has its contexts deleted at their SGSNs.

## Captures

`--pcap FILE` records what the sockets of the node carry, before and behind all segmentation: Gb, Gn (GTP-C and GTP-U), of an
SGSN also the link to the HLR as `Gr` (GSUP in IPA over TCP), of a GGSN also its TUN devices as `Gi`. IP, UDP and TCP headers are
made; TCP's sequence numbers begin at 0 with each connection. The file is readable by its owner alone: GSUP has Kc, CK, IK and RES of
subscribers in it, and Gi what they send. Of a BSS and of mobiles it has the packets of their devices as `TUN`, of a BSS with `radio rlcmac` the
blocks of the radio as `Um` and `Abis`.

`trace …` begins and ends a capture while the node runs, and records a part of it: headers alone, or some subscribers
([running.md](running.md#captures)). Of several nodes in one process the words of the first hold.

tcpdump and Wireshark on the same host see less exactly. Where Gb leaves by UDP sockets, datagrams of one length to one BSS leave together
(UDP GSO), and a capture on that host shows them as one long datagram, of which tshark reads the first NS PDU only. They are apart on the
wire. To see them apart, use `--pcap`, or capture at the receiver or at a mirror port of the switch. What arrives may be put together likewise
by the kernel (GRO); `ethtool -K DEVICE gro off` ends that. What a driver takes or sends by AF_XDP is seen by no tcpdump of that host.

`radio capture FILE` and `gsmtap-remote-host` of a BSS with `radio rlcmac` have the blocks of the radio alone
([running.md](running.md#what-is-seen-of-the-radio)).
";

/// The whole document.
#[must_use]
pub fn document() -> String {
    let (sgsn, bss, ggsn) = (lines::<Sgsn>(), lines::<Bss>(), lines::<Ggsn>());
    let (edge, ms, ap) = (lines::<EdgeRouter>(), lines::<MobileStation>(), lines::<AccessPoint>());
    let in_all = |node: Node, line: &String| {
        [&sgsn, &bss, &ggsn, &edge, &ms, &ap]
            .iter()
            .all(|lines| lines.iter().any(|(other, own)| *other == node && own == line))
    };
    let common: Vec<(Node, String)> =
        sgsn.iter().filter(|(node, line)| in_all(*node, line)).cloned().collect();
    let mut text = HEAD.to_owned();
    text.push_str(AT_THE_START);
    let everywhere = everywhere();
    text.push_str(
        "\n## In every node\n\n`do` is for the nodes of the configuration; the view node has of these no `end`, no \
         `show running-config` and no `write`.\n\n",
    );
    everywhere.iter().for_each(|line| text.push_str(line));
    section(&mut text, "In every element", &common, |line| !everywhere.contains(line));
    for (name, lines) in [
        ("SGSN", &sgsn),
        ("BSS emulator", &bss),
        ("GGSN", &ggsn),
        ("edge router", &edge),
        ("mobile station", &ms),
        ("access point", &ap),
    ] {
        let own = |node: Node, line: &String| !common.contains(&(node, line.clone()));
        let lines: Vec<(Node, String)> =
            lines.iter().filter(|(node, line)| own(*node, line)).cloned().collect();
        section(&mut text, name, &lines, |line| !everywhere.contains(line));
    }
    text.push_str(&super::osmocom::table());
    text
}

fn lines<E: Element>() -> Vec<(Node, String)> {
    let grammar = Grammar::<E>::new();
    let of_node = |node: Node| grammar.commands(node).iter().map(move |command| (node, line(command)));
    Node::ALL.iter().flat_map(|node| of_node(*node)).collect()
}

/// The commands that the root of the configuration shares with each node below it; those of the view and enable nodes
/// differ by what one may do there.
fn everywhere() -> Vec<String> {
    let lines = lines::<Sgsn>();
    let nodes: Vec<Node> = Grammar::<Sgsn>::new().nodes().filter(|node| node.is_config()).collect();
    let in_node = |node: Node, line: &String| lines.iter().any(|(other, own)| *other == node && own == line);
    let of_config = lines.iter().filter(|(node, _)| *node == Node::Config).map(|(_, line)| line.clone());
    of_config.filter(|line| nodes.iter().all(|node| in_node(*node, line))).collect()
}

fn section(text: &mut String, name: &str, lines: &[(Node, String)], wanted: impl Fn(&String) -> bool) {
    let _ = write!(text, "\n## {name}\n");
    for node in Node::ALL {
        let of_node = lines.iter().filter(|(other, line)| other == node && wanted(line));
        let of_node: Vec<&str> = of_node.map(|(_, line)| line.as_str()).collect();
        if !of_node.is_empty() {
            let _ = write!(text, "\n### {name}: {}\n\n{}", node.name(), of_node.concat());
        }
    }
}

/// A command, what becomes of it, and its words with their help.
fn line<E: Element>(command: &Command<E>) -> String {
    let mut text = format!("- `{}`\n", command.pattern());
    match command.action() {
        Action::Ignore(why) => {
            let _ = writeln!(text, "  - *taken without effect:* {why}");
        }
        Action::Refuse(why) => {
            let _ = writeln!(text, "  - *refused:* {why}");
        }
        Action::Enter(node, _) => {
            let _ = writeln!(text, "  - *opens the node* {}", node.name());
        }
        Action::Session(_)
        | Action::Set(_)
        | Action::Show(_)
        | Action::Statistics(_)
        | Action::Operate(_) => {}
    }
    let words: Vec<String> = command.words().map(|(word, help)| format!("`{word}` {help}")).collect();
    let _ = writeln!(text, "  - {}", words.join("; "));
    text
}
