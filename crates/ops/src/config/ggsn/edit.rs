//! What commands of a GGSN and of its access points have in common: the place that a line changes.

use super::{ApnConfig, GgsnConfig, GgsnInstance};
use crate::Ggsn;
use crate::grammar::{Action, CommandError, Edit, Grammar, Node};
use core::fmt::Display;

pub(super) fn ggsn_here<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut GgsnInstance, CommandError> {
    let name = edit.path.first().cloned().unwrap_or_default();
    let ggsn = edit.config.ggsns.iter_mut().find(|ggsn| ggsn.name == name);
    ggsn.ok_or_else(|| CommandError(format!("ggsn {name} is gone.")))
}

pub(super) type Done = Result<(), CommandError>;
pub(super) type GgsnEdit<'a> = Edit<'a, GgsnConfig>;

pub(super) fn apn_here<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut ApnConfig, CommandError> {
    let name = edit.here().to_owned();
    let apn = ggsn_here(edit)?.apns.iter_mut().find(|apn| apn.name == name);
    apn.ok_or_else(|| CommandError(format!("apn {name} is gone.")))
}

/// An access point has one of each, so that another one takes its place.
pub(super) fn tell_of<T: Display>(edit: &mut GgsnEdit<'_>, what: &str, former: Option<T>, own: T) {
    if let Some(former) = former {
        let apn = edit.here().to_owned();
        edit.warn(format!("apn {apn} has one {what}: {own} takes the place of {former}"));
    }
}

pub(super) fn set(
    grammar: &mut Grammar<Ggsn>,
    pattern: &'static str,
    help: &str,
    set: fn(&mut GgsnEdit<'_>) -> Done,
) {
    grammar.add(&[Node::Apn], pattern, help, Action::<Ggsn>::Set(set));
}
