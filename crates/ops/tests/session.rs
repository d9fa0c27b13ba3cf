//! Telnet sessions: what an operator sees, and what strangers cannot do.

mod common;

use common::Node;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use gannet_ops::config::bss::{BssConfig, BssOperation};
use gannet_ops::config::sgsn::SgsnOperation;
use gannet_ops::grammar::{CommandError, Grammar};
use gannet_ops::vty::session::{Host, LogLine, OUTPUT_MAX};
use gannet_ops::vty::{Operator, Session, Statistics};
use gannet_ops::{Bss, Ggsn, Sgsn, config};
use gannet_testkit::TempDir;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

struct Terminal {
    grammar: Grammar<Sgsn>,
    node: Node,
    session: Session<Sgsn>,
}

impl Terminal {
    fn new(node: Node) -> Self {
        let session = Session::new(&node);
        let mut terminal = Self { grammar: Grammar::new(), node, session };
        terminal.shown();
        terminal
    }

    /// Types and gives what the terminal shows, without carriage returns.
    fn types(&mut self, text: &str) -> String {
        let sessions = ["vty[1] 127.0.0.1:5".to_owned()];
        let mut host = Host { grammar: &self.grammar, operator: &mut self.node, sessions: &sessions };
        let mut rest = text.as_bytes();
        while !rest.is_empty() && !self.session.is_closed() {
            let taken = self.session.input(rest, &mut host);
            rest = rest.get(taken..).unwrap_or_default();
            if taken == 0 {
                break;
            }
        }
        self.shown()
    }

    fn shown(&mut self) -> String {
        let octets = std::mem::take(self.session.output());
        String::from_utf8_lossy(&octets).replace('\r', "")
    }
}

#[test]
fn a_session_greets_and_prompts() {
    let node = Node::default();
    let octets = std::mem::take(Session::<Sgsn>::new(&node).output());
    let text = String::from_utf8_lossy(&octets).into_owned();
    assert!(text.starts_with("Welcome to the Gannet SGSN terminal\r\n"));
    assert!(text.ends_with("GannetSGSN> "));
    assert!(octets.windows(3).any(|window| window == [255, 251, 1]), "WILL ECHO");
}

#[test]
fn a_file_can_be_pasted_in_the_order_in_which_it_is_written() {
    let mut terminal = Terminal::new(Node::default());
    terminal.types("en\r\nconf t\r\nsgsn\r\n");
    let note = "Note: 'auth-policy remote' asks an HLR: add 'gsup remote-ip A.B.C.D' under 'sgsn'\n";
    let shown = terminal.types("auth-policy remote\r\n");
    assert_eq!(shown, format!("auth-policy remote\n{note}GannetSGSN(config-sgsn)# "));
    // Who leaves the node without it is reminded, and no file is written that would not load.
    assert!(terminal.types("exit\r\n").contains(note));
    let shown = terminal.types("do write file\r\n");
    assert!(shown.contains("% Nothing was written") && shown.contains("asks an HLR"), "{shown}");
    let shown = terminal.types("sgsn\r\ngsup remote-ip 127.0.0.9\r\nexit\r\n");
    assert!(!shown.contains("asks an HLR") && !shown.contains('%'), "{shown}");
    // What 'write' gives has it before the policy.
    let mut terminal = Terminal::new(Node::default());
    let shown = terminal.types(
        "en\r\nconf t\r\nsgsn\r\ngsup remote-ip 127.0.0.9\r\nauthentication required\r\nauth-policy remote\r\nexit\r\n",
    );
    assert!(shown.contains("Note: 'authentication required'") && !shown.contains('%'), "{shown}");
    assert!(!shown.contains("'auth-policy remote' asks"), "{shown}");
}

