//! The network service as an operator wrote it, as the SGSN node takes it.

use core::net::SocketAddr;
use gannet_machine::Port;
use gannet_machine::time::Duration;
use gannet_node::sgsn::{GB, GB_FURTHER, IpSns, NsTimers, NsvcConfig};
use gannet_ops::config::ns::{NsBind, NsConfig};
use gannet_proto::ns::sns::LocalEndpoint;
use gannet_wire::ns::IpElement;

/// The sockets of NS, the first of which may have a driver's help.
pub(super) fn binds(ns: &NsConfig) -> Result<Vec<(String, SocketAddr)>, String> {
    if ns.binds.is_empty() {
        return Err(
            "NS has no socket: add 'bind udp local' with 'listen A.B.C.D 23000' under 'ns'".to_owned()
        );
    }
    if let Some(bind) = ns.binds.get(GB_FURTHER.len() + 1) {
        let most = GB_FURTHER.len() + 1;
        return Err(format!("bind udp {}: NS has {most} sockets at most", bind.name));
    }
    let mut binds: Vec<(String, SocketAddr)> = Vec::new();
    for bind in &ns.binds {
        let listen = bind.listen.ok_or_else(|| format!("bind udp {} needs 'listen'", bind.name))?;
        if let Some((other, _)) = binds.iter().find(|(_, known)| *known == listen) {
            return Err(format!("bind udp {}: bind udp {other} listens on {listen} already", bind.name));
        }
        binds.push((bind.name.clone(), listen));
    }
    Ok(binds)
}

/// The port of the machine that a socket of NS is.
pub fn port_of(place: usize) -> Port {
    place.checked_sub(1).and_then(|further| GB_FURTHER.get(further)).copied().unwrap_or(GB)
}

/// The ports of sockets that are open to everybody.
pub(super) fn open(ns: &NsConfig, is_open: impl Fn(&NsBind) -> bool) -> Vec<Port> {
    let places = ns.binds.iter().enumerate().filter(|(_, bind)| is_open(bind));
    places.map(|(place, _)| port_of(place)).collect()
}

/// Endpoints of IP-SNS by the names of their sockets.
fn endpoints(ns: &NsConfig, names: &[String]) -> Result<Vec<LocalEndpoint>, String> {
    let mut all = Vec::new();
    for (place, bind) in ns.binds.iter().enumerate().filter(|(_, bind)| names.contains(&bind.name)) {
        let Some(endpoint) = bind.listen else { continue };
        if endpoint.ip().is_unspecified() {
            return Err(format!(
                "bind udp {}: BSSs are told its address by IP-SNS, so 'listen {}' must name one that they can reach",
                bind.name,
                endpoint.ip()
            ));
        }
        let (signalling_weight, data_weight) = bind.ip_sns_weights;
        let element = IpElement { endpoint, signalling_weight, data_weight };
        all.push(LocalEndpoint { port: port_of(place), element });
    }
    let weights =
        |weight: fn(&IpElement) -> u8| all.iter().map(|local| u32::from(weight(&local.element))).sum::<u32>();
    if !all.is_empty() && (weights(|e| e.signalling_weight) == 0 || weights(|e| e.data_weight) == 0) {
        return Err(format!(
            "bind udp {}: no other socket of this NSE takes its part, so neither 'signalling-weight' nor 'data-weight' can be 0",
            names.join(", ")
        ));
    }
    Ok(all)
}

/// IP-SNS: which endpoints BSSs are told.
pub(super) fn ip_sns(ns: &NsConfig) -> Result<IpSns, String> {
    let known = ns.nses.iter().filter(|nse| !nse.ip_sns_binds.is_empty());
    let nses = known.map(|nse| Ok((nse.nsei, endpoints(ns, &nse.ip_sns_binds)?)));
    let nses = nses.collect::<Result<Vec<_>, String>>()?;
    let open = open(ns, |bind| bind.accept_ip_sns);
    let askable = ns.binds.iter().filter(|bind| bind.accept_ip_sns).map(|bind| bind.name.clone());
    let askable: Vec<String> = askable.collect();
    // As at osmo-sgsn, where nobody says which sockets BSSs are told: those that they may ask.
    let told = if askable.is_empty() || ns.ip_sns_default.is_empty() { &askable } else { &ns.ip_sns_default };
    Ok(IpSns { endpoints: endpoints(ns, told)?, open, nses })
}

