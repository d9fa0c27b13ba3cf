//! The grammar: finding commands, completing them, and its own consistency.

use gannet_ops::config::Element;
use gannet_ops::config::bss::BssOperation;
use gannet_ops::config::sgsn::{NsSelection, SgsnOperation, Whom};
use gannet_ops::grammar::{Action, Grammar, NoMatch, Node};
use gannet_ops::{Bss, EdgeRouter, Ggsn, Sgsn};
use gannet_wire::id::Nsapi;

fn find<E: Element>(node: Node, line: &str) -> Result<String, NoMatch> {
    let grammar = Grammar::<E>::new();
    let words: Vec<&str> = line.split_whitespace().collect();
    grammar.find(node, &words).map(|(command, _)| command.pattern().to_owned())
}

fn operation<E: Element>(line: &str) -> E::Operation {
    let grammar = Grammar::<E>::new();
    let words: Vec<&str> = line.split_whitespace().collect();
    let (command, args) = grammar.find(Node::Enable, &words).expect("a command");
    match command.action() {
        Action::Operate(parse) => parse(&args).expect("an operation"),
        other => panic!("{line} is {other:?}"),
    }
}

fn candidates(node: Node, line: &str) -> Vec<String> {
    let grammar = Grammar::<Sgsn>::new();
    let words: Vec<&str> = line.split(' ').collect();
    grammar
        .candidates(node, &words)
        .expect("a beginning")
        .into_iter()
        .map(|candidate| candidate.word)
        .collect()
}

#[test]
fn words_may_be_cut_short() {
    assert_eq!(find::<Sgsn>(Node::Enable, "sh runn").unwrap(), "show running-config");
    assert_eq!(find::<Sgsn>(Node::Enable, "conf t").unwrap(), "configure [terminal]");
    assert_eq!(find::<Sgsn>(Node::View, "en").unwrap(), "enable [expert-mode]");
    assert_eq!(find::<Sgsn>(Node::Enable, "wr").unwrap(), "write");
    assert_eq!(find::<Sgsn>(Node::Ns, "timer tns-reset 3").unwrap().split(' ').next(), Some("timer"));
}

#[test]
fn what_is_taken_back_is_no_abbreviation_of_another_command() {
    assert_eq!(find::<Sgsn>(Node::Sgsn, "no gtp local-ip"), Err(NoMatch::Unknown));
    assert_eq!(find::<Sgsn>(Node::Sgsn, "no gtp local-ipv6").unwrap(), "no gtp local-ipv6");
    assert_eq!(find::<Ggsn>(Node::Ggsn, "no gtp bind-ip"), Err(NoMatch::Unknown));
    // What is no word of another command is an abbreviation as before.
    assert_eq!(find::<Sgsn>(Node::Sgsn, "no gtp local-ipv").unwrap(), "no gtp local-ipv6");
    assert_eq!(find::<Ggsn>(Node::Ggsn, "no echo").unwrap(), "no echo-interval");
}

#[test]
fn what_is_no_command_says_why() {
    assert_eq!(find::<Sgsn>(Node::Enable, "sh xx"), Err(NoMatch::Unknown));
    assert_eq!(find::<Sgsn>(Node::Enable, "s"), Err(NoMatch::Ambiguous));
    assert_eq!(find::<Sgsn>(Node::Ns, "timer tns-res 3"), Err(NoMatch::Ambiguous));
    assert_eq!(find::<Sgsn>(Node::Enable, "show mm-context"), Err(NoMatch::Incomplete));
    assert_eq!(find::<Sgsn>(Node::Ns, "timer tns-reset 70000"), Err(NoMatch::Unknown));
    assert_eq!(find::<Sgsn>(Node::View, "show running-config"), Err(NoMatch::Unknown));
    assert_eq!(find::<Sgsn>(Node::Enable, "show why imsi 1 2"), Err(NoMatch::Unknown));
}

#[test]
fn operations_have_their_arguments() {
    let imsi = "001010000000001".parse().unwrap();
    assert_eq!(operation::<Sgsn>("show subscriber all"), SgsnOperation::ShowSubscribers(Whom::All));
    assert_eq!(operation::<Sgsn>("sh why i 001010000000001"), SgsnOperation::ShowWhy(imsi));
    assert_eq!(operation::<Sgsn>("show ns"), SgsnOperation::ShowNs { what: NsSelection::All, stats: false });
    assert_eq!(
        operation::<Sgsn>("show ns stats"),
        SgsnOperation::ShowNs { what: NsSelection::All, stats: true }
    );
    let reallocate = "subscriber reallocate-ptmsi imsi 001010000000001";
    assert_eq!(operation::<Sgsn>(reallocate), SgsnOperation::ReallocatePtmsi(imsi));
    assert_eq!(operation::<Sgsn>("subscriber inform imsi 001010000000001"), SgsnOperation::Inform(imsi));
    assert_eq!(operation::<Bss>("show mobile"), BssOperation::ShowMobiles(None));
    assert_eq!(operation::<Bss>("show mobile 3"), BssOperation::ShowMobiles(Some(3)));
    assert_eq!(operation::<Bss>("mobile 3 cell 7"), BssOperation::Reselect { mobile: 3, cell: 7 });
    let second = BssOperation::ActivateAt { mobile: 3, nsapi: Nsapi(6), apn: "a.b".parse().unwrap() };
    assert_eq!(operation::<Bss>("mobile 3 activate nsapi 6 apn a.b"), second);
    assert_eq!(operation::<Bss>("mobile 3 deactivate"), BssOperation::Deactivate { mobile: 3, nsapi: None });
}

#[test]
fn candidates_follow_the_line() {
    assert_eq!(candidates(Node::Enable, "show m"), ["mm-context"]);
    assert_eq!(candidates(Node::Sgsn, "ggsn "), ["<0-255>", "dynamic"]);
    assert_eq!(
        candidates(Node::Enable, "show ns "),
        ["stats", "binds", "entities", "persistent", "nsei", "nsvc", "<cr>"]
    );
    assert_eq!(candidates(Node::Enable, "show mm-context all "), ["pdp", "<cr>"]);
    assert!(candidates(Node::Enable, "show x").is_empty());
    assert!(candidates(Node::Enable, "").contains(&"configure".to_owned()));
}

/// Each word has its help, and no pattern stands twice in a node.
fn is_consistent<E: Element>() {
    let grammar = Grammar::<E>::new();
    for node in grammar.nodes() {
        let mut patterns: Vec<&str> = Vec::new();
        for command in grammar.commands(node) {
            let pattern = command.pattern();
            assert!(!patterns.contains(&pattern), "{}: '{pattern}' stands twice", node.name());
            patterns.push(pattern);
            let words = command.words().count();
            assert!(command.words().all(|(_, help)| !help.is_empty()), "'{pattern}' lacks help");
            assert_eq!(words, command.help_count(), "'{pattern}' has help for other words");
        }
    }
}

#[test]
fn grammars_are_consistent() {
    is_consistent::<Sgsn>();
    is_consistent::<Bss>();
    is_consistent::<Ggsn>();
    is_consistent::<EdgeRouter>();
}