#[test]
fn prompts_of_osmo_sgsn() {
    // A script that waits for osmo-sgsn's prompt has it, in each node that osmo-sgsn has.
    let mut terminal = Terminal::new(Node::default());
    terminal.types("en\r\nconf t\r\nhostname OsmoSGSN\r\n");
    for (lines, node) in [
        ("sgsn", "config-sgsn"),
        ("sgsn\r\nmme m", "config-sgsn-mme"),
        ("ns", "config-ns"),
        ("ns\r\nbind udp local", "config-ns-bind"),
        ("ns\r\nnse 777", "config-ns-nse"),
        ("bssgp", "config-bssgp"),
        ("line vty", "config-line"),
        ("ctrl", "config-ctrl"),
        ("log stderr", "config-log"),
        ("log file x.log", "config-log"),
        ("log gsmtap", "config-log"),
        ("stats reporter statsd", "config-stats"),
        ("stats reporter log", "config-stats"),
        ("cpu-sched", "config-cpu-sched"),
        ("cs7 instance 0", "config-cs7"),
    ] {
        let shown = terminal.types(&format!("{lines}\r\n"));
        assert!(shown.ends_with(&format!("\nOsmoSGSN({node})# ")), "{shown}");
        assert!(terminal.types("end\r\n").ends_with("\nOsmoSGSN# "));
        assert!(terminal.types("conf t\r\n").ends_with("\nOsmoSGSN(config)# "));
    }
    assert!(terminal.types("end\r\ndisable\r\n").ends_with("\nOsmoSGSN> "));
}

#[test]
fn nodes_have_their_prompts() {
    let mut terminal = Terminal::new(Node::default());
    assert_eq!(terminal.types("en\r\n"), "en\nGannetSGSN# ");
    assert_eq!(terminal.types("conf t\r\n"), "conf t\nGannetSGSN(config)# ");
    assert_eq!(terminal.types("hostname Kiel\r\n"), "hostname Kiel\nKiel(config)# ");
    assert_eq!(terminal.types("ns\r\n"), "ns\nKiel(config-ns)# ");
    assert_eq!(terminal.types("bind udp a\r\n"), "bind udp a\nKiel(config-ns-bind)# ");
    let lacks = "Note: bind udp a needs a line 'listen A.B.C.D <1-65535>'";
    assert_eq!(terminal.types("exit\r\n"), format!("exit\n{lacks}\nKiel(config-ns)# "));
    assert_eq!(terminal.types("end\r\n"), "end\nKiel# ");
    assert_eq!(terminal.types("disable\r\n"), "disable\nKiel> ");
    assert_eq!(terminal.types("exit\r\n"), "exit\n");
    assert!(terminal.session.is_closed());
}

#[test]
fn errors_are_osmocoms() {
    let mut terminal = Terminal::new(Node::default());
    assert_eq!(terminal.types("xyz\r\n"), "xyz\n% Unknown command.\nGannetSGSN> ");
    assert_eq!(terminal.types("s\r\n"), "s\n% Command incomplete.\nGannetSGSN> ");
    let shown = terminal.types("terminal length 513\r\n");
    let wrong = "% Unknown command. '513' must be a number from 0 to 512.";
    assert_eq!(shown, format!("terminal length 513\n{wrong}\nGannetSGSN> "));
    assert_eq!(terminal.types("show s\r\n"), "show s\n% Ambiguous command.\nGannetSGSN> ");
    assert_eq!(terminal.types("show mm-context\r\n"), "show mm-context\n% Command incomplete.\nGannetSGSN> ");
    assert_eq!(
        terminal.types("show why imsi 001010000000001\r\n"),
        "show why imsi 001010000000001\n% IMSI 001010000000001 is unknown.\nGannetSGSN> "
    );
    assert!(terminal.types("show why imsi x\r\n").contains("% 'x' is no IMSI: up to 15 digits.\n"));
}