pub(super) fn nsvcs(ns: &NsConfig) -> Result<Vec<NsvcConfig>, String> {
    let mut all = Vec::new();
    for nse in &ns.nses {
        let nsei = nse.nsei;
        if nse.nsvcs.iter().any(|nsvc| nsvc.nsvci.is_none())
            && nse.nsvcs.iter().any(|nsvc| nsvc.nsvci.is_some())
        {
            return Err(format!(
                "nse {nsei}: a BSS speaks one dialect, so 'nsvc udp' and 'nsvc ipa' do not go together"
            ));
        }
        all.extend(nse.nsvcs.iter().map(|nsvc| {
            let place = ns.binds.iter().position(|known| known.name == nsvc.bind).unwrap_or(0);
            let weights = (nsvc.signalling_weight, nsvc.data_weight);
            NsvcConfig { nsei, nsvci: nsvc.nsvci, port: port_of(place), peer: nsvc.remote, weights }
        }));
    }
    Ok(all)
}

pub(super) fn timers(ns: &NsConfig) -> NsTimers {
    let seconds = |seconds: u16| Duration::from_secs(seconds.into());
    let count = |count: u16| u8::try_from(count).unwrap_or(u8::MAX);
    let timers = &ns.timers;
    NsTimers {
        block: seconds(timers.block_s),
        reset: seconds(timers.reset_s),
        test: seconds(timers.test_s),
        alive: seconds(timers.alive_s),
        block_retries: count(timers.block_retries),
        reset_retries: count(timers.reset_retries),
        alive_retries: count(timers.alive_retries),
        sns_prov: seconds(timers.sns_prov_s),
        sns_config_retries: count(timers.sns_config_retries),
        sns_procedures_retries: count(timers.sns_procedures_retries),
    }
}

/// What of the sockets of NS is decided at the start: where they are.
pub(super) fn sockets(ns: &NsConfig) -> Vec<(&str, Option<SocketAddr>)> {
    ns.binds.iter().map(|bind| (bind.name.as_str(), bind.listen)).collect()
}

