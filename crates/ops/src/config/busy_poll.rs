//! Whether a process polls instead of sleeping. Every element has the word, under the node of its own name; the loop of a process
//! with several elements is as the most eager of them has it.

use super::ConfigText;
use crate::config::Element;
use crate::grammar::{Action, Grammar, Node};

/// Whether the process polls instead of sleeping. In the order of how eager it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BusyPoll {
    /// It sleeps, and interrupts wake it.
    Off,
    /// For a millisecond after each packet.
    Adaptive,
    /// Always; the core is busy all the time.
    Always,
}

impl BusyPoll {
    const ALL: [Self; 3] = [Self::Off, Self::Adaptive, Self::Always];

    /// As it is written.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Adaptive => "adaptive",
            Self::Always => "always",
        }
    }

    /// That of an element, as configured.
    #[must_use]
    pub fn of<E: Element>(config: &E::Config) -> Self {
        E::common(config).busy_poll.unwrap_or(E::BUSY_POLL)
    }
}

/// The command, in this node.
pub(crate) fn install<E: Element>(grammar: &mut Grammar<E>, node: Node) {
    let help = "The process polls instead of sleeping\nNever\nFor a millisecond after each packet\nAlways, which keeps a core busy";
    let set = Action::<E>::Set(|edit| {
        let text = edit.args.text(0);
        let mode = BusyPoll::ALL.into_iter().find(|mode| mode.word() == text);
        E::common_mut(edit.config).busy_poll = mode.filter(|mode| *mode != E::BUSY_POLL);
        Ok(())
    });
    grammar.add(&[node], "busy-poll (off|adaptive|always)", help, set);
}

/// Writes what differs from the element's default.
pub(crate) fn write(busy_poll: Option<BusyPoll>, text: &mut ConfigText) {
    if let Some(mode) = busy_poll {
        text.line(format_args!("busy-poll {}", mode.word()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::{AccessPoint, Bss, EdgeRouter, Ggsn, MobileStation, Sgsn};

    /// `head` is read, with the word or without, written and read again.
    fn try_in<E: Element>(head: &str, default: BusyPoll) {
        let read =
            |text: &str| config::read::<E>("x", text).unwrap_or_else(|errors| panic!("{errors}")).config;
        assert_eq!(BusyPoll::of::<E>(&read(head)), default, "{}", E::NAME);
        for mode in BusyPoll::ALL {
            let line = format!(" busy-poll {}\n", mode.word());
            let config = read(&format!("{head}{line}"));
            assert_eq!(BusyPoll::of::<E>(&config), mode, "{}", E::NAME);
            let written = config::write::<E>(&config);
            assert_eq!(written.matches(line.as_str()).count(), usize::from(mode != default), "{written}");
            assert_eq!(BusyPoll::of::<E>(&read(&written)), mode, "{written}");
        }
    }

    #[test]
    fn every_element_has_the_word_and_an_sgsn_polls_without_it() {
        use BusyPoll::{Adaptive, Off};
        try_in::<Sgsn>("sgsn\n gtp local-ip 127.0.0.1\n", Adaptive);
        try_in::<Ggsn>("ggsn a\n gtp bind-ip 127.0.0.2\nggsn b\n gtp bind-ip 127.0.0.3\n", Off);
        let gb = " remote-ip 192.0.2.7\n local-ip 192.0.2.2\n";
        try_in::<Bss>(&format!("bss\n{gb}"), Off);
        try_in::<AccessPoint>(&format!("ap\n{gb} bearer ethernet a\n"), Off);
        try_in::<MobileStation>("ms\n bearer ethernet a\n", Off);
        try_in::<EdgeRouter>("edge\n interface a\n interface b\nedge\n", Off);
    }

    #[test]
    fn the_word_alone_is_written_for_an_edge_router() {
        let mut config = config::edge::EdgeConfig::default();
        config.common.busy_poll = Some(BusyPoll::Adaptive);
        let written = config::write::<EdgeRouter>(&config);
        assert!(written.contains("edge\n busy-poll adaptive\n"), "{written}");
    }
}
