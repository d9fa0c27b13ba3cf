//! What Osmocom's daemons take in every configuration, and this one takes for their sake.

use super::{LogKind, open_log};
use crate::config::Element;
use crate::grammar::{Action, Grammar, Node};

/// All of it.
pub(super) fn install<E: Element>(grammar: &mut Grammar<E>) {
    install_logs(grammar);
    install_cs7(grammar);
    install_sessions(grammar);
    let line = "Any line that Osmocom has here";
    let why = "the node in which it stands has no effect here.";
    grammar.add(&[Node::Ignored], ".LINE", line, Action::Ignore(why));
}

/// Targets of the log that are not here.
fn install_logs<E: Element>(grammar: &mut Grammar<E>) {
    let config = &[Node::Config];
    for (pattern, help) in [
        ("log systemd-journal [raw]", "A target of the log\nThe journal: standard error\nWithout format"),
        ("log syslog .WHERE", "A target of the log\nThe system's log: standard error\nFacility"),
    ] {
        let enter = Action::Enter(Node::Log, |edit| {
            edit.warn("taken as 'log stderr': who starts the program passes that on, as systemd does to its journal.");
            Ok(open_log::<E>(edit, LogKind::Stderr))
        });
        grammar.add(config, pattern, help, enter);
    }
    let ring = "A target of the log\nA ring of lines: not here\nLines";
    let enter = Action::Enter(Node::Ignored, |edit| {
        edit.warn("taken without effect: a session shows the log, and 'log file FILENAME' keeps it.");
        Ok(String::new())
    });
    grammar.add(config, "log alarms <2-32700>", ring, enter);
    grammar.add(
        config,
        "no log (systemd-journal|syslog|alarms)",
        "Take back\nA target of the log\nThe journal: not here\nThe system's log: not here\nA ring of lines: not here",
        Action::Ignore("it was not there."),
    );
}

/// An SS7 instance with all that files have in it. Osmocom has some fifty lines there, none of which means anything here.
fn install_cs7<E: Element>(grammar: &mut Grammar<E>) {
    let instance = Action::Enter(Node::Cs7, |edit| {
        edit.warn("taken without effect: there is no SS7 and no Iu interface here.");
        Ok(String::new())
    });
    let help = "SS7: not here\nAn instance\nIts number";
    grammar.add(&[Node::Config], "cs7 instance <0-15>", help, instance);
    let within = || Action::Enter(Node::Ignored, |_| Ok(String::new()));
    let cs7 = &[Node::Cs7];
    let asp = "An ASP: not here\nIts name\nPort\nPort\nProtocol\nProtocol\nProtocol";
    grammar.add(cs7, "asp NAME <0-65535> <0-65535> (sua|m3ua|ipa)", asp, within());
    let within_as = "An AS: not here\nIts name\nProtocol\nProtocol\nProtocol";
    grammar.add(cs7, "as NAME (sua|m3ua|ipa)", within_as, within());
    grammar.add(cs7, "sccp-address NAME", "An address: not here\nIts name", within());
    grammar.add(&[Node::Ignored], "global-title", "A global title: not here", within());
    let line = "Any line that Osmocom has here";
    grammar.add(cs7, ".LINE", line, Action::Ignore("there is no SS7 and no Iu interface here."));
}

/// Sessions and threads.
fn install_sessions<E: Element>(grammar: &mut Grammar<E>) {
    let config = &[Node::Config];
    let why = "a password is not implemented; bind the VTY to an address that only operators reach.";
    for (pattern, help) in [
        ("password .PASSWORD", "A password for operators: not here\nIt"),
        ("enable password .PASSWORD", "A password for 'enable': not here\nIt\nIt"),
    ] {
        grammar.add(config, pattern, help, Action::Refuse(why));
    }
    let threads = Action::Enter(Node::CpuSched, |edit| {
        edit.warn("taken without effect: there is one thread; say 'core <0-1023>' under 'sgsn'.");
        Ok(String::new())
    });
    grammar.add(config, "cpu-sched", "Scheduling of threads: not here", threads);
    let why = "there is one thread; say 'core <0-1023>' under 'sgsn'.";
    grammar.add(&[Node::CpuSched], ".LINE", "Any line that Osmocom has here", Action::Ignore(why));
    let greeting = "a session is greeted with the name of the program.";
    let length = "a terminal tells its length, and 'terminal length' changes it in a session.";
    let begin = "a session begins in the view node.";
    for (pattern, help, why) in [
        (
            "banner motd (default|file) [FILE]",
            "A greeting: not here\nOf the day\nThe usual\nOf a file\nIts path",
            greeting,
        ),
        ("service terminal-length <0-512>", "Sessions\nLines of a page: not here\nHow many", length),
        ("service advanced-vty", "Sessions\nThey begin in the enable node: not here", begin),
        ("no enable password", "Take back\nA password for 'enable'\nIt", "there is no password."),
        ("no banner motd", "Take back\nA greeting\nOf the day", greeting),
        ("no service terminal-length [<0-512>]", "Take back\nSessions\nLines of a page\nHow many", length),
        ("no service advanced-vty", "Take back\nSessions\nThey begin in the enable node", begin),
    ] {
        grammar.add(config, pattern, help, Action::Ignore(why));
    }
}