#[test]
fn questions_and_tabs_keep_the_line() {
    let mut terminal = Terminal::new(Node::default());
    let shown = terminal.types("show mm-context ?");
    assert_eq!(shown, "show mm-context \n  all   All\n  imsi  By IMSI\nGannetSGSN> show mm-context ");
    assert_eq!(terminal.types("a\t"), "all ");
    assert_eq!(
        terminal.types("?"),
        "\n  pdp   With their PDP contexts\n  <cr>\nGannetSGSN> show mm-context all "
    );
    terminal.types("\r\n");
    let asked = terminal.node.asked.last().unwrap();
    assert!(matches!(asked, SgsnOperation::ShowMmContexts { pdp: false, .. }));
    assert!(terminal.types("show zz?").contains("% There is no matched command.\n"));
    terminal.types("\x15");
    assert_eq!(
        terminal.types("show s\t"),
        "show s\nstats  subscriber  sndcp  sgsn  scheduler  store\nGannetSGSN> show s"
    );
}

#[test]
fn configuring_changes_the_node_or_says_why_not() {
    let mut terminal = Terminal::new(Node::default());
    terminal.types("enable\r\nconfigure terminal\r\nsgsn\r\n");
    assert_eq!(terminal.types("timer t3350 7\r\n"), "timer t3350 7\nGannetSGSN(config-sgsn)# ");
    assert!(terminal.types("do show timer T3350\r\n").contains("T3350 = 7 s"));
    assert!(terminal.types("max-mobiles 5\r\n").contains("It holds from the next start on.\n"));
    let refused = terminal.types("gtp local-ip 10.0.0.1\r\n");
    assert!(refused.contains("% The address of GTP cannot change while the node runs.\n"));
    assert_eq!(terminal.node.config.gtp_local_ip, None);
    assert!(terminal.types("do exit\r\n").contains("% It would leave this node.\n"));
    assert!(terminal.types("ggsn dynamic\r\n").contains("% GGSNs are not looked up by DNS"));
    let ignored = terminal.types("mme X\r\n");
    assert!(
        ignored.contains("taken without effect") && ignored.ends_with("GannetSGSN(config-sgsn-mme)# "),
        "{ignored}"
    );
    terminal.types("exit\r\n");
    terminal.types("compression rfc1144 passive\r\n");
    let shown = terminal.types("show running-config\r\n");
    assert!(shown.contains("\nCurrent configuration:\n!\n"));
    assert!(shown.contains("\n timer T3350 7\n"));
    assert!(shown.contains("\n compression rfc1144 passive\n no compression v42bis\n"), "{shown}");
    assert!(shown.contains("\nend\nGannetSGSN(config-sgsn)# "));
    let shown = terminal.types("write file /tmp/x.cfg\r\n");
    assert!(shown.contains("% Nothing was written, since it would not load:\n"), "{shown}");
    assert!(shown.contains(": the SGSN has no address") && terminal.node.saved.is_empty(), "{shown}");
    let shown = terminal.types("write file force /tmp/x.cfg\r\n");
    assert!(shown.contains("Configuration saved to /tmp/x.cfg\nIt will not load:\n"), "{shown}");
    assert!(terminal.node.saved[0].contains(" timer T3350 7\n"));
}

#[test]
fn long_answers_come_in_pages() {
    let answer: String = (1..=9).map(|number| format!("line {number}\n")).collect();
    let mut terminal = Terminal::new(Node { answer, ..Node::default() });
    assert!(
        terminal.types("show stats\r\n").ends_with("line 9\nGannetSGSN> "),
        "no pages until the window is known"
    );
    terminal.types("terminal length 4\r\n");
    assert!(terminal.types("show stats\r\n").ends_with("line 1\nline 2\nline 3\n --More-- "));
    assert!(terminal.types("\r\n").contains("line 4\n --More-- "));
    assert!(terminal.types(" ").contains("line 5\nline 6\nline 7\n --More-- "));
    assert!(terminal.types("q").ends_with("GannetSGSN> "));
    terminal.types("terminal length 0\r\n");
    assert!(terminal.types("show stats\r\n").ends_with("line 9\nGannetSGSN> "));
}

