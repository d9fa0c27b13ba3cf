//! The reference of all commands, as `docs/vty.md` has it.

use super::{Action, Command, Element, Grammar, Node};
use crate::{Bss, Ggsn, Sgsn};
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

/// The whole document.
#[must_use]
pub fn document() -> String {
    let (sgsn, bss, ggsn) = (lines::<Sgsn>(), lines::<Bss>(), lines::<Ggsn>());
    let in_all = |node: Node, line: &String| {
        [&sgsn, &bss, &ggsn]
            .iter()
            .all(|lines| lines.iter().any(|(other, own)| *other == node && own == line))
    };
    let common: Vec<(Node, String)> =
        sgsn.iter().filter(|(node, line)| in_all(*node, line)).cloned().collect();
    let mut text = HEAD.to_owned();
    let everywhere = everywhere();
    text.push_str(
        "\n## In every node\n\n`do` is for the nodes of the configuration; the view node has of these no `end`, no \
         `show running-config` and no `write`.\n\n",
    );
    everywhere.iter().for_each(|line| text.push_str(line));
    section(&mut text, "In every element", &common, |line| !everywhere.contains(line));
    for (name, lines) in [("SGSN", &sgsn), ("BSS emulator", &bss), ("GGSN", &ggsn)] {
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
