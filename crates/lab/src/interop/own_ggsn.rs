//! Our GGSN: what osmo-ggsn does not do, and what both do, field by field.

use super::bed::{At, Bed};
use super::judge::{CORE, GB, Payload, count, first, frames, until_in};
use super::network::{self, IMSI, SGSN, Setup, address, failed, ping, until_active, until_mobile};
use super::{Found, differences};
use crate::demo::Peer;
use crate::testbed::TestbedError;
use core::net::Ipv6Addr;
use std::time::Duration;

type Result = core::result::Result<Found, TestbedError>;

/// The subscriber's own address, out of the first access point's.
const STATIC: &str = "198.51.100.77";

/// PDU Notification Request, its response, and that of a rejection.
const NOTIFICATION: &str = "gtp.message == 0x1b";
const NOTIFICATION_ANSWER: &str = "gtp.message == 0x1c";
const REQUEST_ACTIVATION: &str = "gsm_a.dtap.msg_sm_type == 0x44";
const PAGING_PS: &str = "bssgp.pdu_type == 0x06";

/// A packet for the static address of a mobile in STANDBY that has no context.
pub fn notification(bed: &mut Bed) -> Result {
    // osmo-hlr knows no static addresses, without which no subscription allows one: the SGSN decides by itself.
    network::start(
        bed,
        &Setup {
            geas: "0",
            asks_hlr: false,
            ggsn: Peer::Gannet,
            internet: "  ip static 198.51.100.77 imsi 001010000000001 sgsn 127.0.0.1\n",
            sgsn: " timer T3314 2\n",
            bss: " no activate-on-attach\n network-requested-activation\n",
            ..Setup::default()
        },
    )?;
    until_mobile(bed, " attached ")?;
    bed.namespace(At::Radio).ip(&["route", "add", "default", "dev", "ms0"]).or_else(|_| {
        // The device has no address yet, and is not up.
        bed.namespace(At::Radio).ip(&["link", "set", "ms0", "up"])?;
        bed.namespace(At::Radio).ip(&["route", "add", "default", "dev", "ms0"])
    })?;
    bed.within(Duration::from_secs(90), "STANDBY", |bed| {
        let context = bed.vty(At::Core, SGSN, &format!("show mm-context imsi {IMSI}"))?.to_uppercase();
        context.contains("STANDBY").then_some(())
    })?;
    // One packet, which is lost: nobody holds it.
    bed.run(At::Core, "ping", &["-n", "-c", "1", "-W", "1", STATIC])?;
    until_in(bed, CORE, "PDU Notification Request", NOTIFICATION)?;
    if bed.sgsn == Peer::Osmocom {
        return without_notification(bed);
    }
    let shown = until_active(bed)?;
    if address(&shown, 5).as_deref() != Some(STATIC) {
        return Err(failed("the address", shown));
    }
    let pings = ping(bed, At::Core, STATIC, &[])?;
    bed.stop(&["bss"]);
    let cause = first(&frames(bed, CORE, NOTIFICATION_ANSWER, &["gtp.cause"])?);
    let notified = count(bed, CORE, NOTIFICATION)?;
    let (paged, asked) = (count(bed, GB, PAGING_PS)?, count(bed, GB, REQUEST_ACTIVATION)?);
    if cause != "128" || notified != 1 || paged == 0 || asked != 1 {
        let what = format!(
            "{notified} PDU Notification Requests with cause {cause}, {paged} PAGING PS, {asked} requests to the mobile"
        );
        return Err(failed("network-requested activation", what));
    }
    Ok(Found::of(
        Payload::Clear,
        format!(
            "1 PDU Notification Request, {paged} PAGING PS, 1 REQUEST PDP CONTEXT ACTIVATION, activated with {STATIC}, \
             {pings} from the network"
        ),
    ))
}

/// osmo-sgsn says nothing to a notification, or refuses.
fn without_notification(bed: &mut Bed) -> Result {
    bed.within(Duration::from_secs(90), "a repetition of the notification, or its answer", |bed| {
        std::thread::sleep(Duration::from_millis(400));
        let of = |filter| count(bed, CORE, filter).unwrap_or_default();
        (of(NOTIFICATION) > 2 || of(NOTIFICATION_ANSWER) > 0).then_some(())
    })?;
    let rows = frames(bed, CORE, NOTIFICATION_ANSWER, &["gtp.cause"])?;
    if first(&rows) == "128" {
        return Err(failed("PDU Notification", "is accepted by osmo-sgsn: the difference is gone"));
    }
    let answers = if rows.is_empty() { "no answer".to_owned() } else { format!("cause {}", first(&rows)) };
    let shown = until_mobile(bed, " attached ")?;
    if shown.contains("NSAPI") {
        return Err(failed("show mobile 1", shown));
    }
    let fact = format!("PDU Notification Request: {answers}, no context");
    Ok(Found::of(Payload::None, fact).but(differences::NO_NOTIFICATION))
}