#[test]
fn the_log_shows_what_was_asked_for() {
    let mut terminal = Terminal::new(Node::default());
    let line =
        |text, level| LogLine { category: Category::Ns, level, at: Instant(1_500_000_000), date: None, text };
    terminal.types(
        "logging enable\r\nlogging filter all 1\r\nlogging level lns error\r\nlogging timestamp 1\r\n",
    );
    terminal.session.log_line(&line("quiet", Level::Notice), &terminal.node);
    terminal.session.log_line(&line("two\nlines\x1b[2J", Level::Error), &terminal.node);
    let shown = terminal.shown();
    assert_eq!(shown, "\u{1b}[K1.500000 ns two lines.[2J\nGannetSGSN> ");
    terminal.types("logging disable\r\n");
    terminal.session.log_line(&line("gone", Level::Fatal), &terminal.node);
    assert_eq!(terminal.shown(), "");
}

#[test]
fn what_peers_chose_cannot_control_the_terminal() {
    let answer = "APN \x1b]0;owned\x07\u{9b}2J\n".to_owned();
    let mut terminal = Terminal::new(Node { answer, ..Node::default() });
    assert!(terminal.types("show stats\r\n").contains("APN .]0;owned..2J\n"));
}

#[test]
fn output_is_bounded_by_what_is_read() {
    let mut terminal = Terminal::new(Node::default());
    let node = &mut terminal.node;
    let mut host = Host { grammar: &terminal.grammar, operator: node, sessions: &[] };
    let flood = "list\r\n".repeat(10_000);
    let taken = terminal.session.input(flood.as_bytes(), &mut host);
    assert!(taken < flood.len());
    assert!(terminal.session.output().len() < 2 * OUTPUT_MAX);
    assert_eq!(terminal.session.input(b"x", &mut host), 0, "nothing more until it is read");
    terminal.session.output().clear();
    assert!(terminal.session.input(b"x", &mut host) > 0);
}

/// Octets that mean something, among others.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "enable\r",
        "configure terminal\r",
        "sgsn\r",
        "ns\r",
        "bind udp a\r",
        "exit\r\n",
        "show ",
        "?",
        "\t",
        " ",
        "\x1b[A",
        "\x1b[D",
        "\x15",
        "\x0b",
        "\x17",
        "\x01",
        "timer ",
        "tns",
        "<",
        "0",
        "255",
        "do ",
        "list\r",
        "show running-config\r",
        "terminal length 2\r",
        "logging level ",
        "\r\n",
    ])
    .prop_map(|word| word.as_bytes().to_vec());
    let noise = prop::collection::vec(any::<u8>(), 0..8);
    prop::collection::vec(prop_oneof![3 => word, 1 => noise], 0..40).prop_map(|parts| parts.concat())
}

