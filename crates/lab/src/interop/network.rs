//! A mobile with its BSS, and an SGSN with Osmocom's GGSN and HLR, all as a person would start them.

use super::bed::{At, Bed};
use super::judge::{CORE, GB, PATTERN};
use crate::demo::Peer;
use crate::testbed::TestbedError;
use gannet_proto::auth::card::Usim;

/// Where the VTYs are, in their namespaces.
pub const BSS: &str = "127.0.0.1:4290";
/// The SGSN's.
pub const SGSN: &str = "127.0.0.1:4245";
/// That of osmo-ggsn.
pub const GGSN: &str = "127.0.0.2:4260";
/// That of osmo-hlr.
pub const HLR: &str = "127.0.0.3:4258";

/// Where osmo-hlr takes SGSNs.
pub const HLR_ADDRESS: &str = "127.0.0.3";

/// The subscriber and what is in its cards.
pub const IMSI: &str = "001010000000001";
const KI: &str = "000102030405060708090a0b0c0d0e0f";
const KI_OF_ANOTHER: &str = "000102030405060708090a0b0c0d0e1f";
const K: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
const OPC: &str = "cd63cb71954a9f4e48a5994e37a02baf";

/// Access points, and the host that is behind each: the GGSN's end of its device.
pub const INTERNET: (&str, &str) = ("internet", "198.51.100.1");
/// The second one.
pub const CORPORATE: (&str, &str) = ("corporate", "203.0.113.1");

/// The card in the mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Card {
    /// A SIM with the key that the HLR has.
    Sim,
    /// A SIM with another key.
    SimOfAnother,
    /// A USIM with the keys that the HLR has.
    Usim,
}

/// What the HLR knows of the mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subscription {
    /// A subscriber with GPRS.
    Gprs,
    /// A subscriber without.
    CircuitSwitchedOnly,
    /// Nobody.
    Unknown,
}

/// What is peculiar to a scenario.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// The mobile's card.
    pub card: Card,
    /// What the HLR knows.
    pub subscription: Subscription,
    /// The ciphers that the SGSN may use, as after `encryption gea`.
    pub geas: &'static str,
    /// More lines of the SGSN's node.
    pub sgsn: &'static str,
    /// More lines of the SGSN's NS socket.
    pub bind: &'static str,
    /// More lines of the BSS's node.
    pub bss: &'static str,
    /// The access point that the mobile asks for.
    pub apn: &'static str,
    /// Who is the GGSN at the start.
    pub ggsn: Peer,
    /// More lines of the first access point.
    pub internet: &'static str,
    /// More lines of the GGSN's node, behind its access points.
    pub at_ggsn: &'static str,
    /// Whether the SGSN asks the HLR: else it decides by itself, and accepts all.
    pub asks_hlr: bool,
}

impl Default for Setup {
    /// A SIM and GEA3, in one cell.
    fn default() -> Self {
        Self {
            card: Card::Sim,
            subscription: Subscription::Gprs,
            geas: "3",
            sgsn: "",
            bind: "",
            bss: "",
            apn: INTERNET.0,
            ggsn: Peer::Osmocom,
            internet: "",
            at_ggsn: "",
            asks_hlr: true,
        }
    }
}

/// What is written into `NAME.log`; Osmocom's programs are talkative.
fn log(whose: Peer) -> String {
    let level = if whose == Peer::Gannet { "info" } else { "notice" };
    format!("log stderr\n logging filter all 1\n logging level set-all {level}\n")
}

fn ends(address: &str) -> String {
    format!("line vty\n no login\n bind {address}\nctrl\n bind {address}\n")
}

/// Where the GGSN keeps its restart counter: another place than the SGSN's.
const GGSN_STATE: &str = "ggsn";

