//! What a configuration of the edge router means, and how a changed one is taken over.

use crate::node::streams::{self, Names};
use gannet_machine::time::Instant;
use gannet_node::edge::{Edge, EdgeConfig};
use gannet_node::streams::RuleBase;
use gannet_ops::config::edge as ops;
use gannet_ops::config::streams::Rule;
use gannet_ops::grammar::CommandError;
use gannet_rt::{Access, MachineId};

/// Streams at most, best effort included, over the life of a process.
const STREAMS_MAX: u32 = 4096;
/// Frames besides those that wait: what is received and sent in one turn, and what waits for its next hop.
const FRAMES_BESIDES: usize = 1024;
/// Most frames that a router has: 128 MiB of them.
const FRAMES_MAX: usize = 65_536;
/// A router, ready to be built.
#[derive(Debug)]
pub struct Plan {
    pub(super) config: EdgeConfig,
    pub(super) names: Names,
    pub(super) frames: usize,
    pub(super) user_plane: ops::UserPlane,
}

/// What a configuration means.
pub fn plan(config: &ops::EdgeConfig, remarks: &mut Vec<String>) -> Result<Plan, String> {
    let mut names = Names::at_most(STREAMS_MAX);
    let mut frames = FRAMES_BESIDES;
    let mut interfaces = Vec::new();
    for of in &config.interfaces {
        interfaces.push(streams::way_out(&of.name, &of.line, &mut names)?);
        frames += streams::frames(&of.line);
        if of.line.rate_kbps.is_none() && !of.line.streams.is_empty() {
            remarks.push(format!("interface {} has no rate: its streams mean nothing", of.name));
        }
    }
    let rules = rules(config, &mut names)?;
    let (flows, user_plane) = (config.flows as usize, config.user_plane);
    let config = EdgeConfig { interfaces, rules, flows, seed: 0 };
    // The router has the last word about its interfaces.
    Edge::new(Instant::ZERO, config.clone()).map_err(|(at, error)| {
        let name = config.interfaces.get(at).map_or("", |interface| &interface.name);
        format!("interface {name}: {}", streams::describe(&error, &names))
    })?;
    Ok(Plan { config, names, frames: frames.min(FRAMES_MAX), user_plane })
}

fn rules(config: &ops::EdgeConfig, names: &mut Names) -> Result<RuleBase, String> {
    streams::rules(&config.rules, names, |_, name| {
        config.interfaces.iter().position(|interface| interface.name == name)
    })
}

/// Takes a changed configuration: rules, lines and streams hold at once.
///
/// # Errors
/// Why an interface cannot be as configured; those before it are.
pub fn reconfigure(
    (machine, names): (MachineId<Edge>, &mut Names),
    (old, new): (&ops::EdgeConfig, &ops::EdgeConfig),
    access: &mut Access<'_>,
    out: &mut String,
) -> Result<(), CommandError> {
    if later(old, new) {
        out.push_str("What concerns interfaces, tables and the user plane holds from the next start on.\n");
    }
    let now = access.now();
    let Some(edge) = access.machine(machine) else { return Ok(()) };
    let place = |edge: &Edge, name: &str| edge.interfaces().iter().position(|own| own.name() == name);
    for interface in &new.interfaces {
        let Some(at) = place(edge, &interface.name) else { continue };
        let way = streams::way_out(&interface.name, &interface.line, names).map_err(CommandError)?;
        edge.reconfigure(now, at, &way)
            .map_err(|error| streams::describe(&error, names))
            .map_err(|error| CommandError(format!("interface {}: {error}.", interface.name)))?;
    }
    if old.rules != new.rules {
        // A rule for an interface that is new waits for the next start.
        let known = |rule: &Rule| rule.ingress.as_ref().is_none_or(|name| place(edge, name).is_some());
        let names_of: Vec<String> = edge.interfaces().iter().map(|own| own.name().to_owned()).collect();
        let mut now_known = new.clone();
        now_known.rules.retain(|_, rule| known(rule));
        // The places are those of the running interfaces.
        now_known.interfaces = in_place(&names_of, &new.interfaces);
        let rules = rules(&now_known, names).map_err(CommandError)?;
        edge.set_rules(rules);
    }
    Ok(())
}