/// Lines that mean something, among others.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "sgsn",
        " gtp local-ip 1.2.3.4",
        "ns",
        " bind udp a",
        "  listen 1.2.3.4 5",
        " nse 3",
        "bssgp",
        "log stderr",
        " logging level set-all debug",
        "line vty",
        " no login",
        "bss",
        " cells 65000",
        " bvci-base 65000",
        "ggsn a",
        " gtp bind-ip 1.2.3.4",
        " apn x",
        "  ip prefix dynamic 1.2.3.4/30",
        " default-apn x",
        "!",
        "",
        "end",
        "   deep",
        "sgsn x y z",
        "\u{e9}\u{4e2d}",
        " timer t3350 default",
        " qos precedence 9",
    ])
    .prop_map(str::to_owned);
    let noise = "\\PC{0,20}";
    prop::collection::vec(prop_oneof![4 => line, 1 => noise], 0..30).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_octets_harm_a_session(parts in prop::collection::vec(octets(), 1..4)) {
        let mut terminal = Terminal::new(Node::default());
        for part in parts {
            let mut host = Host { grammar: &terminal.grammar, operator: &mut terminal.node, sessions: &[] };
            let taken = terminal.session.input(&part, &mut host);
            prop_assert!(taken <= part.len());
            terminal.shown();
        }
    }

    #[test]
    fn no_text_harms_the_reader(text in text()) {
        let _ = config::read::<Sgsn>("x", &text);
        let _ = config::read::<Bss>("x", &text);
        let _ = config::read::<Ggsn>("x", &text);
    }

    #[test]
    fn what_was_read_is_written_and_read_again(text in text()) {
        if let Ok(loaded) = config::read::<Sgsn>("x", &text) {
            let written = config::write::<Sgsn>(&loaded.config);
            let again = config::read::<Sgsn>("y", &written).map(|loaded| loaded.config);
            prop_assert_eq!(again.ok(), Some(loaded.config));
        }
        if let Ok(loaded) = config::read::<Bss>("x", &text) {
            let written = config::write::<Bss>(&loaded.config);
            prop_assert_eq!(config::read::<Bss>("y", &written).map(|loaded| loaded.config).ok(), Some(loaded.config));
        }
        if let Ok(loaded) = config::read::<Ggsn>("x", &text) {
            let written = config::write::<Ggsn>(&loaded.config);
            prop_assert_eq!(config::read::<Ggsn>("y", &written).map(|loaded| loaded.config).ok(), Some(loaded.config));
        }
    }
}

#[test]
fn osmocoms_own_commands() {
    let mut terminal = Terminal::new(Node::default());
    let answer = terminal.types("show uptime\r\n");
    assert!(answer.contains("Gannet SGSN has been running for 2d 3h 4m 5s\n"), "{answer}");
    assert!(terminal.types("show pid\r\n").contains(&format!("\n{}\n", std::process::id())));
    assert!(terminal.types("show online-help\r\n").contains("docs/vty.md"));
    terminal.types("enable expert-mode\r\n");
    assert!(terminal.types("list with-flags\r\n").contains("\n  . show pid\n"));
    assert!(terminal.types("show startup-config\r\n").contains("% No configuration file was read."));
    terminal.types("logp mm error two words\r\nlogp rim notice nobody's\r\n");
    assert_eq!(terminal.node.said, ["mm Error two words", "main Notice nobody's"]);
    // The log of the session, under Osmocom's other name, and forced.
    terminal.types("terminal monitor\r\nlogging filter all 1\r\n");
    assert!(
        terminal.session.shows(Category::Mm, Level::Notice)
            && !terminal.session.shows(Category::Mm, Level::Info)
    );
    terminal.types("logging level force-all debug\r\nlogging level mm error\r\n");
    assert!(terminal.session.shows(Category::Mm, Level::Debug));
    terminal.types("no logging level force-all\r\n");
    assert!(!terminal.session.shows(Category::Mm, Level::Notice));
    terminal.types("terminal no monitor\r\n");
    assert!(!terminal.session.shows(Category::Mm, Level::Fatal));
    terminal.types("configure terminal\r\nsgsn\r\n");
    assert!(terminal.types("list with-flags\r\n").contains("\n  ! gtp local-ip A.B.C.D\n"));
    let timers = terminal.types("timer\r\n");
    assert!(timers.contains("T3312 = 600 s") && timers.contains("T3316 = 44 s"), "{timers}");
    terminal.types("timer T3312 700\r\n");
    assert!(terminal.types("timer T3312\r\n").contains("T3312 = 700 s"));
    terminal.types("timer T3312 default\r\n");
    assert!(terminal.types("show timer T3312\r\n").contains("T3312 = 600 s"));
}