/// What both GGSNs serve by IPv6 as well.
const IPV6: &str =
    "  type-support v4v6\n  ipv6 prefix dynamic 2001:db8:1::/48\n  ipv6 ifconfig 2001:db8:1::1/48\n";
const HOST: &str = "2001:db8:1::1";
const ADVERTISEMENT: &str = "gtp && icmpv6.type == 134";
const OPTIONS: &str = "icmpv6.opt.type";
/// What a router advertisement says, and whether both GGSNs have to say the same.
const FIELDS: &[(&str, bool)] = &[
    ("ipv6.src", false),
    ("ipv6.dst", false),
    ("ipv6.hlim", true),
    ("ipv6.tclass", true),
    // An MTU behind the prefix makes ours longer.
    ("ipv6.plen", false),
    ("icmpv6.checksum.status", true),
    ("icmpv6.nd.ra.cur_hop_limit", true),
    ("icmpv6.nd.ra.flag", true),
    ("icmpv6.nd.ra.router_lifetime", true),
    ("icmpv6.nd.ra.reachable_time", true),
    ("icmpv6.nd.ra.retrans_timer", true),
    (OPTIONS, false),
    ("icmpv6.opt.prefix.length", true),
    ("icmpv6.opt.prefix.flag", true),
    ("icmpv6.opt.prefix.valid_lifetime", true),
    ("icmpv6.opt.prefix.preferred_lifetime", true),
];

/// A mobile with IPv6 at osmo-ggsn and then at ours.
pub fn ipv6(bed: &mut Bed) -> Result {
    network::start(
        bed,
        &Setup { geas: "0", asks_hlr: false, internet: IPV6, bss: " pdp-type ipv6\n", ..Setup::default() },
    )?;
    let theirs = advertised(bed, 0)?;
    network::order(bed, "mobile 1 detach")?;
    until_mobile(bed, " detached ")?;
    network::until_no_context(bed)?;
    bed.stop(&["ggsn"]);
    network::start_ggsn(bed, Peer::Gannet)?;
    let before = count(bed, CORE, ADVERTISEMENT)?;
    network::order(bed, "mobile 1 activate")?;
    let ours = advertised(bed, before)?;
    let mut differing = Vec::new();
    for ((field, is_same), (theirs, ours)) in FIELDS.iter().zip(theirs.iter().zip(&ours)) {
        if theirs == ours {
            continue;
        }
        // Osmocom's tells the prefix alone.
        let is_known = *field != OPTIONS || (theirs == "3" && ours == "3,5");
        if *is_same || !is_known {
            return Err(failed(field, format!("osmo-ggsn has '{theirs}', ours '{ours}'")));
        }
        differing
            .push(format!("{} {theirs}/{ours}", field.rsplit_once('.').map_or(*field, |(_, name)| name)));
    }
    if differing.is_empty() {
        let fact = "5 of 5 pings by IPv6 with each; osmo-ggsn and gannet ggsn advertise the same".to_owned();
        return Ok(Found::of(Payload::Clear, fact));
    }
    let fact =
        format!("5 of 5 pings by IPv6 with each; osmo-ggsn/gannet ggsn differ in: {}", differing.join(", "));
    Ok(Found::of(Payload::Clear, fact).but(differences::ROUTER_ADVERTISEMENT))
}

/// The mobile is active, and has an address out of a prefix that was advertised. Gives what that advertisement said.
fn advertised(bed: &mut Bed, before: usize) -> core::result::Result<Vec<String>, TestbedError> {
    until_active(bed)?;
    bed.until("an address of the prefix that was advertised", |bed| {
        let shown = network::mobile(bed)?;
        address(&shown, 5).filter(|address| address.starts_with("2001:db8:1:")).map(drop)
    })?;
    bed.namespace(At::Radio).ip(&["-6", "route", "replace", "default", "dev", "ms0"])?;
    ping(bed, At::Radio, HOST, &["-6", "-I", "ms0"])?;
    let fields: Vec<&str> = FIELDS.iter().map(|(field, _)| *field).collect();
    let rows = frames(bed, CORE, ADVERTISEMENT, &fields)?;
    let row = rows.get(before).cloned().ok_or_else(|| failed("router advertisement", "none came"))?;
    let given = frames(bed, CORE, "gtp.message == 0x11 && gtp.user_ipv6", &["gtp.user_ipv6"])?;
    let given = given.last().and_then(|row| row.first()).cloned().unwrap_or_default();
    let to = row.get(1).cloned().unwrap_or_default();
    match (to.parse::<Ipv6Addr>(), given.parse::<Ipv6Addr>()) {
        // 29.061 clause 11.2.1.3: the mobile's link-local address has the interface identifier that it was given.
        (Ok(to), Ok(given))
            if to.is_unicast_link_local() && to.segments().get(4..) == given.segments().get(4..) =>
        {
            Ok(row)
        }
        _ => Err(failed("router advertisement", format!("goes to {to}, and the mobile was given {given}"))),
    }
}