fn ggsn(internet: &str, more: &str) -> String {
    let apn = |(name, host): (&str, &str), device: &str, more: &str| {
        let net = host.trim_end_matches(|digit: char| digit.is_ascii_digit());
        format!(
            " apn {name}\n  gtpu-mode tun\n  tun-device {device}\n  type-support v4\n  ip prefix dynamic {net}0/24\n  \
             ip ifconfig {host}/24\n{more}  no shutdown\n"
        )
    };
    let apns = [apn(INTERNET, "apn0", internet), apn(CORPORATE, "apn1", "")].concat();
    format!(
        "ggsn ggsn0\n gtp state-dir {GGSN_STATE}\n gtp bind-ip 127.0.0.2\n{apns}{more} no shutdown ggsn\n{}",
        ends("127.0.0.2")
    )
}

fn sgsn(setup: &Setup, whose: Peer) -> String {
    let Setup { geas, sgsn, bind, .. } = setup;
    let log = log(whose);
    let policy = if setup.asks_hlr {
        " auth-policy remote\n authentication required\n gsup remote-ip 127.0.0.3\n gsup remote-port 4222\n"
    } else {
        " auth-policy accept-all\n authentication optional\n"
    };
    format!(
        "{log}sgsn\n gtp state-dir .\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n ggsn 0 gtp-version 1\n\
         {policy} encryption gea {geas}\n{sgsn}ns\n bind udp local\n  listen 192.0.2.2 23000\n  accept-ipaccess\n{bind}bssgp\n{}",
        ends("127.0.0.1")
    )
}

fn bss(setup: &Setup) -> String {
    let Setup { apn, bss, .. } = setup;
    let log = log(Peer::Gannet);
    let card = match setup.card {
        Card::Sim => format!("sim comp128v1 ki {KI}"),
        Card::SimOfAnother => format!("sim comp128v1 ki {KI_OF_ANOTHER}"),
        Card::Usim => format!("usim milenage k {K} opc {OPC}"),
    };
    format!(
        "{log}bss\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n {card}\n apn {apn}\n tun ms count 1\n{bss}{}",
        ends("127.0.0.1")
    )
}

/// The HLR's database, by its own tool.
fn database(bed: &Bed, setup: &Setup) -> Result<(), TestbedError> {
    let all = |program: &str, arguments: &[&str]| match bed.run(At::Core, program, arguments)? {
        (true, _) => Ok(()),
        (false, message) => Err(TestbedError::Failed { command: program.to_owned(), message }),
    };
    all("osmo-hlr-db-tool", &["-l", "hlr.db", "create"])?;
    let nam_ps = match setup.subscription {
        Subscription::Gprs => 1,
        Subscription::CircuitSwitchedOnly => 0,
        Subscription::Unknown => return Ok(()),
    };
    let keys = match setup.card {
        Card::Usim => {
            format!("insert into auc_3g(subscriber_id,algo_id_3g,k,opc) values(1,5,'{K}','{OPC}');")
        }
        Card::Sim | Card::SimOfAnother => {
            format!("insert into auc_2g(subscriber_id,algo_id_2g,ki) values(1,1,'{KI}');")
        }
    };
    let subscriber =
        format!("insert into subscriber(id,imsi,msisdn,nam_ps) values(1,'{IMSI}','1001',{nam_ps});");
    all("sqlite3", &["hlr.db", &format!("{subscriber}{keys}")])
}

/// Starts everybody. The mobile attaches by itself.
///
/// # Errors
/// Who could not be started, and why.
pub fn start(bed: &mut Bed, setup: &Setup) -> Result<(), TestbedError> {
    start_core(bed, setup)?;
    bed.start(("bss", At::Radio), "gannet", &["bss", "-c", "bss.cfg", "--pcap", GB])?;
    bed.until("the VTY of the BSS", |bed| bed.vty(At::Radio, BSS, "show cells")).map(drop)
}

