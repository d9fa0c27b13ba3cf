//! Configuration files: those of Osmocom's daemons load unchanged, what is written is read back, and errors say where.

use gannet_machine::time::Duration;
use gannet_ops::config::Element;
use gannet_ops::config::ReporterKind;
use gannet_ops::config::cells::{CallsBy, ControlAck, PreemptionPolicy, Sharing};
use gannet_ops::config::ggsn::GgsnConfig;
use gannet_ops::config::ms;
use gannet_ops::config::sgsn::{GmmTimer, SgsnConfig};
use gannet_ops::{Bss, Ggsn, MobileStation, Sgsn, config};
use gannet_proto::auth::cards::Cards;
use gannet_proto::llc::abm::{LinkConfig, LinksConfig, Retransmission, Shared, Timing};
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
use gannet_wire::id::Sapi;

const OSMO_GGSN: &str = "ggsn ggsn0
 gtp state-dir /tmp/run
 gtp bind-ip 127.0.0.2
 apn internet
  gtpu-mode tun
  tun-device tun4
  type-support v4
  ip prefix dynamic 172.16.222.0/24
  ip static 172.16.222.9 imsi 001010000000009 sgsn 127.0.0.1
  ip dns 0 192.0.2.1
  ip ifconfig 172.16.222.0/24
  no shutdown
 default-apn internet
 no shutdown ggsn
line vty
 no login
 bind 127.0.0.2
ctrl
 bind 127.0.0.2
";

const OSMO_SGSN: &str = "sgsn
 gtp state-dir /tmp/run
 gtp local-ip 127.0.0.1
 ggsn 0 remote-ip 127.0.0.2
 ggsn 0 gtp-version 1
 auth-policy accept-all
ns
 timer tns-block 3
 timer tns-reset 3
 timer tns-test 30
 timer tns-alive 3
 bind udp local
  listen 127.0.0.1 23000
  accept-ipaccess
bssgp
line vty
 no login
";

const BSS: &str = "bss
 remote-ip 192.0.2.2
 remote-port 23000
 local-ip 192.0.2.1
 mobiles 10
 apn internet
 tun ms count 1
line vty
 no login
";

/// What osmo-sgsn 1.9 writes at `write file`, shortened where lines repeat.
const OSMO_SGSN_WRITTEN: &str = include_str!("files/osmo-sgsn-written.cfg");

