//! A test that every word of a configuration has an effect: what it changes reaches the node's plan, or what is built beside
//! it, or a reason says why not.

use crate::ap::AccessPoint;
use crate::bss::BssNode;
use crate::edge::EdgeNode;
use crate::ggsn::GgsnNode;
use crate::ms::MsNode;
use crate::node::Node;
use crate::sgsn::SgsnNode;
use gannet_ops::config;
use gannet_ops::grammar::{Action, Commands, Grammar, Node as Place};
use gannet_ops::vty::osmocom::samples;

/// What a node is made of, as text.
type Made<N> = fn(&<<N as Node>::Element as Commands>::Config) -> Option<String>;

fn made<N: Node>(text: &str, of: Made<N>) -> Option<String> {
    let config = config::read::<N::Element>("x", text).ok()?.config;
    of(&config)
}

/// A command that needs other lines beside it: the pattern, those lines, and those that change something with them.
type Example = (&'static str, &'static str, &'static str);
/// A command without an effect, and why that is so.
type Reason = (&'static str, &'static str);

/// A line, and the same with each number one more: the first number is often the default.
fn variants(words: &[String]) -> Vec<String> {
    let mut all = vec![words.join(" ")];
    for (place, word) in words.iter().enumerate() {
        if let Ok(number) = word.parse::<u64>() {
            let mut other = words.to_vec();
            other[place] = (number + 1).to_string();
            all.push(other.join(" "));
        }
    }
    all
}

/// Commands without an effect, and not excused. A command that opens a node is there for the lines in it.
fn without_effect<N: Node>(
    minimal: &str,
    (examples, reasons): (&[Example], &[Reason]),
    of: Made<N>,
) -> Vec<String> {
    let grammar = Grammar::<N::Element>::new();
    let places = || Place::ALL.iter().copied().filter(|place| place.is_config());
    let commands =
        || places().flat_map(|place| grammar.commands(place).iter().map(move |command| (place, command)));
    // A second base has all that fits together: what takes something back needs it there.
    let mut full = minimal.to_owned();
    for (place, command) in commands().filter(|(_, command)| {
        let changes = matches!(command.action(), Action::Set(_) | Action::Enter(..));
        changes && !command.pattern().starts_with("no ") && !command.pattern().contains("shutdown")
    }) {
        let Some(words) = samples(command.pattern()).into_iter().next() else { continue };
        let more = format!("{full}{}", place.with_line(&words.join(" ")));
        if made::<N>(&more, of).is_some() {
            full = more;
        }
    }
    let before = |base: &str| made::<N>(base, of).unwrap_or_else(|| panic!("not right: {base}"));
    let bases = [minimal, &full].map(|base| (base.to_owned(), before(base)));
    let has_effect = |place: Place, line: &str| {
        bases.iter().any(|(base, before)| {
            made::<N>(&format!("{base}{}", place.with_line(line)), of).is_some_and(|made| made != *before)
        })
    };
    let by_example = |pattern: &str| {
        examples.iter().filter(|(whose, ..)| *whose == pattern).any(|(_, beside, lines)| {
            let base = format!("{minimal}{beside}");
            made::<N>(&format!("{base}{lines}"), of).is_some_and(|made| made != before(&base))
        })
    };
    let set = commands().filter(|(_, command)| matches!(command.action(), Action::Set(_)));
    let idle = set.filter(|(place, command)| {
        let pattern = command.pattern();
        let excused = OF_ALL.iter().chain(reasons).any(|(excused, _)| *excused == pattern);
        let lines = || samples(pattern).into_iter().flat_map(|words| variants(&words));
        !excused && !by_example(pattern) && !lines().any(|line| has_effect(*place, &line))
    });
    idle.map(|(place, command)| format!("{}: {}", place.name(), command.pattern())).collect()
}

/// Of every element.
const OF_ALL: &[Reason] = &[
    ("no login", "so it is anyway: 'login' is refused"),
    ("logging print thread-id (0|1)", "there is one thread"),
    ("logging print category-hex (0|1)", "categories are words"),
    ("logging print file (0|1|basename) [last]", "lines have no file"),
    ("disable", "see the tests of reports"),
    ("description .TEXT", "it is for people"),
    ("no description", "it is for people"),
];

const OF_SGSN: (&[Example], &[Reason]) = (
    &[
        ("gtp peer ADDRESS", "", "sgsn\n gtp peer 192.0.2.9\n"),
        ("no gtp peer ADDRESS", "sgsn\n gtp peer 192.0.2.9\n", "sgsn\n no gtp peer 192.0.2.9\n"),
        (
            "encryption gea <0-4> [<0-4>] [<0-4>] [<0-4>] [<0-4>]",
            "sgsn\n auth-policy remote\n",
            "sgsn\n encryption gea 0 3\n",
        ),
        ("no gtp local-ipv6", "sgsn\n gtp local-ipv6 2001:db8::1\n", "sgsn\n no gtp local-ipv6\n"),
        ("gsup remote-ip A.B.C.D", "sgsn\n auth-policy remote\n", "sgsn\n gsup remote-ip 127.0.0.9\n"),
        ("gsup remote-port <0-65535>", "sgsn\n auth-policy remote\n", "sgsn\n gsup remote-port 4223\n"),
        ("no bind ID", "ns\n bind udp b\n  listen 127.0.0.1 23001\n", "ns\n no bind b\n"),
        (
            "ip-sns-default bind ID",
            "ns\n bind udp local\n  accept-dynamic-ip-sns\n bind udp b\n  listen 127.0.0.1 23001\n",
            "ns\n ip-sns-default bind b\n",
        ),
        (
            "accept-dynamic-ip-sns",
            "ns\n ip-sns-default bind local\n",
            "ns\n bind udp local\n  accept-dynamic-ip-sns\n",
        ),
        ("no accept-dynamic-ip-sns", SNS, "ns\n bind udp local\n  no accept-dynamic-ip-sns\n"),
        ("no ip-sns-default bind ID", SNS_OF_TWO, "ns\n no ip-sns-default bind b\n"),
        (
            "ip-sns signalling-weight <0-254> data-weight <0-254>",
            SNS,
            "ns\n bind udp local\n  ip-sns signalling-weight 3 data-weight 4\n",
        ),
        ("apn APNAME imsi-prefix IMSIPRE ggsn <0-255>", "", "sgsn\n apn * imsi-prefix 00101 ggsn 0\n"),
        ("ip-sns-bind BINDID", "", "ns\n nse 7\n  ip-sns-bind local\n"),
        (
            "no ip-sns-bind BINDID",
            "ns\n nse 7\n  ip-sns-bind local\n",
            "ns\n nse 7\n  no ip-sns-bind local\n",
        ),
        ("nsvc ipa BIND (A.B.C.D|X:X::X:X) <1-65535> nsvci <0-65535>", "", NSVC),
        (
            "no nsvc ipa BIND (A.B.C.D|X:X::X:X) <1-65535> nsvci <0-65535>",
            NSVC,
            "ns\n nse 7\n  no nsvc ipa local 127.0.0.9 22000 nsvci 8\n",
        ),
        ("nsvc udp BIND (A.B.C.D|X:X::X:X) <1-65535>", "", ENDPOINT),
        (
            "nsvc udp BIND (A.B.C.D|X:X::X:X) <1-65535> signalling-weight <0-254> data-weight <0-254>",
            ENDPOINT,
            "ns\n nse 7\n  nsvc udp local 127.0.0.9 22001 signalling-weight 2 data-weight 3\n",
        ),
        (
            "no nsvc udp BIND (A.B.C.D|X:X::X:X) <1-65535>",
            ENDPOINT,
            "ns\n nse 7\n  no nsvc udp local 127.0.0.9 22000\n",
        ),
        ("no nsvc nsvci <0-65535>", NSVC, "ns\n nse 7\n  no nsvc nsvci 8\n"),
        ("no nse <0-65535>", NSVC, "ns\n no nse 7\n"),
    ],
    &[
        ("gsup oap-id <0-65535>", "0 is none; others are refused"),
        ("no access-point-name NAME", "there is none"),
        ("no listen", "a socket without an address is refused"),
        ("no nsvc fr NETIF dlci <16-1007>", "there is none"),
        ("no ip-sns-remote (A.B.C.D|X:X::X:X) <1-65535>", "there is none"),
        ("no fr NETIF", "there is none"),
        ("no dscp", "outgoing datagrams are not marked"),
    ],
);
const SNS: &str = "ns\n bind udp local\n  accept-dynamic-ip-sns\n ip-sns-default bind local\n";
const SNS_OF_TWO: &str = "ns\n bind udp local\n  accept-dynamic-ip-sns\n bind udp b\n  listen 127.0.0.1 23001\n \
                          ip-sns-default bind local\n ip-sns-default bind b\n";
const ENDPOINT: &str = "ns\n nse 7\n  nsvc udp local 127.0.0.9 22000\n";
const NSVC: &str = "ns\n nse 7\n  nsvc ipa local 127.0.0.9 22000 nsvci 8\n";

const OF_GGSN: (&[Example], &[Reason]) = (
    &[
        ("gtp peer ADDRESS", "", "ggsn a\n gtp peer 192.0.2.9\n"),
        ("gtp peer ADDRESS max-contexts <0-1048576>", "", "ggsn a\n gtp peer 192.0.2.9 max-contexts 3\n"),
        ("no gtp peer ADDRESS", "ggsn a\n gtp peer 192.0.2.9\n", "ggsn a\n no gtp peer 192.0.2.9\n"),
        (
            "no gtpu-dscp (conversational|streaming|interactive|background)",
            "ggsn a\n gtpu-dscp streaming 34\n",
            "ggsn a\n no gtpu-dscp streaming\n",
        ),
        ("no gtp control-ip", "ggsn a\n gtp control-ip 192.0.2.9\n", "ggsn a\n no gtp control-ip\n"),
        ("no gtp user-ip", "ggsn a\n gtp user-ip 192.0.2.9\n", "ggsn a\n no gtp user-ip\n"),
        ("no ggsn NAME", SECOND, "no ggsn c\n"),
        ("shutdown ggsn", SECOND, "ggsn c\n shutdown ggsn\n"),
        ("no shutdown ggsn", SHUT, "ggsn c\n no shutdown ggsn\n"),
        ("no apn NAME", "", "ggsn a\n no apn b\n"),
        ("default-apn NAME", "", "ggsn a\n default-apn b\n"),
        ("no default-apn", "ggsn a\n default-apn b\n", "ggsn a\n no default-apn\n"),
        ("no shutdown", "ggsn a\n apn b\n  shutdown\n", "ggsn a\n apn b\n  no shutdown\n"),
        (
            "g-pdu tx-sequence-numbers",
            "ggsn a\n apn b\n  no g-pdu tx-sequence-numbers\n",
            "ggsn a\n apn b\n  g-pdu tx-sequence-numbers\n",
        ),
        ("type-support (v4|v6|v4v6)", POOL, "ggsn a\n apn b\n  type-support v4v6\n"),
        ("no type-support (v4|v6|v4v6)", BOTH, "ggsn a\n apn b\n  no type-support v4v6\n"),
        (
            "ipv6 prefix (static|dynamic) X:X::X:X/M",
            BOTH,
            "ggsn a\n apn b\n  ipv6 prefix dynamic 2001:db8:1::/56\n",
        ),
        ("no ipv6 prefix (static|dynamic)", BOTH_STATIC, "ggsn a\n apn b\n  no ipv6 prefix static\n"),
        ("no ip prefix (static|dynamic)", BOTH_STATIC, "ggsn a\n apn b\n  no ip prefix static\n"),
        ("ipv6 ifconfig X:X::X:X/M", BOTH, "ggsn a\n apn b\n  ipv6 ifconfig 2001:db8::1/64\n"),
        ("no ipv6 ifconfig", BOTH_STATIC, "ggsn a\n apn b\n  no ipv6 ifconfig\n"),
        ("ipv6 link-local X:X::X:X/M", BOTH, "ggsn a\n apn b\n  ipv6 link-local fe80::7/64\n"),
        ("no ipv6 link-local", BOTH_STATIC, "ggsn a\n apn b\n  no ipv6 link-local\n"),
        ("sgsn-restart (forget|delete)", "", "ggsn a\n sgsn-restart delete\n"),
        ("no store", "ggsn a\n store /x\n", "ggsn a\n no store\n"),
        ("no max-pdp-contexts", "ggsn a\n max-pdp-contexts 9\n", "ggsn a\n no max-pdp-contexts\n"),
        ("no mtu", "ggsn a\n apn b\n  mtu 1400\n", "ggsn a\n apn b\n  no mtu\n"),
        ("no mss-clamp", "ggsn a\n apn b\n  mss-clamp mtu\n", "ggsn a\n apn b\n  no mss-clamp\n"),
        (
            "no (ip|ipv6) dns <0-1>",
            "ggsn a\n apn b\n  ipv6 dns 0 2001:db8::53\n",
            "ggsn a\n apn b\n  no ipv6 dns 0\n",
        ),
        ("no idle-timeout", "ggsn a\n apn b\n  idle-timeout 60\n", "ggsn a\n apn b\n  no idle-timeout\n"),
        ("no mbr-police", "ggsn a\n apn b\n  mbr-police\n", "ggsn a\n apn b\n  no mbr-police\n"),
        ("no ipup-script", "ggsn a\n apn b\n  ipup-script /bin/true\n", "ggsn a\n apn b\n  no ipup-script\n"),
        (
            "no ipdown-script",
            "ggsn a\n apn b\n  ipdown-script /bin/true\n",
            "ggsn a\n apn b\n  no ipdown-script\n",
        ),
        ("ip prefix (static|dynamic) A.B.C.D/M", "", "ggsn a\n apn b\n  ip prefix dynamic 198.51.100.0/24\n"),
        ("ip static A.B.C.D imsi IMSI sgsn A.B.C.D", "", STATIC),
        ("no ip static A.B.C.D", STATIC, "ggsn a\n apn b\n  no ip static 192.0.2.77\n"),
        ("no qos (downlink|uplink)", QOS, "ggsn a\n apn b\n  no qos downlink\n"),
        ("no rate", QOS, "ggsn a\n apn b\n  qos downlink\n   no rate\n"),
        ("overhead <0-1000>", QOS, "ggsn a\n apn b\n  qos downlink\n   overhead 40\n"),
        ("ef-weight <1-99>", QOS, "ggsn a\n apn b\n  qos downlink\n   ef-weight 60\n"),
        (
            "pool (ef|af) <1500-1000000000>",
            QOS,
            "ggsn a\n apn b\n  qos downlink\n   pool ef 9000\n   pool af 9000\n",
        ),
        ("accounting exact", BUFF_SIZE, "ggsn a\n apn b\n  qos downlink\n   accounting exact\n"),
        (
            "accounting buff-size <20-9000>",
            QOS,
            "ggsn a\n apn b\n  qos downlink\n   accounting buff-size 500\n",
        ),
        ("sharing (present|resulting)", QOS, "ggsn a\n apn b\n  qos downlink\n   sharing resulting\n"),
        (
            "stream NAME (ef|af|control|be) rate <0-10000000>",
            QOS,
            "ggsn a\n apn b\n  qos downlink\n   stream t ef rate 9\n",
        ),
        (
            "stream NAME (ef|af|control|be) rate <0-10000000> burst <0-100000000>",
            QOS,
            "ggsn a\n apn b\n  qos downlink\n   stream t ef rate 9 burst 2\n",
        ),
        ("no stream NAME", QOS, "ggsn a\n apn b\n  qos downlink\n   no stream s\n"),
        ("rule <1-1000000> .WORDS", QOS, "ggsn a\n rule 10 in gi apn b stream s mark 3\n"),
        ("no rule <1-1000000>", "ggsn a\n rule 10 drop\n", "ggsn a\n no rule 10\n"),
        ("imsi RANGE", GROUP, "ggsn a\n subscriber-group g\n  imsi 262\n"),
        ("no imsi RANGE", GROUP, "ggsn a\n subscriber-group g\n  no imsi 00101\n"),
        ("no subscriber-group NAME", GROUP, "ggsn a\n no subscriber-group g\n"),
    ],
    &[("gtpu-mode (tun|kernel-gtp)", "one path serves both; a remark says so")],
);
const QOS: &str = "ggsn a\n apn b\n  qos downlink\n   rate 2000\n   stream s af rate 100\n";
const BUFF_SIZE: &str = "ggsn a\n apn b\n  qos downlink\n   rate 2000\n   accounting buff-size 500\n";
const GROUP: &str = "ggsn a\n subscriber-group g\n  imsi 00101\n";
const SECOND: &str = "ggsn c\n gtp bind-ip 127.0.0.4\n no shutdown ggsn\n";
const SHUT: &str = "ggsn c\n gtp bind-ip 127.0.0.4\n shutdown ggsn\n";
const POOL: &str = "ggsn a\n apn b\n  ipv6 prefix dynamic 2001:db8::/56\n";
const BOTH: &str = "ggsn a\n apn b\n  ipv6 prefix dynamic 2001:db8::/56\n  type-support v4v6\n";
const BOTH_STATIC: &str = "ggsn a\n apn b\n  ipv6 prefix dynamic 2001:db8::/56\n  type-support v4v6\n  ip prefix static 198.51.100.0/24\n  \
                           ipv6 prefix static 2001:db8:1::/56\n  ipv6 ifconfig 2001:db8::1/64\n  ipv6 link-local fe80::7/64\n";
const STATIC: &str = "ggsn a\n apn b\n  ip static 192.0.2.77 imsi 001010000000001 sgsn 192.0.2.9\n";

const OF_BSS: (&[Example], &[Reason]) = (
    &[
        ("ip-sns endpoints <1-8>", "bss\n gb-dialect ip-sns\n", "bss\n ip-sns endpoints 3\n"),
        ("ip-sns spare-endpoints <0-8>", "bss\n gb-dialect ip-sns\n", "bss\n ip-sns spare-endpoints 3\n"),
        ("cells-per-nse <1-65000>", "bss\n cells 6\n", "bss\n cells-per-nse 2\n"),
        ("cells-per-routing-area <1-65000>", "bss\n cells 6\n", "bss\n cells-per-routing-area 2\n"),
        ("imei-base IMEI", "", "bss\n imei-base 35293601000007\n"),
        ("imsi-base IMSI", "", "bss\n imsi-base 001010000000777\n"),
        ("activate-on-attach", "bss\n no activate-on-attach\n", "bss\n activate-on-attach\n"),
        ("timer t3192 <0-1500>", "bss\n radio rlcmac slots 3 cs 2\n", "bss\n timer t3192 1000\n"),
        ("no radio rlcmac", "bss\n radio rlcmac slots 3 cs 2\n", "bss\n no radio rlcmac\n"),
        ("radio rlcmac calls periods <1-86400> between <1-86400> slots <1-8>", BSS_RLCMAC, BSS_PERIODS),
        ("radio rlcmac calls at <0-86400> for <1-86400> slots <1-8>", BSS_RLCMAC, BSS_CALLS),
        (
            "radio rlcmac calls erlang <1-100000> holding <1-86400> seed <0-4294967295>",
            BSS_RLCMAC,
            "bss\n radio rlcmac calls erlang 700 holding 90 seed 1\n",
        ),
        ("no radio rlcmac calls", BSS_CALLING, "bss\n no radio rlcmac calls\n"),
        ("preemption policy (flush|hold|forward)", BSS_RLCMAC, "bss\n preemption policy flush\n"),
        ("preemption policy hold-for <0-63>", BSS_RLCMAC, "bss\n preemption policy hold-for 7\n"),
        ("preemption access (ignore|reject)", BSS_RLCMAC, "bss\n preemption access ignore\n"),
        ("preemption mobile (hold|flush)", BSS_RLCMAC, "bss\n preemption mobile hold\n"),
        (
            "radio um virtual arfcn <0-1023> groups A.B.C.D A.B.C.D",
            "bss\n radio rlcmac slots 3 cs 2\n",
            "bss\n radio um virtual arfcn 7 groups 239.0.0.1 239.0.0.2\n",
        ),
    ],
    &[],
);

const BSS_RLCMAC: &str = "bss\n radio rlcmac slots 3 cs 2\n";
const BSS_PERIODS: &str = "bss\n radio rlcmac calls periods 3 between 60 slots 8\n";
const BSS_CALLS: &str = "bss\n radio rlcmac calls at 1 for 2 slots 3\n";
const BSS_CALLING: &str = "bss\n radio rlcmac slots 3 cs 2\n radio rlcmac calls at 1 for 2 slots 3\n";

const OF_EDGE: (&[Example], &[Reason]) = (
    &[
        ("no interface NAME", "edge\n interface c\n", "edge\n no interface c\n"),
        ("no rate", LINE, "edge\n interface b\n  no rate\n"),
        ("overhead <0-1000>", LINE, "edge\n interface b\n  overhead 40\n"),
        ("ef-weight <1-99>", LINE, "edge\n interface b\n  ef-weight 60\n"),
        ("pool (ef|af) <1500-1000000000>", LINE, "edge\n interface b\n  pool ef 9000\n  pool af 9000\n"),
        (
            "accounting exact",
            "edge\n interface b\n  rate 2000\n  accounting buff-size 500\n",
            "edge\n interface b\n  accounting exact\n",
        ),
        ("accounting buff-size <20-9000>", LINE, "edge\n interface b\n  accounting buff-size 500\n"),
        ("sharing (present|resulting)", LINE, "edge\n interface b\n  sharing resulting\n"),
        (
            "stream NAME (ef|af|control|be) rate <0-10000000>",
            LINE,
            "edge\n interface b\n  stream t ef rate 9\n",
        ),
        (
            "stream NAME (ef|af|control|be) rate <0-10000000> burst <0-100000000>",
            LINE,
            "edge\n interface b\n  stream t ef rate 9 burst 2\n",
        ),
        ("no stream NAME", LINE, "edge\n interface b\n  no stream s\n"),
        ("rule <1-1000000> .WORDS", LINE, "edge\n rule 10 in a stream s mark 3\n"),
        ("no rule <1-1000000>", "edge\n rule 10 drop\n", "edge\n no rule 10\n"),
    ],
    &[],
);
const LINE: &str = "edge\n interface b\n  rate 2000\n  stream s af rate 100\n";

#[test]
fn every_word_of_an_edge_router_has_an_effect_or_a_reason() {
    let base = "edge\n interface a\n interface b\nlog stderr\nstats reporter statsd x\nmetrics\nctrl\n";
    let idle = without_effect::<EdgeNode>(base, OF_EDGE, |config| {
        let plan = EdgeNode::plan(config, &mut Vec::new()).ok()?;
        Some(format!("{plan:?} {:?}", config.common))
    });
    assert!(idle.is_empty(), "without effect: {idle:#?}");
}

const OF_MS: (&[Example], &[Reason]) = (
    &[
        ("ip-sns endpoints <1-8>", IP_SNS, "ms\n cells\n  ip-sns endpoints 3\n"),
        ("ip-sns spare-endpoints <0-8>", IP_SNS, "ms\n cells\n  ip-sns spare-endpoints 3\n"),
        ("cells-per-nse <1-65000>", CELLS, "ms\n cells\n  cells-per-nse 2\n"),
        ("cells-per-routing-area <1-65000>", CELLS, "ms\n cells\n  cells-per-routing-area 2\n"),
        ("imei-base IMEI", "", "ms\n imei-base 35293601000007\n"),
        ("imsi-base IMSI", "", "ms\n imsi-base 001010000000777\n"),
        ("activate-on-attach", "ms\n no activate-on-attach\n", "ms\n activate-on-attach\n"),
        (
            "timer t3192 <0-1500>",
            "ms\n cells\n  radio rlcmac slots 3 cs 2\n",
            "ms\n cells\n  timer t3192 1000\n",
        ),
        ("no radio rlcmac", "ms\n cells\n  radio rlcmac slots 3 cs 2\n", "ms\n cells\n  no radio rlcmac\n"),
        ("radio rlcmac calls periods <1-86400> between <1-86400> slots <1-8>", MS_RLCMAC, MS_PERIODS),
        ("radio rlcmac calls at <0-86400> for <1-86400> slots <1-8>", MS_RLCMAC, MS_CALLS),
        (
            "radio rlcmac calls erlang <1-100000> holding <1-86400> seed <0-4294967295>",
            MS_RLCMAC,
            "ms\n cells\n  radio rlcmac calls erlang 700 holding 90 seed 1\n",
        ),
        ("no radio rlcmac calls", MS_CALLING, "ms\n cells\n  no radio rlcmac calls\n"),
        ("preemption policy (flush|hold|forward)", MS_RLCMAC, "ms\n cells\n  preemption policy flush\n"),
        ("preemption policy hold-for <0-63>", MS_RLCMAC, "ms\n cells\n  preemption policy hold-for 7\n"),
        ("preemption access (ignore|reject)", MS_RLCMAC, "ms\n cells\n  preemption access ignore\n"),
        ("preemption mobile (hold|flush)", MS_RLCMAC, "ms\n cells\n  preemption mobile hold\n"),
        (
            "radio um virtual arfcn <0-1023> groups A.B.C.D A.B.C.D",
            "ms\n cells\n  radio rlcmac slots 3 cs 2\n",
            "ms\n cells\n  radio um virtual arfcn 7 groups 239.0.0.1 239.0.0.2\n",
        ),
        ("no context NAME", "", "ms\n no context a\n"),
        ("no apn", "ms\n context a\n  apn x\n", "ms\n context a\n  no apn\n"),
        ("no type", "ms\n context a\n  type ipv6\n", "ms\n context a\n  no type\n"),
        ("no qos", MS_QOS, "ms\n context a\n  no qos\n"),
        ("no mode", "ms\n context a\n  mode acknowledged\n", "ms\n context a\n  no mode\n"),
        ("activate", "ms\n context a\n  no activate\n", "ms\n context a\n  activate\n"),
        ("beside NAME", "ms\n context b\n", BESIDE),
        ("no beside", BESIDE, "ms\n context b\n  no beside\n  no filter\n"),
        ("filter precedence <0-255> (protocol|source-port|destination-port) <0-65535>", BESIDE, OTHER_FILTER),
        ("no filter", BESIDE, "ms\n context b\n  no beside\n  no filter\n"),
        ("no device", "ms\n context a\n  device x\n", "ms\n context a\n  no device\n"),
        ("no netns", "ms\n context a\n  netns x\n", "ms\n context a\n  no netns\n"),
        ("no dns", "ms\n context a\n  dns\n", "ms\n context a\n  no dns\n"),
        ("no mtu", "ms\n context a\n  mtu 1000\n", "ms\n context a\n  no mtu\n"),
        ("no route default", "ms\n context a\n  route default\n", "ms\n context a\n  no route default\n"),
        ("no route A.B.C.D/M", ROUTE, "ms\n context a\n  no route 192.0.2.0/24\n"),
        ("no route X:X::X:X/M", ROUTE, "ms\n context a\n  no route 2001:db8::/32\n"),
    ],
    &[
        ("no cells", "mobiles without a way to a network are refused"),
        ("bearer ethernet DEVICE", "see the test of bearers: 'cells' of their own exclude it"),
        ("bearer udp (A.B.C.D|X:X::X:X) <1-65535>", "the same"),
        ("bearer radio um", "the same"),
        ("bearer radio um A.B.C.D A.B.C.D", "the same"),
        ("no bearer radio um", "the same"),
        ("bearer radio multislot-class <1-12>", "the same"),
        ("bearer radio empty-blocks timeslot <0-7>", "the same"),
        ("no bearer radio empty-blocks", "the same"),
        ("no bearer ethernet DEVICE", "the same"),
        ("no bearer udp (A.B.C.D|X:X::X:X) <1-65535>", "the same"),
        ("bearer key id <0-4294967295> key HEX", "the same"),
        ("no bearer key", "the same"),
        ("bearer network-key id <0-4294967295> key HEX", "the same"),
        ("no bearer network-key", "the same"),
        ("bearer hysteresis <0-1000> hold <0-600000>", "the same"),
        ("cell <0-999> <0-999> <0-65535> <0-255> <0-65535>", "the same"),
        ("no cell <0-999> <0-999> <0-65535> <0-255> <0-65535>", "the same"),
    ],
);

const MS_RLCMAC: &str = "ms\n cells\n  radio rlcmac slots 3 cs 2\n";
const MS_PERIODS: &str = "ms\n cells\n  radio rlcmac calls periods 3 between 60 slots 8\n";
const MS_CALLS: &str = "ms\n cells\n  radio rlcmac calls at 1 for 2 slots 3\n";
const MS_CALLING: &str = "ms\n cells\n  radio rlcmac slots 3 cs 2\n  radio rlcmac calls at 1 for 2 slots 3\n";

/// Bearers and 'cells' exclude each other, so that each word of a bearer is tried on a base of its own.
#[test]
fn every_word_of_a_bearer_has_an_effect() {
    let base = "ms\n bearer ethernet a\n cell 001 01 1 0 1\n";
    let made = |text: &str| {
        made::<MsNode>(text, |config| {
            MsNode::plan(config, &mut Vec::new()).ok().map(|plan| format!("{plan:?}"))
        })
    };
    const KEY: &str = "id 7 key 00112233445566778899aabbccddeeff";
    let radio = format!("{base} bearer radio um\n");
    for (line, taken_back) in [
        ("bearer radio multislot-class 8", "bearer radio multislot-class 6"),
        ("bearer radio empty-blocks timeslot 7", "no bearer radio empty-blocks"),
    ] {
        let with = format!("{radio} {line}\n");
        assert!(made(&with).is_some() && made(&with) != made(&radio), "{line}");
        assert_eq!(made(&format!("{with} {taken_back}\n")), made(&radio), "{taken_back}");
    }
    for (line, taken_back) in [
        ("bearer ethernet b".to_owned(), "no bearer ethernet b"),
        ("bearer udp 192.0.2.1 9".to_owned(), "no bearer udp 192.0.2.1 9"),
        ("bearer radio um".to_owned(), "no bearer radio um"),
        ("bearer radio um 239.0.0.1 239.0.0.2".to_owned(), "no bearer radio um"),
        ("bearer udp 2001:db8::1 9".to_owned(), "no bearer udp 2001:db8::1 9"),
        (format!("bearer key {KEY}"), "no bearer key"),
        (format!("bearer network-key {KEY}"), "no bearer network-key"),
        ("bearer hysteresis 200 hold 7".to_owned(), "bearer hysteresis 100 hold 2000"),
        ("cell 001 012 1 0 2".to_owned(), "no cell 001 012 1 0 2"),
    ] {
        let with = format!("{base} {line}\n");
        assert!(made(&with).is_some() && made(&with) != made(base), "{line}");
        assert_eq!(made(&format!("{with} {taken_back}\n")), made(base), "{taken_back}");
    }
}

#[test]
fn every_word_of_an_access_point_has_an_effect_or_a_reason() {
    let base = "ap\n remote-ip 192.0.2.7\n local-ip 192.0.2.2\n bearer ethernet a\nlog stderr\nstats reporter statsd x\nmetrics\nctrl\n";
    let idle = without_effect::<AccessPoint>(base, OF_AP, |config| {
        let plan = AccessPoint::plan(config, &mut Vec::new()).ok()?;
        Some(format!("{plan:?} {:?}", config.common))
    });
    assert!(idle.is_empty(), "without effect: {idle:#?}");
}

const OF_AP: (&[Example], &[Reason]) = (
    &[
        ("ip-sns endpoints <1-8>", "ap\n gb-dialect ip-sns\n", "ap\n ip-sns endpoints 3\n"),
        ("ip-sns spare-endpoints <0-8>", "ap\n gb-dialect ip-sns\n", "ap\n ip-sns spare-endpoints 3\n"),
        ("cells <1-65000>", "", "ap\n cells 2\n bearer ethernet b\n"),
        ("bearer ethernet DEVICE", "", "ap\n cells 2\n bearer ethernet b\n"),
        ("bearer udp (A.B.C.D|X:X::X:X) <1-65535>", "", "ap\n cells 2\n bearer udp 192.0.2.9 7\n"),
        ("no bearer ethernet DEVICE", TWO_LINKS, "ap\n no bearer ethernet b\n cells 2\n"),
        (
            "no bearer udp (A.B.C.D|X:X::X:X) <1-65535>",
            TWO_LINKS,
            "ap\n no bearer udp 192.0.2.9 7\n cells 2\n",
        ),
        ("cells-per-nse <1-65000>", TWO_LINKS, "ap\n cells-per-nse 2\n"),
        ("cells-per-routing-area <1-65000>", TWO_LINKS, "ap\n cells-per-routing-area 2\n"),
        ("no bearer key", AP_KEYS, "ap\n no bearer key\n"),
        ("no bearer network-key", AP_KEYS, "ap\n no bearer network-key\n"),
        ("bearer authentication", AP_KEYS, "ap\n bearer authentication\n"),
        ("no bearer authentication", AP_DEMANDS, "ap\n no bearer authentication\n"),
    ],
    &[("radio rlcmac .TEXT", "it is refused: the cells of an access point are links")],
);
const TWO_LINKS: &str = "ap\n bearer ethernet b\n bearer udp 192.0.2.9 7\n cells 3\n";
const AP_KEYS: &str = "ap\n bearer key id 7 key 00112233445566778899aabbccddeeff\n bearer network-key id 8 key 00112233445566778899aabbccddeeff\n";
const AP_DEMANDS: &str =
    "ap\n bearer key id 7 key 00112233445566778899aabbccddeeff\n bearer authentication\n";

const IP_SNS: &str = "ms\n cells\n  gb-dialect ip-sns\n";
const CELLS: &str = "ms\n cells\n  cells 6\n";
const BESIDE: &str = "ms\n context b\n  beside a\n  filter precedence 1 protocol 17\n";
const OTHER_FILTER: &str = "ms\n context b\n  filter precedence 1 protocol 6\n";
const MS_QOS: &str = "ms\n context a\n  qos precedence 1 delay 1 reliability 3 peak 1 mean 1\n";
const ROUTE: &str = "ms\n context a\n  route 192.0.2.0/24\n  route 2001:db8::/32\n";

#[test]
fn every_word_of_a_mobile_station_has_an_effect_or_a_reason() {
    let base = "ms\n cells\n  remote-ip 192.0.2.7\n  local-ip 192.0.2.2\n context a\nlog stderr\nstats reporter statsd x\nmetrics\nctrl\n";
    let idle = without_effect::<MsNode>(base, OF_MS, |config| {
        let plan = MsNode::plan(config, &mut Vec::new()).ok()?;
        Some(format!("{plan:?} {:?} {:?} {:?}", config.common, config.fleet.mobiles, config.ctl))
    });
    assert!(idle.is_empty(), "without effect: {idle:#?}");
}

#[test]
fn every_word_of_an_sgsn_has_an_effect_or_a_reason() {
    let base = "sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n gsup remote-ip 127.0.0.3\nns\n bind udp local\n  \
                listen 127.0.0.1 23000\nlog stderr\nstats reporter statsd x\nmetrics\nctrl\n";
    let idle = without_effect::<SgsnNode>(base, OF_SGSN, |config| {
        let plan = SgsnNode::plan(config, &mut Vec::new()).ok()?;
        let beside = (&config.common, &config.store, &config.gtp_state_dir, &config.charging);
        let link = crate::sgsn::link_to_hlr(config);
        Some(format!("{plan:?} {beside:?} {link:?}"))
    });
    assert!(idle.is_empty(), "without effect: {idle:#?}");
}

#[test]
fn every_word_of_a_ggsn_has_an_effect_or_a_reason() {
    let base = "ggsn a\n gtp bind-ip 127.0.0.2\n apn b\n  tun-device t\n  ip prefix dynamic 192.0.2.0/24\n  no shutdown\n \
                no shutdown ggsn\nlog stderr\nstats reporter statsd x\nmetrics\nctrl\n";
    let idle = without_effect::<GgsnNode>(base, OF_GGSN, |config| {
        let plan = GgsnNode::plan(config, &mut Vec::new()).ok()?;
        Some(format!("{plan:?} {:?}", config.common))
    });
    assert!(idle.is_empty(), "without effect: {idle:#?}");
}

#[test]
fn every_word_of_a_bss_has_an_effect_or_a_reason() {
    let base = "bss\n remote-ip 192.0.2.7\n local-ip 192.0.2.2\nlog stderr\nstats reporter statsd x\nmetrics\nctrl\n";
    let idle = without_effect::<BssNode>(base, OF_BSS, |config| {
        let plan = BssNode::plan(config, &mut Vec::new()).ok()?;
        Some(format!("{plan:?} {:?} {:?} {:?}", config.common, config.fleet.mobiles, config.air))
    });
    assert!(idle.is_empty(), "without effect: {idle:#?}");
}