/// The configured interfaces in the order of those that run; one that is no longer configured keeps its place.
fn in_place(running: &[String], configured: &[ops::InterfaceConfig]) -> Vec<ops::InterfaceConfig> {
    let mut all = Vec::new();
    for name in running {
        let of = configured.iter().find(|interface| interface.name == *name).or(configured.first());
        all.extend(of.map(|of| ops::InterfaceConfig { name: name.clone(), ..of.clone() }));
    }
    all
}

/// Something differs that holds from the next start on.
fn later(old: &ops::EdgeConfig, new: &ops::EdgeConfig) -> bool {
    let names = |config: &ops::EdgeConfig| -> Vec<String> {
        config.interfaces.iter().map(|interface| interface.name.clone()).collect()
    };
    (old.flows, old.user_plane) != (new.flows, new.user_plane) || names(old) != names(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_node::streams::Verdict;
    use gannet_ops::{EdgeRouter, config};
    use gannet_qos::edge::{Service, StreamConfig};

    const FILE: &str = "edge\n interface lan\n interface wan\n  rate 2000\n  stream a af rate 500 burst 3000\n  stream v ef rate 100\n \
                        rule 10 in lan protocol udp destination-port 5000 stream v mark 46\n rule 20 from 192.0.2.0/24 stream a\n rule 30 drop\n";

    fn read(text: &str) -> ops::EdgeConfig {
        config::read::<EdgeRouter>("x", text).unwrap().config
    }

    #[test]
    fn a_configuration_becomes_a_router() {
        let plan = plan(&read(FILE), &mut Vec::new()).unwrap();
        let [lan, wan] = plan.config.interfaces.as_slice() else { panic!() };
        assert!(lan.line.is_none());
        let line = wan.line.unwrap();
        assert_eq!((line.rate.per_s, line.rate.burst, line.overhead), (250_000, 250, 38));
        let (a, v) = (wan.streams[0], wan.streams[1]);
        assert_eq!(a, (1, StreamConfig { service: Service::Assured, rate: 62_500, burst: 3000 }));
        assert_eq!(v.1.service, Service::Expedited);
        let rules: Vec<(u32, Verdict)> =
            plan.config.rules.iter().map(|(number, rule)| (number, Verdict::of(rule))).collect();
        let stream = |stream, mark| Verdict { stream, mark };
        assert_eq!(
            rules,
            [(10, stream(Some(2), Some(46))), (20, stream(Some(1), None)), (30, stream(None, None))]
        );
        assert_eq!((plan.names.of(0), plan.names.of(2), plan.names.of(7)), ("best-effort", "v", "-"));
        assert_eq!(plan.frames, 1024 + 500);
    }

    #[test]
    fn streams_that_do_not_fit_are_an_error() {
        let said = plan(&read(&FILE.replace("rate 500", "rate 3000")), &mut Vec::new()).unwrap_err();
        assert!(said.starts_with("interface wan: stream a: "), "{said}");
    }

    #[test]
    fn what_holds_later_is_known() {
        let old = read(FILE);
        let differs = |from: &str, to: &str| later(&old, &read(&FILE.replace(from, to)));
        assert!(!differs("x", "x"));
        assert!(!differs("rate 2000", "rate 1000"));
        assert!(!differs("rule 30 drop", "rule 30 best-effort"));
        assert!(!differs("  stream v ef rate 100\n", "  stream v ef rate 90\n"));
        assert!(!differs("  rate 2000\n", ""));
        assert!(!differs("  rate 2000\n", "  rate 2000\n  overhead 40\n"));
        assert!(differs("edge\n", "edge\n interface c\n"));
        assert!(differs("interface lan", "flows 9\n interface lan"));
        assert!(differs("interface lan", "user-plane socket\n interface lan"));
    }
}
