//! The network service's part of an SGSN's configuration, in osmo-sgsn's words: timers, binds, static NSEs.
//!
//! Timers are in seconds (08.16 clause 7 [48.016], table of timers).

use super::ConfigText;
use crate::grammar::{Node, Problem};
use core::net::SocketAddr;
use gannet_wire::id::{Nsei, Nsvci};

/// The weights of an endpoint that was given none.
pub(super) const DEFAULT_WEIGHTS: (u8, u8) = (1, 1);

/// The network service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NsConfig {
    /// Timers and how often each is tried.
    pub timers: NsTimers,
    /// Sockets, by name.
    pub binds: Vec<NsBind>,
    /// NSEs that are known before they speak, by number.
    pub nses: Vec<NsNse>,
    /// The names of the binds that an NSE gets which makes itself known by IP-SNS.
    pub ip_sns_default: Vec<String>,
}

/// Timers and numbers of tries of the network service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NsTimers {
    /// Tns-block: how long an answer to NS-BLOCK or NS-UNBLOCK may take, in s.
    pub block_s: u16,
    /// How often NS-BLOCK is sent.
    pub block_retries: u16,
    /// Tns-reset: how long an answer to NS-RESET may take, in s.
    pub reset_s: u16,
    /// How often NS-RESET is sent.
    pub reset_retries: u16,
    /// Tns-test: between two tests of an NS-VC that is alive, in s.
    pub test_s: u16,
    /// Tns-alive: how long an answer to NS-ALIVE may take, in s.
    pub alive_s: u16,
    /// How often NS-ALIVE is sent before an NS-VC is dead.
    pub alive_retries: u16,
    /// Tsns-prov: how long an answer to a PDU of IP-SNS may take, in s (48.016 clause 6.2).
    pub sns_prov_s: u16,
    /// How often a BSS sends SNS-SIZE.
    pub sns_size_retries: u16,
    /// How often SNS-CONFIG is sent.
    pub sns_config_retries: u16,
    /// How often SNS-ADD, SNS-DELETE and SNS-CHANGEWEIGHT are sent.
    pub sns_procedures_retries: u16,
}

impl Default for NsTimers {
    fn default() -> Self {
        Self {
            block_s: 3,
            block_retries: 3,
            reset_s: 3,
            reset_retries: 3,
            test_s: 30,
            alive_s: 3,
            alive_retries: 10,
            sns_prov_s: 3,
            sns_size_retries: 3,
            sns_config_retries: 3,
            sns_procedures_retries: 3,
        }
    }
}

impl NsTimers {
    /// Each value under its word.
    pub(super) fn slots(&mut self) -> [(&'static str, &mut u16); 11] {
        [
            ("tns-block", &mut self.block_s),
            ("tns-block-retries", &mut self.block_retries),
            ("tns-reset", &mut self.reset_s),
            ("tns-reset-retries", &mut self.reset_retries),
            ("tns-test", &mut self.test_s),
            ("tns-alive", &mut self.alive_s),
            ("tns-alive-retries", &mut self.alive_retries),
            ("tsns-prov", &mut self.sns_prov_s),
            ("tsns-size-retries", &mut self.sns_size_retries),
            ("tsns-config-retries", &mut self.sns_config_retries),
            ("tsns-procedures-retries", &mut self.sns_procedures_retries),
        ]
    }
}

/// A socket of the network service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NsBind {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub listen: Option<SocketAddr>,
    /// Peers that are not configured may make themselves known by NS-RESET.
    pub accept_ipaccess: bool,
    /// The same by IP-SNS.
    pub accept_ip_sns: bool,
    /// The weights for signalling and data that IP-SNS tells.
    pub ip_sns_weights: (u8, u8),
}

/// A configured NSE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsNse {
    /// Its identifier.
    pub nsei: Nsei,
    /// Its NS-VCs.
    pub nsvcs: Vec<NsNsvc>,
    /// The names of the binds that it gets by IP-SNS; its NS-VCs follow from these and from what the BSS tells.
    pub ip_sns_binds: Vec<String>,
    /// It was said with `ip-sns-role-sgsn`, which changes nothing: an SGSN has no other role.
    pub ip_sns_role_sgsn: bool,
}