fn round_trip<E: Element>(text: &str) -> E::Config {
    let first = config::read::<E>("a.cfg", text).expect("readable").config;
    let written = config::write::<E>(&first);
    let second = config::read::<E>("b.cfg", &written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(second.config, first, "{written}");
    assert_eq!(second.warnings, [], "{written}");
    assert_eq!(config::write::<E>(&second.config), written);
    first
}

fn problem<E: Element>(text: &str) -> String {
    config::read::<E>("x.cfg", text).expect_err("a problem").to_string()
}

#[test]
fn a_file_of_osmo_ggsn_loads() {
    let GgsnConfig { common, ggsns } = round_trip::<Ggsn>(OSMO_GGSN);
    assert_eq!(common.vty.address.to_string(), "127.0.0.2");
    let ggsn = &ggsns[0];
    assert_eq!((ggsn.name.as_str(), ggsn.running), ("ggsn0", true));
    let apn = ggsn.apn("whatever").unwrap();
    assert_eq!(apn.name, "internet");
    assert_eq!(apn.tun_device.as_deref(), Some("tun4"));
    assert_eq!(apn.prefix.unwrap().to_string(), "172.16.222.0/24");
    assert_eq!(apn.dns, ["192.0.2.1".parse().ok(), None]);
}

#[test]
fn a_file_of_osmo_sgsn_loads() {
    let config = round_trip::<Sgsn>(OSMO_SGSN);
    assert_eq!(config.gtp_local_ip, "127.0.0.1".parse().ok());
    assert_eq!(config.ggsns[&0].remote_ip, "127.0.0.2".parse().ok());
    assert_eq!(config.ns.binds[0].listen, "127.0.0.1:23000".parse().ok());
    assert!(config.ns.binds[0].accept_ipaccess);
}

#[test]
fn what_is_written_has_nothing_that_osmo_sgsn_does_not_know_unless_it_was_asked_for() {
    let config = round_trip::<Sgsn>(OSMO_SGSN);
    let expected = "!
line vty
 no login
!
sgsn
 gtp state-dir /tmp/run
 gtp local-ip 127.0.0.1
 ggsn 0 remote-ip 127.0.0.2
 ggsn 0 gtp-version 1
 ggsn 0 echo-interval 60
 auth-policy accept-all
 encryption gea 0
ns
 timer tns-block 3
 timer tns-block-retries 3
 timer tns-reset 3
 timer tns-reset-retries 3
 timer tns-test 30
 timer tns-alive 3
 timer tns-alive-retries 10
 timer tsns-prov 3
 timer tsns-size-retries 3
 timer tsns-config-retries 3
 timer tsns-procedures-retries 3
 bind udp local
  listen 127.0.0.1 23000
  accept-ipaccess
bssgp
";
    assert_eq!(config::write::<Sgsn>(&config), expected);
}

#[test]
fn reporters_and_forced_levels_are_kept() {
    let common = "log stderr\n logging level force-all debug\nstats reporter log\n level peer\n prefix lab\n enable\n\
                  stats reporter log second\n disable\nstats reporter statsd\n remote-ip 192.0.2.9\n";
    let config = round_trip::<Sgsn>(&format!("{common}{OSMO_SGSN}"));
    let kinds = config.common.stats.reporters.iter().map(|reporter| (reporter.kind, reporter.enabled));
    let expected = [(ReporterKind::Log, true), (ReporterKind::Log, false), (ReporterKind::Statsd, false)];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    let log = &config.common.logs[0];
    assert_eq!(log.level(gannet_machine::trace::Category::Mm), gannet_machine::trace::Level::Debug);
    let wrong = problem::<Sgsn>("stats reporter log\n remote-ip 192.0.2.9\n");
    assert!(wrong.contains("the log has no address"), "{wrong}");
    let back = round_trip::<Sgsn>(&format!("{common}no stats reporter log\n{OSMO_SGSN}"));
    assert_eq!(back.common.stats.reporters.len(), 2);
}

#[test]
fn nsvcs_are_taken_back_in_osmocoms_words() {
    let nse = "ns\n nse 7\n  nsvc ipa local 192.0.2.9 22000 nsvci 8\n  nsvc udp local 192.0.2.9 22001\n";
    let with = |more: &str| round_trip::<Sgsn>(&format!("{OSMO_SGSN}{nse}{more}")).ns.nses[0].nsvcs.len();
    assert_eq!(with(""), 2);
    assert_eq!(with("  no nsvc ipa local 192.0.2.9 22000 nsvci 8\n"), 1);
    assert_eq!(with("  no nsvc udp local 192.0.2.9 22001\n"), 1);
    assert_eq!(with("  no nsvc nsvci 8\n"), 1);
    let none = problem::<Sgsn>(&format!("{OSMO_SGSN}{nse}  no nsvc udp local 192.0.2.9 22000\n"));
    assert!(none.contains("There is no such NS-VC"), "{none}");
}

#[test]
fn what_osmo_sgsn_wrote_loads_with_warnings() {
    let loaded = config::read::<Sgsn>("sgsn.cfg", OSMO_SGSN_WRITTEN).unwrap();
    assert_eq!(loaded.config.timers.get_s(GmmTimer::T3350), 7);
    assert!(!loaded.warnings.is_empty());
    assert!(!loaded.warnings.iter().any(|warning| warning.text.contains("sns")), "IP-SNS is here");
    round_trip::<Sgsn>(OSMO_SGSN_WRITTEN);
}

#[test]
fn a_file_of_the_bss_loads() {
    let config = round_trip::<Bss>(BSS);
    assert_eq!(config.fleet.mobiles.count, 10);
    let tun = config.fleet.mobiles.tun.unwrap();
    assert_eq!((tun.prefix.as_str(), tun.count), ("ms", 1));
}

#[test]
fn cards_are_written_back_and_a_wrong_key_is_not_repeated() {
    let (k, op) = ("000102030405060708090A0b0c0d0e0f", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    for card in [
        format!("sim comp128v1 ki {k}"),
        format!("sim comp128v2 ki {k}"),
        format!("sim comp128v3 ki {k}\n encryption gea 0"),
        format!("usim milenage k {k} opc {op}\n encryption gea 1 3 4"),
        format!("usim milenage k {k} op {op}"),
    ] {
        let config = round_trip::<Bss>(&format!("bss\n {card}\n"));
        assert_ne!(config.fleet.mobiles.cards, Cards::None);
        assert!(config::write::<Bss>(&config).contains(&card.to_lowercase()));
        assert!(!format!("{config:?}").contains("241"), "keys are not printed otherwise");
        let config = round_trip::<Bss>(&format!("bss\n {card}\n no sim\n no encryption gea\n"));
        assert_eq!(config, round_trip::<Bss>("bss\n"));
    }
    let shorter = &k[1..];
    for wrong in [format!("sim comp128v1 ki {shorter}"), format!("usim milenage k {k} op {shorter}")] {
        let problem = problem::<Bss>(&format!("bss\n {wrong}\n"));
        assert!(
            problem.contains("a key is 32 hexadecimal digits.") && !problem.contains("0102"),
            "{problem}"
        );
    }
    for wrong in [
        format!(" simm comp128v1 ki {k}"),
        format!(" sim comp128v4 ki {shorter}"),
        format!("  cells 2\n   sim comp128v1 ki {k}"),
        format!("  cells 2\n sim comp128v1 ki {k}"),
        format!(" usim milenage {k}"),
    ] {
        let problem = problem::<Bss>(&format!("bss\n{wrong}\n"));
        assert!(problem.contains("(hidden)") && !problem.contains("0102"), "{problem}");
    }
}

#[test]
fn contexts_of_mobiles_are_written_back() {
    let said = "ms\n ctl socket /run/x\n ctl mode 660\n ctl group users\n cells\n  remote-ip 192.0.2.1\n context gprs\n  apn a.b\n  \
                type ipv4v6\n  mode acknowledged\n  netns blue\n  route default metric 100\n  route 192.0.2.77/24\n  \
                route 2001:db8::7/32 metric 5\n  dns\n  mtu 1482\n context voice\n  beside gprs\n  filter precedence 3 source-port 5060\n  \
                no activate\n";
    let config = round_trip::<MobileStation>(said);
    let [gprs, voice] = &config.contexts[..] else { panic!("{config:?}") };
    assert_eq!((gprs.prefix(), gprs.nsapi.0, voice.nsapi.0, config.ctl.mode), ("gprs", 5, 6, 0o660));
    let route = |to: &str, length, metric| ms::Route { to: to.parse().unwrap(), length, metric };
    assert_eq!(gprs.device.routes, [route("192.0.2.0", 24, 0), route("2001:db8::", 32, 5)]);
    assert!(!voice.activates && voice.beside.as_deref() == Some("gprs"));
    for (wrong, why) in [
        (
            " cells\n context a1\n",
            "'a1' ends with a digit, and the number of the mobile follows: add 'device PREFIX'",
        ),
        (" cells\n context a\n context b\n  device a\n", "the devices of context b are called a too"),
        (" cells\n context a\n context b\n  nsapi 5\n", "context b has NSAPI 5 too"),
        (" cells\n context a\n  beside b\n  filter precedence 1 protocol 17\n", "there is no context b"),
        (" cells\n context a\n context b\n  beside a\n", "is beside another and has no packets"),
        (
            " cells\n context a\n  filter precedence 1 protocol 17\n",
            "'filter' is for a context that is beside another",
        ),
        (
            " cells\n context a\n context b\n  beside a\n  dns\n  filter precedence 1 protocol 17\n",
            "is to go there",
        ),
        (" context a\n", "the mobiles have no way to a network"),
        (" cells\n ctl mode 680\n", "'680' has a digit that is not octal"),
        (" cells\n context a\n  netns ../x\n", "is no name of 'ip netns'"),
        (" cells\n context a\n  mtu 1501\n", "a number from 576 to 1500"),
        (" cells\n context a\n  bit-rate downlink 1 uplink 256001\n", "a number from 1 to 256000"),
        (" cells\n context a\n  device much-too-long\n", "up to 9 letters"),
    ] {
        let problem = problem::<MobileStation>(&format!("ms\n{wrong}"));
        assert!(problem.contains(why), "{wrong}: {problem}");
    }
}

#[test]
fn compression_of_mobiles_is_written_back() {
    for (said, rfc1144, v42bis) in [
        ("", Offer::Refuse, Offer::Refuse),
        (" compression rfc1144 passive\n compression v42bis passive\n", Offer::Passive(15), {
            Offer::Passive(V42bisLimits::default())
        }),
        (
            " compression rfc1144 active slots 256\n compression v42bis active direction sgsn codewords 512 strlen 250\n",
            Offer::Active(255),
            Offer::Active(V42bisLimits { p0: 2, p1: 512, p2: 250 }),
        ),
        (
            " compression rfc1144 active slots 1\n compression v42bis active direction both codewords 65535 strlen 6\n",
            Offer::Active(0),
            Offer::Active(V42bisLimits { p0: 3, p1: 65_535, p2: 6 }),
        ),
        (" compression v42bis active direction ms codewords 2048 strlen 20\n", Offer::Refuse, {
            Offer::Active(V42bisLimits { p0: 1, p1: 2048, p2: 20 })
        }),
    ] {
        let config = round_trip::<Bss>(&format!("bss\n{said}"));
        assert_eq!(config.fleet.compression, CompressionConfig { rfc1144, v42bis });
        assert!(config::write::<Bss>(&config).contains(said));
        let taken_back =
            round_trip::<Bss>(&format!("bss\n{said} no compression rfc1144\n no compression v42bis\n"));
        assert_eq!(taken_back.fleet.compression, CompressionConfig::default());
    }
    for (wrong, what) in
        [("rfc1144 active slots 257", "256"), ("v42bis active direction ms codewords 511 strlen 6", "512")]
    {
        let problem = problem::<Bss>(&format!("bss\n compression {wrong}\n"));
        assert!(problem.starts_with("x.cfg:2: ") && problem.contains(what), "{problem}");
    }
}

#[test]
fn everything_that_can_be_said_is_written_back() {
    let config = round_trip::<Sgsn>(
        "hostname Kiel
log stderr
 logging color 0
 logging level set-all error
 logging level lbssgp debug
log file /tmp/x.log
 logging timestamp 1
 logging print extended-timestamp 1
 logging level mm info
sgsn
 gtp local-ip 10.0.0.1
 gtp local-ipv6 2001:db8::1
 gtp source-check control
 gtp path-failure-delay 90
 gtp peer 10.0.0.7
 gtp t3-response 5
 gtp n3-requests 3
 ggsn 0 remote-ip 10.0.0.2
 ggsn 0 echo-interval 60
 ggsn 7 remote-ip 10.0.0.3
 ggsn 7 no echo-interval
 apn * ggsn 0
 apn mms imsi-prefix 00101 ggsn 7
 timer t3312 3600
 short name Gannet
 long name Gannet (Kiel)
 authentication updates
 llc n201-u 1520
 max-mobiles 100000
 max-cells 400
 max-unconfirmed-octets 4294967295
ns
 timer tns-alive-retries 3
 timer tsns-prov 5
 timer tsns-size-retries 6
 timer tsns-config-retries 7
 timer tsns-procedures-retries 8
 bind udp one
  listen 10.0.0.1 23000
  accept-dynamic-ip-sns
  ip-sns signalling-weight 3 data-weight 4
 ip-sns-default bind one
 nse 7
  ip-sns-bind one
 nse 8 ip-sns-role-sgsn
  ip-sns-bind one
 bind udp two
  listen ::1 23000
  accept-ipaccess
 nse 101
  nsvc ipa one 10.1.0.1 22000 nsvci 101
  nsvc udp two ::2 22000 signalling-weight 0 data-weight 7
  nsvc udp two ::2 22001
bssgp
 flow-control default bvc bmax 5000 rate 2500
 flow-control default ms bmax 1000 rate 500
 queue-limit ms 10
 queue-limit cell 20
 pdu-lifetime infinite
 overload interval 30
ctrl
 bind 127.0.0.1 4999
",
    );
    assert_eq!(config.common.hostname.as_deref(), Some("Kiel"));
    assert_eq!(config.common.logs.len(), 2);
    assert_eq!((config.bssgp.pdu_lifetime_cs, config.limits.unconfirmed_octets), (None, u32::MAX));
    let problem = problem::<Sgsn>("sgsn\n max-unconfirmed-octets 65535\n gtp local-ip 1.2.3.4\n");
    assert!(
        problem.starts_with("x.cfg:2: ") && problem.contains("a number from 65536 to 4294967295"),
        "{problem}"
    );
    let [seven, eight, nse] = &config.ns.nses[..] else { panic!("{:?}", config.ns.nses) };
    assert_eq!((seven.ip_sns_binds.len(), eight.ip_sns_role_sgsn, nse.nsvcs.len()), (1, true, 3));
    assert_eq!((config.ns.binds[0].ip_sns_weights, config.ns.timers.sns_procedures_retries), ((3, 4), 8));
    let bss = "bss\n cells 100\n cells-per-nse 7\n mnc 012\n rac 3\n bvci-base 200\n imsi-base 262010000000042\n \
               gb-dialect ip-sns\n ip-sns endpoints 2\n ip-sns spare-endpoints 3\n combined-procedures\n no attach-rate\n no activate-on-attach\n qos precedence 1 delay 2 reliability 3 peak 4 mean 31\n \
               radio downlink 5000 uplink 2500\n flow-control ms bmax 600 rate 700\n \
               radio rlcmac slots 5 cs 4 c-i 12\n radio rlcmac multislot-class 10\n radio rlcmac ccch combined\n radio rlcmac control-ack bursts-11\n radio rlcmac idle-poll 270\n \
               timer x2031 2000\n radio rlcmac calls at 1 for 2 slots 3\n radio rlcmac calls at 4 for 5 slots 8\n \
               preemption policy hold-for 63\n preemption access ignore\n preemption mobile hold\n";
    let bss = round_trip::<Bss>(bss);
    assert!(bss.gb.cells.mnc_three_digits && bss.fleet.mobiles.combined);
    let pcu = bss.gb.radio.pcu;
    assert_eq!((pcu.multislot_class, pcu.idle_ms, pcu.idle_poll_ms), (10, 2000, 270));
    assert_eq!((pcu.has_combined_ccch, pcu.control_ack), (true, ControlAck::Bursts11));
    for (line, sharing) in [
        (
            "radio rlcmac calls periods 3 between 60 slots 8",
            Sharing {
                calls: Some(CallsBy::Periods { span_s: 3, between_s: 60, slots: 8 }),
                ..Sharing::default()
            },
        ),
        (
            "radio rlcmac calls erlang 700 holding 90 seed 5",
            Sharing {
                calls: Some(CallsBy::Erlang { millierlangs: 700, holding_s: 90, seed: 5 }),
                ..Sharing::default()
            },
        ),
        ("preemption policy flush", Sharing { policy: PreemptionPolicy::Flush, ..Sharing::default() }),
        ("preemption policy hold", Sharing { policy: PreemptionPolicy::Hold, ..Sharing::default() }),
    ] {
        let text = format!("bss\n radio rlcmac slots 5 cs 4\n {line}\n");
        assert_eq!(round_trip::<Bss>(&text).gb.radio.sharing, sharing, "{line}");
    }
    let alone = "bss\n radio rlcmac calls periods 3 between 60 slots 8\n";
    let problem = config::read::<Bss>("x.cfg", alone).expect_err("a problem").to_string();
    assert!(problem.contains("add 'radio rlcmac slots N cs N'"), "{problem}");
    round_trip::<Ggsn>(
        "ggsn a\n description two words\n gtp bind-ip 10.0.0.1\n gtp bind-ipv6 2001:db8::2\n gtp source-check off\n no gtp path-failure-delay\n gtp peer 10.0.0.9\n gtp peer 2001:db8::9 max-contexts 7\n echo-interval 99\n store /var/x\n gtp bind-ip 10.0.0.1\n max-pdp-contexts 9\n sgsn-restart delete\n apn x\n  shutdown\n  no g-pdu tx-sequence-numbers\n apn y\n  gtpu-mode kernel-gtp\n  tun-device t\n  ipup-script /a\n  ipdown-script /c\n  type-support v4\n  type-support v6\n  mtu 1400 apply\n  mss-clamp 1200\n  ip prefix dynamic 10.1.0.0/16\n  ip prefix static 10.2.0.0/16\n  ip dns 1 10.0.0.53\n  ipv6 prefix dynamic 2001:db8::/56\n  ipv6 prefix static 2001:db8:1::/56\n  ipv6 dns 0 2001:db8::53\n  ipv6 ifconfig 2001:db8::1/64\n  ipv6 link-local fe80::7/64\n  client-to-client inside\n  idle-timeout 600\n  mbr-police\n  pap refuse\n apn z\n  mtu default apply\n  mss-clamp mtu\n  client-to-client refuse\n  pap ignore\n shutdown ggsn\nggsn b\n gtp bind-ip 10.0.0.2\n no echo-interval\n",
    );
    assert_eq!(
        round_trip::<Sgsn>("sgsn\n gtp local-ip 1.2.3.4\n"),
        SgsnConfig { gtp_local_ip: "1.2.3.4".parse().ok(), ..SgsnConfig::default() }
    );
}

#[test]
fn errors_name_file_line_and_the_nearest_command() {
    for (text, expected) in [
        (
            "ns\n timr tns-block 3\n",
            "x.cfg:2: unknown command 'timr tns-block 3' in node config-ns; the nearest known is 'timer (tns-block|",
        ),
        (
            "! a comment\nsgsn\n ggsn 0 remote-ip 1.2.3\n",
            "x.cfg:3: 'ggsn 0 remote-ip 1.2.3' in node config-sgsn: '1.2.3' must be an IPv4 address",
        ),
        (
            "ns\n bind udp a\n listen 127.0.0.1 1\n",
            "x.cfg:3: unknown command 'listen 127.0.0.1 1' in node config-ns; it is known in node config-ns-bind",
        ),
        ("sgsn\n ggsn 0\n", "x.cfg:2: incomplete command 'ggsn 0' in node config-sgsn"),
        (
            "sgsn\n gtp local-ip 1.2.3.4\n auth-policy remote\n",
            "x.cfg:3: 'auth-policy remote' asks an HLR: add 'gsup remote-ip A.B.C.D' under 'sgsn'",
        ),
        (
            "sgsn\n gtp local-ip 1.2.3.4\n authentication required\n",
            "x.cfg:3: 'authentication required' asks an HLR, and 'auth-policy accept-all' does not",
        ),
        (
            "sgsn\n gtp local-ip 1.2.3.4\n encryption gea 1 3\n",
            "x.cfg:3: 'encryption gea' without 0 makes every mobile cipher, which takes 'auth-policy remote'",
        ),
        ("sgsn\n imsi-acl add 12x\n", "x.cfg:2: 'imsi-acl add 12x': an IMSI has 6 to 15 digits."),
        ("sgsn\n gsup oap-id 7\n", "x.cfg:2: 'gsup oap-id 7': osmo-hlr knows no OAP"),
        (
            "sgsn\n compression rfc1144 active slots 257\n",
            "x.cfg:2: 'compression rfc1144 active slots 257' in node config-sgsn: '257' must be a number from 1 to 256",
        ),
        (
            "sgsn\n gtp local-ip 1.2.3.4\nns\n bind udp a\n  accept-dynamic-ip-sns\n ip-sns-default bind a\n",
            "x.cfg:4: bind udp a needs a line 'listen",
        ),
        (
            "sgsn\n gtp local-ip 1.2.3.4\nns\n ip-sns-default bind a\n",
            "x.cfg:4: ip-sns-default names bind a, which is not there",
        ),
        (
            "sgsn\n gtp local-ip 1.2.3.4\nns\n nse 7\n  ip-sns-bind a\n",
            "x.cfg:5: nse 7 has ip-sns-bind a, which is not there",
        ),
        (
            "ns\n nse 7\n  ip-sns-bind a\n  nsvc ipa a 1.2.3.4 1 nsvci 1\n",
            "x.cfg:4: 'nsvc ipa a 1.2.3.4 1 nsvci 1': an NSE has either NS-VCs",
        ),
        ("line vty\n login\n", "x.cfg:2: 'login': a password is not implemented"),
        (
            "sgsn\n  gtp local-ip 1.2.3.4\n ggsn 0 gtp-version 1\n",
            "x.cfg:3: 'ggsn 0 gtp-version 1' is indented by 1 blanks, as no line above it is",
        ),
        (" sgsn\n", "x.cfg:1: 'sgsn' is indented, and the line above opens no node"),
        (
            "sgsn\n gtp local-ip 1.2.3.4\n  ggsn 0 gtp-version 1\n",
            "x.cfg:3: 'ggsn 0 gtp-version 1' is indented, and",
        ),
        ("sgsn\n list\n", "x.cfg:2: 'list' is for a session"),
        ("sgsn\n", "x.cfg:1: the SGSN has no address: add 'gtp local-ip A.B.C.D' under 'sgsn'"),
        ("sgsn\n gtp local-ip 1.2.3.4\nns\n bind udp a\n", "x.cfg:4: bind udp a needs a line 'listen"),
        (
            "sgsn\n gtp local-ip 1.2.3.4\n apn * ggsn 3\n",
            "x.cfg:3: APN * leads to GGSN 3, which is not there",
        ),
    ] {
        let problem = problem::<Sgsn>(text);
        assert!(
            problem.lines().any(|line| line.starts_with(expected)),
            "{problem}\n  instead of\n{expected}"
        );
    }
    let problem = problem::<Ggsn>("ggsn a\n gtp bind-ip 1.2.3.4\n apn b\n  ipv6 link-local 2001:db8::1/64\n");
    assert_eq!(
        problem,
        "x.cfg:4: 'ipv6 link-local 2001:db8::1/64': 2001:db8::1/64 is no link-local address of one node: fe80::…/64."
    );
}

#[test]
fn saving_replaces_the_file_as_a_whole() {
    let directory = gannet_testkit::TempDir::new("gannet-ops");
    let path = directory.path().join("sgsn.cfg");
    config::save(&path, "old\n").unwrap();
    config::save(&path, OSMO_SGSN).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), OSMO_SGSN);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    assert!(config::load::<Sgsn>(&path).is_ok());
    assert!(config::save(&directory.path().join("no/such"), "").is_err());
    let missing = config::load::<Sgsn>(&directory.path().join("none.cfg")).unwrap_err();
    assert!(missing.to_string().contains("none.cfg"));
}

