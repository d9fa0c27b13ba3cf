//! What session management does beside its timers.

use crate::Sgsn;
use crate::config::ConfigText;
use crate::vty::{Action, Grammar, Node};

/// What session management does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sessions {
    /// Requests of mobiles with transaction identifier flag 1 are ignored, as 24.008 clause 8.3.2 c has it.
    pub strict_flag: bool,
}

pub(super) fn write(sessions: Sessions, text: &mut ConfigText) {
    if sessions.strict_flag {
        text.line(format_args!("transaction-flag strict"));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_taken_as_it_comes_where_nobody_wants_otherwise() {
        let read = |line: &str| {
            let text = format!("sgsn\n gtp local-ip 127.0.0.1\n {line}\n");
            crate::config::read::<Sgsn>("x", &text).unwrap().config
        };
        assert_eq!(read("").sessions, Sessions::default());
        let strict = read("transaction-flag strict");
        assert!(strict.sessions.strict_flag);
        let written = crate::config::write::<Sgsn>(&strict);
        assert!(written.contains("\n transaction-flag strict\n"), "{written}");
        assert!(!read("transaction-flag strict\n transaction-flag lenient").sessions.strict_flag);
    }
}
