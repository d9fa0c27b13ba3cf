//! What a configuration of the edge router means, and how a changed one is taken over.

use gannet_machine::time::Instant;
use gannet_node::edge::{
    BEST_EFFORT, Edge, EdgeConfig, InterfaceConfig, Line, Prefix, Rule, RuleBase, Verdict,
};
use gannet_ops::config::edge as ops;
use gannet_ops::grammar::CommandError;
use gannet_qos::edge::{Accounting, Config, Excess, QueueConfig, Service, StreamConfig};
use gannet_qos::token_bucket::Rate;
use gannet_rt::{Access, MachineId};

/// Streams at most, best effort included, over the life of a process: a number is never another stream's.
const STREAMS_MAX: u32 = 4096;
/// So much of a line's time may be made up for, which a wake-up that comes late has lost: 1/1000 s.
const CATCH_UP_PER_S: u32 = 1000;
/// Frames besides those that wait: what is received and sent in one turn, and what waits for its next hop.
const FRAMES_BESIDES: usize = 1024;
/// Most frames that a router has: 128 MiB of them.
const FRAMES_MAX: usize = 65_536;
/// The mean packet by which pools are held to have frames: shorter ones leave a pool without frames before it is full.
const MEAN_OCTETS: usize = 200;

/// Streams with their numbers.
#[derive(Debug, Clone, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// The number of a stream; a new one gets the next.
    fn number(&mut self, name: &str) -> Result<u32, String> {
        let known = self.0.iter().position(|own| own == name);
        let place = known.unwrap_or(self.0.len());
        let number = u32::try_from(place).ok().map(|place| place + 1).filter(|number| *number < STREAMS_MAX);
        let number = number.ok_or_else(|| {
            format!(
                "stream {name}: a process has {} streams at most, those that are gone included",
                STREAMS_MAX - 1
            )
        })?;
        if known.is_none() {
            self.0.push(name.to_owned());
        }
        Ok(number)
    }

    /// All with their numbers, best effort first.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        let named = self.0.iter().zip(1..).map(|(name, number)| (number, name.as_str()));
        core::iter::once((BEST_EFFORT, "best-effort")).chain(named)
    }

    /// The name of a stream.
    pub fn of(&self, number: u32) -> &str {
        self.all().find(|(own, _)| *own == number).map_or("-", |(_, name)| name)
    }
}

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
    let mut names = Names::default();
    let mut frames = FRAMES_BESIDES;
    let mut interfaces = Vec::new();
    for of in &config.interfaces {
        interfaces.push(interface(of, &mut names)?);
        if of.rate_kbps.is_some() {
            frames += of.pools.iter().map(|pool| (*pool as usize).div_ceil(MEAN_OCTETS)).sum::<usize>();
        } else if !of.streams.is_empty() {
            remarks.push(format!("interface {} has no rate: its streams mean nothing", of.name));
        }
    }
    let rules = rules(config, &mut names)?;
    let (flows, user_plane) = (config.flows as usize, config.user_plane);
    let config = EdgeConfig { interfaces, rules, flows, seed: 0 };
    // The router has the last word about its interfaces.
    Edge::new(Instant::ZERO, config.clone()).map_err(|(at, error)| {
        let name = config.interfaces.get(at).map_or("", |interface| &interface.name);
        format!("interface {name}: {error}")
    })?;
    Ok(Plan { config, names, frames: frames.min(FRAMES_MAX), user_plane })
}

/// kbit/s in octets/s.
fn octets_per_s(kbps: u32) -> u32 {
    kbps.saturating_mul(125)
}

fn rate(kbps: u32) -> Rate {
    let per_s = octets_per_s(kbps);
    Rate { per_s, burst: (per_s / CATCH_UP_PER_S).max(1) }
}

fn interface(of: &ops::InterfaceConfig, names: &mut Names) -> Result<InterfaceConfig, String> {
    let line = of.rate_kbps.map(|kbps| {
        let [expedited, assured] = of.pools;
        let weight = u32::from(of.ef_weight);
        let queue = |pool, weight| QueueConfig {
            buffers: match of.accounting {
                ops::Accounting::Exact => Accounting::Exact { octets: pool },
                ops::Accounting::BuffSize(octets) => {
                    Accounting::BuffSize { buffers: pool / u32::from(octets), octets: octets.into() }
                }
            },
            rate: octets_per_s(kbps).max(1),
            weight,
            excess: match of.sharing {
                ops::Sharing::Resulting => Excess::Resulting,
                ops::Sharing::Present => Excess::Present,
            },
        };
        let queues = Config {
            streams_max: STREAMS_MAX,
            expedited: queue(expedited, weight),
            assured: queue(assured, 100 - weight.min(99)),
        };
        Line { rate: rate(kbps), overhead: of.overhead.into(), queues }
    });
    let mut streams = Vec::new();
    for (name, config) in &of.streams {
        streams.push((names.number(name)?, stream(config)));
    }
    Ok(InterfaceConfig { name: of.name.clone(), line, streams })
}