/// A configured NS-VC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsNsvc {
    /// The name of the bind it uses.
    pub bind: String,
    /// Where its peer is.
    pub remote: SocketAddr,
    /// Its identifier (`nsvc ipa`: the SGSN resets and unblocks it); `None` for an IP endpoint without reset and block
    /// procedures (`nsvc udp`).
    pub nsvci: Option<Nsvci>,
    /// Its weight for signalling, of an IP endpoint.
    pub signalling_weight: u8,
    /// Its weight for data, of an IP endpoint.
    pub data_weight: u8,
}

impl NsConfig {
    pub(super) fn write(&self, text: &mut ConfigText) {
        text.node(format_args!("ns"), |text| {
            let mut timers = self.timers;
            for (word, value) in timers.slots() {
                text.line(format_args!("timer {word} {value}"));
            }
            for nse in &self.nses {
                let role = if nse.ip_sns_role_sgsn { " ip-sns-role-sgsn" } else { "" };
                text.node(format_args!("nse {}{role}", nse.nsei), |text| {
                    nse.ip_sns_binds.iter().for_each(|bind| text.line(format_args!("ip-sns-bind {bind}")));
                    nse.nsvcs.iter().for_each(|nsvc| nsvc.write(text));
                });
            }
            for bind in &self.binds {
                text.node(format_args!("bind udp {}", bind.name), |text| {
                    if let Some(listen) = bind.listen {
                        text.line(format_args!("listen {} {}", listen.ip(), listen.port()));
                    }
                    if bind.accept_ipaccess {
                        text.line(format_args!("accept-ipaccess"));
                    }
                    if bind.accept_ip_sns {
                        text.line(format_args!("accept-dynamic-ip-sns"));
                    }
                    let (signalling, data) = bind.ip_sns_weights;
                    if bind.ip_sns_weights != DEFAULT_WEIGHTS {
                        text.line(format_args!("ip-sns signalling-weight {signalling} data-weight {data}"));
                    }
                });
            }
            self.ip_sns_default.iter().for_each(|bind| text.line(format_args!("ip-sns-default bind {bind}")));
        });
    }

    /// What it lacks or contradicts as a whole.
    pub(super) fn problems(&self, problems: &mut Vec<Problem>) {
        for bind in self.binds.iter().filter(|bind| bind.listen.is_none()) {
            let text = format!("bind udp {} needs a line 'listen A.B.C.D <1-65535>'", bind.name);
            problems.push(Problem::incomplete(Node::NsBind, text));
        }
        let unknown = |name: &&String| !self.binds.iter().any(|bind| bind.name == **name);
        let absent = |what: &str, bind: &str| {
            format!("{what} {bind}, which is not there: add 'bind udp {bind}' under 'ns'")
        };
        for bind in self.ip_sns_default.iter().filter(unknown) {
            let text = absent("ip-sns-default names bind", bind);
            problems.push(Problem::contradiction(Node::Ns, text));
        }
        for nse in &self.nses {
            let used = nse.nsvcs.iter().map(|nsvc| &nsvc.bind).filter(unknown);
            let used = used.map(|bind| absent(&format!("nse {} uses bind", nse.nsei), bind));
            let by_sns = nse.ip_sns_binds.iter().filter(unknown);
            let by_sns = by_sns.map(|bind| absent(&format!("nse {} has ip-sns-bind", nse.nsei), bind));
            problems.extend(by_sns.chain(used).map(|text| Problem::contradiction(Node::NsNse, text)));
        }
    }
}

impl NsNsvc {
    fn write(&self, text: &mut ConfigText) {
        let (bind, ip, port) = (&self.bind, self.remote.ip(), self.remote.port());
        match self.nsvci {
            Some(nsvci) => text.line(format_args!("nsvc ipa {bind} {ip} {port} nsvci {nsvci}")),
            None if (self.signalling_weight, self.data_weight) == (1, 1) => {
                text.line(format_args!("nsvc udp {bind} {ip} {port}"));
            }
            None => text.line(format_args!(
                "nsvc udp {bind} {ip} {port} signalling-weight {} data-weight {}",
                self.signalling_weight, self.data_weight
            )),
        }
    }
}