/// The BSS emulator's has the keys of its cards.
#[test]
fn a_new_configuration_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = gannet_testkit::TempDir::new("gannet-ops");
    let path = directory.path().join("bss.cfg");
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    config::save(&path, "new\n").unwrap();
    assert_eq!(mode(), 0o600);
    // An operator may let a group read it.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    config::save(&path, "newer\n").unwrap();
    assert_eq!(mode(), 0o640);
}

#[test]
fn what_is_chosen_of_links_is_written_back() {
    fn check<E: Element>(node: &str, links: impl Fn(&E::Config) -> LinksConfig) {
        assert_eq!(links(&round_trip::<E>(node)), LinksConfig::default());
        let said = " llc sapi 3 window downlink 255 uplink 1\n llc sapi 3 buffer downlink 24320 uplink 9\n llc sapi 3 n201-i 140\n \
                    llc sapi 3 t200 1\n llc sapi 3 n200 15\n llc sapi 11 buffer downlink 0 uplink 0\n llc sapi 11 t200 4095\n \
                    llc sapi 11 retransmission go-back-n\n llc sapi 11 timer ms 10\n";
        let config = round_trip::<E>(&format!("{node}\n{said}"));
        assert!(config::write::<E>(&config).contains(said));
        let shared = Shared { n201_i: Some(140), t200_tenths: Some(1), n200: Some(15) };
        let usual = LinkConfig::default();
        let three = LinkConfig { k: Some((255, 1)), m: Some((24_320, 9)), shared, ..usual };
        let shared = Shared { t200_tenths: Some(4095), ..Shared::default() };
        let eleven = LinkConfig {
            m: Some((0, 0)),
            shared,
            retransmission: Some(Retransmission::GoBackN),
            timing: Some(Timing::Chosen(Duration::from_millis(10))),
            ..usual
        };
        assert_eq!([3, 11].map(|sapi| links(&config).of(Sapi(sapi))), [three, eleven]);
        let config = round_trip::<E>(&format!("{node}\n{said} no llc sapi 3\n no llc sapi 11\n"));
        assert_eq!(links(&config), LinksConfig::default());
        for (wrong, what) in [
            ("3 window downlink 0 uplink 1", "from 1 to 255"),
            ("3 buffer downlink 8 uplink 9", "9 to 24320 units of 16 octets, not 8."),
            ("3 n201-i 139", "from 140 to 1520"),
            ("3 t200 4096", "from 1 to 4095"),
            ("3 n200 16", "from 1 to 15"),
            ("3 timer ms 0", "from 1 to 60000"),
            ("3 retransmission none", "selective"),
            ("7 n200 3", "must be 3, 5, 9 or 11"),
        ] {
            let problem = problem::<E>(&format!("{node}\n llc sapi {wrong}\n"));
            let line = format!("x.cfg:{}: ", node.lines().count() + 1);
            assert!(problem.starts_with(&line) && problem.contains(what), "{problem}");
        }
    }
    check::<Sgsn>("sgsn\n gtp local-ip 10.0.0.1", |config| config.links);
    check::<Bss>("bss", |config| config.fleet.links);
    check::<MobileStation>("ms\n bearer ethernet eth0", |config| config.fleet.links);
}

