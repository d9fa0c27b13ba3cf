//! What session management does beside its timers.

use crate::Sgsn;
use crate::config::ConfigText;
use crate::grammar::{Action, Grammar, Node};

/// What session management does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sessions {
    /// Requests of mobiles with transaction identifier flag 1 are ignored, as 24.008 clause 8.3.2 c has it.
    pub strict_flag: bool,
    /// Mobiles are not asked to activate again what a GGSN has lost by its restart.
    pub no_reactivation: bool,
}

pub(super) fn write(sessions: Sessions, text: &mut ConfigText) {
    if sessions.strict_flag {
        text.line(format_args!("transaction-flag strict"));
    }
    if sessions.no_reactivation {
        text.line(format_args!("ggsn-restart network-failure"));
    }
}

pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    grammar.add(
        &[Node::Sgsn],
        "transaction-flag (lenient|strict)",
        "Activation requests of phones that set the transaction identifier flag though they begin the transaction\n\
         They are served (default)\nThey are ignored (24.008 clause 8.3.2 c)",
        Action::<Sgsn>::Set(|edit| {
            edit.config.sessions.strict_flag = edit.args.text(0) == "strict";
            Ok(())
        }),
    );
    grammar.add(
        &[Node::Sgsn],
        "ggsn-restart (reactivate|network-failure)",
        "Contexts of a GGSN that has restarted end; with which SM cause the mobiles are told\n\
         Cause 39: they activate them again (23.007), the default\nCause 38, as osmo-sgsn",
        Action::<Sgsn>::Set(|edit| {
            edit.config.sessions.no_reactivation = edit.args.text(0) == "network-failure";
            Ok(())
        }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> crate::config::sgsn::SgsnConfig {
        let text = format!("sgsn\n gtp local-ip 127.0.0.1\n {line}\n");
        crate::config::read::<Sgsn>("x", &text).unwrap().config
    }

    #[test]
    fn what_differs_from_the_default_is_written_and_taken_back() {
        assert_eq!(read("").sessions, Sessions::default());
        for (other, default) in [
            ("transaction-flag strict", "transaction-flag lenient"),
            ("ggsn-restart network-failure", "ggsn-restart reactivate"),
        ] {
            let config = read(other);
            assert_ne!(config.sessions, Sessions::default());
            let written = crate::config::write::<Sgsn>(&config);
            assert!(written.contains(&format!("\n {other}\n")), "{written}");
            assert_eq!(read(&format!("{other}\n {default}")).sessions, Sessions::default());
        }
    }
}