/// A new configuration with the sockets that are there: a new one holds from the next start on, with what uses it, and so does
/// that one is gone; who may make himself known at it ends at once.
pub(super) fn at_sockets(ns: &NsConfig, there: &[(String, SocketAddr)]) -> NsConfig {
    let mut running = ns.clone();
    running.binds = there
        .iter()
        .map(|(name, listen)| {
            let known = ns.binds.iter().find(|bind| bind.name == *name).cloned();
            let bind = known.unwrap_or_else(|| NsBind { name: name.clone(), ..NsBind::default() });
            NsBind { listen: Some(*listen), ..bind }
        })
        .collect();
    let is_there = |name: &String| there.iter().any(|(known, _)| known == name);
    for nse in &mut running.nses {
        nse.nsvcs.retain(|nsvc| is_there(&nsvc.bind));
        nse.ip_sns_binds.retain(is_there);
    }
    running.ip_sns_default.retain(is_there);
    running
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NS, plan_of};
    use super::*;
    use gannet_wire::id::{Nsei, Nsvci};

    #[test]
    fn what_ns_cannot_do_is_refused() {
        assert!(plan_of("ns\n").0.unwrap_err().contains("bind udp"));
        let udp = "  nsvc udp a 127.0.0.9 22000 signalling-weight 2 data-weight 3\n";
        let nsvcs = plan_of(&format!("{NS} nse 7\n{udp}")).0.unwrap().config.nsvcs;
        assert_eq!((nsvcs[0].nsvci, nsvcs[0].weights), (None, (2, 3)));
        let ipa = "  nsvc ipa a 127.0.0.9 22001 nsvci 8\n";
        let nsvcs = plan_of(&format!("{NS} nse 7\n{ipa}")).0.unwrap().config.nsvcs;
        assert_eq!((nsvcs.len(), nsvcs[0].nsvci), (1, Some(Nsvci(8))));
        assert!(plan_of(&format!("{NS} nse 7\n{udp}{ipa}")).0.unwrap_err().contains("one dialect"));
    }

    #[test]
    fn each_bind_is_a_socket_of_its_own() {
        let two = format!("{NS}  accept-ipaccess\n bind udp b\n  listen 127.0.0.2 23000\n");
        let nsvc = format!("{two} nse 7\n  nsvc ipa b 127.0.0.9 22000 nsvci 8\n");
        let plan = plan_of(&nsvc).0.unwrap();
        let names: Vec<_> = plan.binds.iter().map(|(name, at)| (name.as_str(), at.to_string())).collect();
        assert_eq!(names, [("a", "127.0.0.1:23000".to_owned()), ("b", "127.0.0.2:23000".to_owned())]);
        assert_eq!(plan.config.nsvcs[0].port, GB_FURTHER[0]);
        assert_eq!(plan.config.open, [GB], "where no line accepts, nobody is accepted");
        let same = format!("{NS} bind udp b\n  listen 127.0.0.1 23000\n");
        assert!(plan_of(&same).0.unwrap_err().contains("bind udp b: bind udp a listens on"));
        let lines = |n: u8| format!(" bind udp x{n}\n  listen 127.0.0.{n} 23000\n");
        let many = |last: u8| format!("{NS}{}", (2..=last).map(lines).collect::<String>());
        assert_eq!(plan_of(&many(8)).0.unwrap().binds.len(), 8);
        assert!(plan_of(&many(9)).0.unwrap_err().contains("bind udp x9: NS has 8 sockets at most"));
    }

    #[test]
    fn ip_sns_has_the_endpoints_of_the_sockets() {
        assert_eq!(plan_of(NS).0.unwrap().config.ip_sns.endpoints, []);
        let sns = format!("{NS}  accept-dynamic-ip-sns\n  ip-sns signalling-weight 3 data-weight 4\n");
        let config = plan_of(&format!("{sns} ip-sns-default bind a\n")).0.unwrap().config;
        let endpoint = config.ip_sns.endpoints[0].element;
        assert_eq!(endpoint.endpoint, "127.0.0.1:23000".parse().unwrap());
        assert_eq!((endpoint.signalling_weight, endpoint.data_weight), (3, 4));
        assert_eq!((&config.ip_sns.open, &config.open), (&vec![GB], &vec![]));
        let unsaid = format!("{sns} bind udp b\n  listen 127.0.0.2 23000\n");
        assert_eq!(plan_of(&unsaid).0.unwrap().config.ip_sns.endpoints, config.ip_sns.endpoints);
        let known = plan_of(&format!("{NS} nse 7 ip-sns-role-sgsn\n  ip-sns-bind a\n")).0.unwrap().config;
        let (nsei, local) = &known.ip_sns.nses[0];
        assert_eq!((*nsei, local.len(), known.ip_sns.open.len()), (Nsei(7), 1, 0));
        let everywhere =
            "ns\n bind udp a\n  listen 0.0.0.0 23000\n  accept-dynamic-ip-sns\n ip-sns-default bind a\n";
        assert!(plan_of(everywhere).0.unwrap_err().contains("0.0.0.0"));
        let no_data = sns.replace("data-weight 4", "data-weight 0");
        let alone = format!("{no_data} ip-sns-default bind a\n");
        assert!(plan_of(&alone).0.unwrap_err().contains("data-weight"));
        let second = " bind udp b\n  listen 127.0.0.2 23000\n";
        let both = format!("{no_data}{second} ip-sns-default bind a\n ip-sns-default bind b\n");
        let sns = plan_of(&both).0.unwrap().config.ip_sns;
        let ports: Vec<_> = sns.endpoints.iter().map(|local| local.port).collect();
        assert_eq!((ports, sns.open), (vec![GB, GB_FURTHER[0]], vec![GB]));
    }
}