/// What osmo-sgsn takes and has no meaning here is taken, and said.
#[test]
fn lines_of_osmo_sgsn_without_a_meaning_are_taken_and_named() {
    let lines = "log systemd-journal raw\n logging level set-all notice\nlog alarms 98\n logging color 0\ncpu-sched\n policy rr 1\n\
                 cs7 instance 0\n network-indicator national\n point-code 0.23.4\n asp a 2905 0 m3ua\n  remote-ip 192.0.2.1 ! here\n  \
                 sctp-role client\n as b m3ua\n  asp a\n  routing-key 3 0.23.4\n sccp-address c\n  routing-indicator GT\n  \
                 global-title\n   digits 123\n";
    let mme = "  gtp remote-ip 127.0.0.9\n  gtp ran-info-relay 262 42 3\n  gtp ran-info-relay default\n";
    let text = format!("{lines}{OSMO_SGSN}").replace("sgsn\n", &format!("sgsn\n mme test\n{mme}"));
    let loaded = config::read::<Sgsn>("x.cfg", &text).unwrap_or_else(|error| panic!("{error}"));
    let said: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    for about in [
        "x.cfg:1: taken as 'log stderr'",
        "x.cfg:3: ",
        "x.cfg:7: taken without effect: there is no SS7",
        "(RIM)",
    ] {
        assert!(said.iter().any(|line| line.contains(about)), "{about}: {said:#?}");
    }
    assert_eq!(loaded.config.common.logs.len(), 1);
    // Elsewhere such a line is as wrong as it was, and nobody is sent to where everything is taken.
    let wrong = problem::<Sgsn>(&format!("{OSMO_SGSN}sgsn\n nonsense 7\n"));
    assert!(wrong.contains("unknown command 'nonsense 7'") && !wrong.contains("cs7"), "{wrong}");
}
