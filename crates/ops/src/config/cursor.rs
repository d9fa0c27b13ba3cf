//! Where one stands in a configuration, and how a line changes it. Files and sessions share this.

use crate::config::Element;
use crate::grammar::{Action, Args, CommandError, Edit, Node};

/// The nodes that one has entered below the root of the configuration, with the names of their objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    nodes: Vec<Node>,
    names: Vec<String>,
}

impl Cursor {
    /// The node one stands in.
    pub(crate) fn node(&self) -> Node {
        self.nodes.last().copied().unwrap_or(Node::Config)
    }

    /// How many nodes were entered.
    pub(crate) fn depth(&self) -> usize {
        self.nodes.len()
    }

    /// One node up; false at the root.
    pub(crate) fn up(&mut self) -> bool {
        self.names.pop();
        self.nodes.pop().is_some()
    }
}

/// What a line did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It changed the configuration or was taken without effect.
    Done,
    /// It entered a node.
    Entered,
    /// It is not for the configuration.
    Other,
}

/// Does a command of a configuration node.
///
/// # Errors
/// Why the command is refused. The configuration may then be half changed: work on a copy.
pub(crate) fn change<E: Element>(
    action: &Action<E>,
    args: &Args,
    config: &mut E::Config,
    cursor: &mut Cursor,
    warnings: &mut Vec<String>,
) -> Result<Outcome, CommandError> {
    let mut edit = Edit { config, args, path: &cursor.names, warnings };
    match action {
        Action::Set(set) => set(&mut edit).map(|()| Outcome::Done),
        Action::Enter(node, enter) => {
            let name = enter(&mut edit)?;
            cursor.nodes.push(*node);
            cursor.names.push(name);
            Ok(Outcome::Entered)
        }
        Action::Ignore(why) => {
            warnings.push(format!("taken without effect: {why}"));
            Ok(Outcome::Done)
        }
        Action::Refuse(why) => Err(CommandError((*why).to_owned())),
        Action::Session(_) | Action::Show(_) | Action::Statistics(_) | Action::Operate(_) => {
            Ok(Outcome::Other)
        }
    }
}