fn stream(of: &ops::StreamConfig) -> StreamConfig {
    let service = match of.service {
        ops::Service::Expedited => Service::Expedited,
        ops::Service::Assured => Service::Assured,
        ops::Service::NetworkControl => Service::NetworkControl,
        ops::Service::BestEffort => Service::BestEffort,
    };
    StreamConfig { service, rate: octets_per_s(of.rate_kbps), burst: of.burst }
}

fn rules(config: &ops::EdgeConfig, names: &mut Names) -> Result<RuleBase, String> {
    let mut rules = RuleBase::default();
    for (number, of) in &config.rules {
        let place = |name: &String| config.interfaces.iter().position(|interface| interface.name == *name);
        let ingress = match &of.ingress {
            None => None,
            Some(name) => Some(
                place(name)
                    .and_then(|place| u16::try_from(place).ok())
                    .ok_or_else(|| format!("rule {number}: the interface {name} is not there"))?,
            ),
        };
        let stream = match &of.outcome {
            ops::Outcome::Drop => None,
            ops::Outcome::BestEffort => Some(BEST_EFFORT),
            ops::Outcome::Stream(name) => Some(names.number(name)?),
        };
        let prefix = |network: ops::Network| Prefix { address: network.address, bits: network.bits };
        let rule = Rule {
            ingress,
            source: of.source.map(prefix),
            destination: of.destination.map(prefix),
            protocol: of.protocol,
            source_ports: of.source_ports.clone(),
            destination_ports: of.destination_ports.clone(),
            dscp: of.dscp,
            verdict: Verdict { stream, mark: of.mark },
        };
        rules.set(*number, rule);
    }
    Ok(rules)
}

/// Takes a changed configuration: rules, streams and the rate of a line hold at once.
///
/// # Errors
/// Why a stream cannot be as configured; those before it are.
pub fn reconfigure(
    (machine, names): (MachineId<Edge>, &mut Names),
    (old, new): (&ops::EdgeConfig, &ops::EdgeConfig),
    access: &mut Access<'_>,
    out: &mut String,
) -> Result<(), CommandError> {
    if later(old, new) {
        out.push_str(
            "What concerns interfaces, pools, tables and the user plane holds from the next start on.\n",
        );
    }
    let now = access.now();
    let Some(edge) = access.machine(machine) else { return Ok(()) };
    let place = |edge: &Edge, name: &str| edge.interfaces().iter().position(|own| own.name() == name);
    for interface in &new.interfaces {
        let Some(at) = place(edge, &interface.name) else { continue };
        if let Some(kbps) = interface.rate_kbps {
            edge.set_rate(now, at, rate(kbps));
        }
        let before = old.interfaces.iter().find(|former| former.name == interface.name);
        let gone = before.iter().flat_map(|former| former.streams.keys());
        for name in gone.filter(|name| !interface.streams.contains_key(*name)) {
            let number = names.number(name).map_err(CommandError)?;
            let _ = edge.configure_stream(now, at, number, None);
        }
        for (name, config) in &interface.streams {
            if before.and_then(|former| former.streams.get(name)) == Some(config) {
                continue;
            }
            let number = names.number(name).map_err(CommandError)?;
            let done = edge.configure_stream(now, at, number, Some(&stream(config)));
            done.map_err(|error| {
                CommandError(format!("interface {}, stream {name}: {error}.", interface.name))
            })?;
        }
    }
    if old.rules != new.rules {
        // A rule for an interface that is new waits for the next start.
        let known = |rule: &ops::Rule| rule.ingress.as_ref().is_none_or(|name| place(edge, name).is_some());
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
    let fixed = |config: &ops::EdgeConfig| -> Vec<ops::InterfaceConfig> {
        let of = |interface: &ops::InterfaceConfig| ops::InterfaceConfig {
            rate_kbps: interface.rate_kbps.map(|_| 0),
            streams: std::collections::BTreeMap::new(),
            ..interface.clone()
        };
        config.interfaces.iter().map(of).collect()
    };
    (old.flows, old.user_plane) != (new.flows, new.user_plane) || fixed(old) != fixed(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_ops::{EdgeRouter, config};

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
            plan.config.rules.iter().map(|(number, rule)| (number, rule.verdict)).collect();
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
        assert!(said.starts_with("interface wan: stream 1: "), "{said}");
    }

    #[test]
    fn what_holds_later_is_known() {
        let old = read(FILE);
        let differs = |from: &str, to: &str| later(&old, &read(&FILE.replace(from, to)));
        assert!(!differs("x", "x"));
        assert!(!differs("rate 2000", "rate 1000"));
        assert!(!differs("rule 30 drop", "rule 30 best-effort"));
        assert!(!differs("  stream v ef rate 100\n", "  stream v ef rate 90\n"));
        assert!(differs("  rate 2000\n", ""));
        assert!(differs("  rate 2000\n", "  rate 2000\n  overhead 40\n"));
        assert!(differs("interface lan", "flows 9\n interface lan"));
        assert!(differs("interface lan", "user-plane socket\n interface lan"));
    }
}