/// Starts HLR, GGSN and SGSN.
///
/// # Errors
/// Who could not be started, and why.
pub fn start_core(bed: &mut Bed, setup: &Setup) -> Result<(), TestbedError> {
    database(bed, setup)?;
    std::fs::create_dir(bed.directory().join(GGSN_STATE))?;
    for (name, text) in [
        ("hlr.cfg", format!("hlr\n database hlr.db\n gsup\n  bind ip 127.0.0.3\n{}", ends("127.0.0.3"))),
        ("ggsn.cfg", ggsn(setup.internet, setup.at_ggsn)),
        ("sgsn.cfg", sgsn(setup, bed.sgsn)),
        ("bss.cfg", bss(setup)),
    ] {
        bed.write(name, &text)?;
    }
    bed.capture(At::Core, "lo", CORE, "tcp port 4222 or udp port 2123 or udp port 2152")?;
    start_hlr(bed)?;
    start_ggsn(bed, setup.ggsn)?;
    match bed.sgsn {
        Peer::Gannet => bed.start(("sgsn", At::Core), "gannet", &["sgsn", "-c", "sgsn.cfg"])?,
        Peer::Osmocom => bed.start(("sgsn", At::Core), "osmo-sgsn", &["-c", "sgsn.cfg"])?,
    }
    bed.until("the VTY of the SGSN", |bed| bed.vty(At::Core, SGSN, "show ns"))?;
    if setup.asks_hlr { until_linked(bed) } else { Ok(()) }
}

/// The USIM.
///
/// # Errors
/// Where its keys cannot be read.
pub fn usim() -> Result<Usim, TestbedError> {
    let key = |digits: &str| digits.parse().map_err(|error| failed("the USIM", format!("{error}")));
    Ok(Usim::new(key(K)?, key(OPC)?))
}

/// Starts the HLR.
///
/// # Errors
/// Where it does not start.
pub fn start_hlr(bed: &mut Bed) -> Result<(), TestbedError> {
    bed.start(("hlr", At::Core), "osmo-hlr", &["-c", "hlr.cfg"])?;
    bed.until("the VTY of the HLR", |bed| bed.vty(At::Core, HLR, "show gsup-connections")).map(drop)
}

/// Waits until the SGSN is connected to the HLR.
///
/// # Errors
/// Where it is not.
pub fn until_linked(bed: &mut Bed) -> Result<(), TestbedError> {
    bed.until("the link to the HLR", |bed| {
        let links = bed.vty(At::Core, HLR, "show gsup-connections")?;
        links.contains(" from 127.0.0.").then_some(())
    })
}

/// Starts a GGSN, with the same configuration whose ever it is, and waits until its devices are there.
///
/// # Errors
/// Where it does not start.
pub fn start_ggsn(bed: &mut Bed, whose: Peer) -> Result<(), TestbedError> {
    match whose {
        Peer::Gannet => bed.start(("ggsn", At::Core), "gannet", &["ggsn", "-c", "ggsn.cfg"])?,
        Peer::Osmocom => bed.start(("ggsn", At::Core), "osmo-ggsn", &["-c", "ggsn.cfg"])?,
    }
    bed.until("the devices of the GGSN", |bed| {
        let devices = bed.namespace(At::Core).output_of("ip", &["-o", "address"]).ok()?;
        [INTERNET.1, CORPORATE.1].iter().all(|host| devices.contains(host)).then_some(())
    })
}

/// What the BSS shows of its mobile.
#[must_use]
pub fn mobile(bed: &Bed) -> Option<String> {
    bed.vty(At::Radio, BSS, "show mobile 1")
}

/// Waits until the mobile shows this.
///
/// # Errors
/// What it shows instead.
pub fn until_mobile(bed: &mut Bed, state: &str) -> Result<String, TestbedError> {
    let waited = bed.until(state, |bed| mobile(bed).filter(|shown| shown.contains(state)));
    waited.map_err(|error| match error {
        TestbedError::Late { what, seconds, hint } => {
            let shown = mobile(bed).unwrap_or_default();
            TestbedError::Late {
                what: format!("'{what}' of the mobile"),
                seconds,
                hint: format!("{hint}\n{shown}"),
            }
        }
        other => other,
    })
}

