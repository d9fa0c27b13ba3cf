//! What a session says of the configuration as a whole: what it lacks, and how it is written and shown.

use super::super::Operator;
use crate::config::Element;
use crate::config::write;
use crate::grammar::secrets::masked;
use crate::grammar::{Args, CommandError, Node, Problem};
use core::fmt::Write as _;
use std::path::Path;

/// What a node of the configuration that is left still lacks.
pub(super) fn lacking<E: Element>(config: &E::Config, node: Node, out: &mut String) {
    let of_node = |problem: &Problem| problem.is_incomplete && problem.node == Some(node);
    for Problem { text, .. } in E::problems(config).into_iter().filter(of_node) {
        let _ = writeln!(out, "Note: {text}");
    }
}

/// Writes the configuration in force, if it would load, or although it would not.
pub(super) fn save<E: Element>(
    args: &Args,
    forced: bool,
    operator: &mut dyn Operator<E>,
    out: &mut String,
) -> Result<(), CommandError> {
    let text = write::<E>(operator.config());
    let would_load = would_load::<E>(operator, &text);
    if let Err(CommandError(why)) = &would_load
        && !forced
    {
        return Err(CommandError(format!(
            "Nothing was written, since it would not load:\n{why}\n'write file force' writes it nevertheless."
        )));
    }
    let (path, kept) = operator.save(args.get(0).map(Path::new), &text)?;
    let _ = writeln!(out, "Configuration saved to {}", path.display());
    if let Some(kept) = kept {
        let _ = writeln!(out, "The former one is kept in {}", kept.display());
    }
    if let Err(CommandError(why)) = would_load {
        let _ = writeln!(out, "It will not load:\n{why}");
    }
    Ok(())
}

/// Whether a node would start with this text.
fn would_load<E: Element>(operator: &dyn Operator<E>, text: &str) -> Result<(), CommandError> {
    let loaded = crate::config::read::<E>("line", text).map_err(|errors| CommandError(errors.to_string()))?;
    if loaded.config != *operator.config() {
        return Err(CommandError::new("what is read again is another configuration than that in force"));
    }
    operator.would_start(&loaded.config)
}

/// The file that the node was started with.
pub(super) fn startup_config<E: Element>(
    operator: &dyn Operator<E>,
    out: &mut String,
) -> Result<(), CommandError> {
    let file = operator.config_file().ok_or_else(|| CommandError::new("No configuration file was read."))?;
    let octets = std::fs::read(file).map_err(|error| {
        CommandError(format!("Can't open configuration file {}: {error}", file.display()))
    })?;
    out.push_str(&masked(&String::from_utf8_lossy(&octets)));
    Ok(())
}
