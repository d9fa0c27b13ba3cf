//! Which differentiated services code points the G-PDUs to mobiles have.

use super::edit::ggsn_here;
use crate::Ggsn;
use crate::config::ConfigText;
use crate::grammar::{Action, Grammar, Node};

/// Code points by the traffic class of a PDP context, 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodePoints {
    /// Of the conversational class.
    pub conversational: u8,
    /// Of the streaming class.
    pub streaming: u8,
    /// Of the interactive class.
    pub interactive: u8,
    /// Of the background class.
    pub background: u8,
}

impl CodePoints {
    /// The one of a class, by the word of the configuration.
    fn of(&mut self, class: &str) -> &mut u8 {
        match class {
            "conversational" => &mut self.conversational,
            "streaming" => &mut self.streaming,
            "interactive" => &mut self.interactive,
            _ => &mut self.background,
        }
    }

    /// Writes those that are not 0.
    pub(super) fn write(&self, text: &mut ConfigText) {
        for (class, dscp) in [
            ("conversational", self.conversational),
            ("streaming", self.streaming),
            ("interactive", self.interactive),
            ("background", self.background),
        ] {
            if dscp != 0 {
                text.line(format_args!("gtpu-dscp {class} {dscp}"));
            }
        }
    }
}

/// Its commands.
pub(super) fn install(grammar: &mut Grammar<Ggsn>) {
    let help = "DSCP of G-PDUs to mobiles, by the traffic class of the PDP context\nConversational class\nStreaming class\n\
                Interactive class, and R97 with delay class 1 to 3\nBackground class, and all others";
    grammar.add(
        &[Node::Ggsn],
        "gtpu-dscp (conversational|streaming|interactive|background) <0-63>",
        &format!("{help}\nThe value, 0 by default"),
        Action::<Ggsn>::Set(|edit| {
            let (class, dscp) = (edit.args.text(0).to_owned(), edit.args.value(1)?);
            ggsn_here(edit).map(|ggsn| *ggsn.code_points.of(&class) = dscp)
        }),
    );
    grammar.add(
        &[Node::Ggsn],
        "no gtpu-dscp (conversational|streaming|interactive|background)",
        &format!("Take back\n{help}"),
        Action::<Ggsn>::Set(|edit| {
            let class = edit.args.text(0).to_owned();
            ggsn_here(edit).map(|ggsn| *ggsn.code_points.of(&class) = 0)
        }),
    );
}