#[test]
fn subscribers_are_changed_in_osmocoms_words() {
    use gannet_ops::config::sgsn::{LocationAnswer, Update};
    let mut terminal = Terminal::new(Node::default());
    terminal.types("enable\r\n");
    let imsi = "001010000000001".parse().unwrap();
    for (words, update) in [
        ("destroy", Update::Destroy),
        ("cancel update-procedure", Update::CancelUpdate),
        ("cancel subscription-withdraw", Update::CancelWithdraw),
        ("update-location-result ok", Update::LocationResult(LocationAnswer::Ok)),
        (
            "update-location-result roaming-not-allowed",
            Update::LocationResult(LocationAnswer::RoamingNotAllowed),
        ),
        ("update-auth-info", Update::AuthInfo),
    ] {
        terminal.types(&format!("update-subscriber imsi 001010000000001 {words}\r\n"));
        let asked = SgsnOperation::UpdateSubscriber { imsi, update };
        assert_eq!(terminal.node.asked.pop(), Some(asked), "{words}");
    }
    terminal.types("reset sgsn state\r\n");
    assert_eq!(terminal.node.asked.pop(), Some(SgsnOperation::ResetState));
    let triplet = "insert auth-triplet 1 sres 00112233 rand 00 kc 0011223344556677";
    let refused = terminal.types(&format!("update-subscriber imsi 001010000000001 {triplet}\r\n"));
    assert!(refused.contains("% keys come from the HLR alone"), "{refused}");
    assert!(terminal.node.asked.is_empty());
}

/// An emulator of a BSS that has nothing but its configuration.
struct Emulator {
    config: BssConfig,
    file: PathBuf,
}

impl Operator<Bss> for Emulator {
    fn config(&self) -> &BssConfig {
        &self.config
    }

    fn reconfigure(&mut self, new: BssConfig, _: &mut String) -> Result<(), CommandError> {
        self.config = new;
        Ok(())
    }

    fn statistics(&mut self, _: Statistics, _: &mut String) -> Result<(), CommandError> {
        Ok(())
    }

    fn execute(&mut self, _: &BssOperation, _: &mut String) -> Result<(), CommandError> {
        Ok(())
    }

    fn uptime(&self) -> Duration {
        Duration(0)
    }

    fn say(&mut self, _: Category, _: Level, _: &str) {}

    fn config_file(&self) -> Option<&Path> {
        Some(&self.file)
    }
}

/// Keys of cards go into the file, and to nobody who looks on.
#[test]
fn keys_of_cards_are_shown_to_nobody() {
    let (ki, k, opc) = (
        "000102030405060708090a0b0c0d0e0f",
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "cd63cb71954a9f4e48a5994e37a02baf",
    );
    let directory = TempDir::new("gannet-session-keys");
    let file = directory.path().join("bss.cfg");
    std::fs::write(&file, format!("bss\n sim comp128v1 ki {}\n", ki.to_uppercase())).unwrap();
    let mut node = Emulator { config: BssConfig::default(), file: file.clone() };
    let grammar = Grammar::<Bss>::new();
    let mut session = Session::<Bss>::new(&node);
    let mut types = |text: &str| {
        let mut host = Host { grammar: &grammar, operator: &mut node, sessions: &[] };
        assert_eq!(session.input(text.as_bytes(), &mut host), text.len());
        String::from_utf8_lossy(&std::mem::take(session.output())).to_lowercase()
    };
    let told = |shown: &str| [ki, k, opc].iter().any(|key| shown.contains(key));
    let shown = types("enable\r\nshow startup-config\r\n");
    assert!(shown.contains(" sim comp128v1 ki (hidden)\r\n") && !told(&shown), "{shown}");
    types(&format!("configure terminal\r\nbss\r\nusim milenage k {k} opc {opc}\r\n"));
    for command in ["show running-config", "write terminal", "do show running-config"] {
        let shown = types(&format!("{command}\r\n"));
        assert!(shown.contains(" usim milenage k (hidden) opc (hidden)\r\n") && !told(&shown), "{shown}");
    }
    // Nor is it there again at the arrow keys.
    let shown = types("do show history\r\n\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A\x15");
    assert!(shown.contains("  configure terminal\r\n") && !told(&shown), "{shown}");
    types("write file\r\n");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains(&format!(" usim milenage k {k} opc {opc}\n")), "{written}");
}