/// Waits until the mobile has its context. osmo-sgsn, which accepts before it knows the subscription, may refuse the first
/// attempt; then there is another.
///
/// # Errors
/// What the mobile shows instead.
pub fn until_active(bed: &mut Bed) -> Result<String, TestbedError> {
    if bed.sgsn == Peer::Osmocom {
        bed.until("attach", |bed| {
            let shown = mobile(bed)?;
            if shown.contains(" attached ") && !shown.contains("NSAPI") {
                let _ = bed.vty(At::Radio, BSS, "mobile 1 activate");
            }
            shown.contains(" pdp-active ").then_some(())
        })?;
    }
    until_mobile(bed, " pdp-active ")
}

/// Waits until the GGSN has no context of the subscriber.
///
/// # Errors
/// Where it keeps one.
pub fn until_no_context(bed: &mut Bed) -> Result<(), TestbedError> {
    bed.until("the end of the context at the GGSN", |bed| {
        let shown = bed.vty(At::Core, GGSN, "show pdp-context ggsn ggsn0")?;
        (!shown.contains(IMSI)).then_some(())
    })
}

/// Waits until the HLR knows that the SGSN has forgotten the subscriber.
///
/// # Errors
/// Where it is not told.
pub fn until_purged(bed: &mut Bed) -> Result<(), TestbedError> {
    bed.until("PURGE MS at the HLR", |bed| {
        let shown = bed.vty(At::Core, HLR, &format!("subscriber imsi {IMSI} show"))?;
        shown.contains("PS purged").then_some(())
    })
}

/// Gives an order to the BSS.
///
/// # Errors
/// Where it refuses.
pub fn order(bed: &Bed, command: &str) -> Result<(), TestbedError> {
    let refused = || failed(command, "was refused by the BSS");
    bed.vty(At::Radio, BSS, command).map(drop).ok_or_else(refused)
}

/// What did not hold.
#[must_use]
pub fn failed(what: &str, message: impl Into<String>) -> TestbedError {
    TestbedError::Failed { command: what.to_owned(), message: message.into() }
}

/// The address of a context, as the BSS shows it.
#[must_use]
pub fn address(shown: &str, nsapi: u8) -> Option<String> {
    let line = shown.lines().find(|line| line.trim_start().starts_with(&format!("NSAPI {nsapi} ")))?;
    let address = line.split_once("address ")?.1.trim();
    (line.contains("pdp-active") && address != "-").then(|| address.to_owned())
}

/// Five echo requests with [`PATTERN`], all of which are to be answered.
///
/// # Errors
/// What `ping` printed where they were not.
pub fn ping(bed: &Bed, at: At, target: &str, more: &[&str]) -> Result<String, TestbedError> {
    // Until five answers are there, however long the last of them takes: without -w it would be two round trips.
    let arguments = [&["-n", "-c", "5", "-i", "0.2", "-w", "15", "-p", PATTERN], more, &[target]].concat();
    let (_, printed) = bed.run(at, "ping", &arguments)?;
    let answers = printed.lines().filter(|line| line.contains(" bytes from "));
    let answers: Vec<&str> = answers.collect();
    let is_answered = |sequence: u32| {
        let sequence = format!("icmp_seq={sequence} ");
        answers.iter().any(|line| line.contains(&sequence))
    };
    if (1..=5).all(is_answered) { Ok("5 of 5 pings".to_owned()) } else { Err(failed("ping", printed)) }
}

/// From the mobile's device to the host behind the first access point.
///
/// # Errors
/// As [`ping`].
pub fn ping_internet(bed: &Bed) -> Result<String, TestbedError> {
    ping(bed, At::Radio, INTERNET.1, &["-I", "ms0"])
}

/// The keys in the cards and in the HLR.
pub const KEYS: [&str; 4] = [KI, KI_OF_ANOTHER, K, OPC];

/// What our nodes have dropped goes into a file, for whoever wonders.
pub fn write_drops(bed: &Bed) {
    let of = |at, vty| bed.vty(at, vty, "show drops").unwrap_or_default();
    let sgsn = if bed.sgsn == Peer::Gannet { of(At::Core, SGSN) } else { String::new() };
    // A scenario does not fail by what nobody looked at.
    let _ = bed.write("drops.txt", &format!("bss\n{}\nsgsn\n{sgsn}\n", of(At::Radio, BSS)));
}
