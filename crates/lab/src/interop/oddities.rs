//! Phones and BSSs that do what no clause says, octet by octet: both SGSNs have to be as tolerant as each other.

use super::Found;
use super::bed::{At, Bed};
use super::judge::{CORE, GB, Payload, count, frames, until_in};
use super::network::{self, Card, GGSN, IMSI, Setup, failed};
use super::phone::{self, Phone, told};
use crate::demo::Peer;
use crate::testbed::TestbedError;
use gannet_proto::auth::{CardAnswer, Sim as _};
use gannet_wire::id::{Imsi, Nsapi, Nsei, PTmsi, Sapi, Tlli};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::{DetachRequestMo, GmmMessage};
use gannet_wire::l3::ie::{
    DetachKindMo, DetachTypeMo, MobileIdentity, PdpAddress, QosProfile, SmCause, TearDownIndicator,
};
use gannet_wire::l3::sm::{ActivateRequest, DeactivateRequest};
use gannet_wire::ns::{Cause, IpElement, Pdu, Sns, UDP_PORT};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

type Result<T = Found> = core::result::Result<T, TestbedError>;

/// A DRX parameter without its identifier, and a P-TMSI without its own: what a phone stack in use sends.
const BEHIND: [u8; 7] = [0x0a, 0x00, 0x05, 0xf4, 0xc0, 0x00, 0x01];

/// A trial, and what comes of it at both SGSNs.
type Trial = (&'static str, &'static str, fn(&mut Phone) -> Result<String>);

/// Each with a phone of its own, of which the SGSN has never heard.
const TRIALS: &[Trial] = &[
    ("octets behind ATTACH REQUEST", "AttachAccept", |phone| {
        phone.asks_to_attach(MobileIdentity::Imsi(phone.imsi), &BEHIND)?;
        heard(phone)
    }),
    ("octets behind ROUTING AREA UPDATE REQUEST", "RauAccept", |phone| {
        phone.attaches()?;
        phone.asks_to_update(&BEHIND)?;
        heard(phone)
    }),
    ("octets behind DETACH REQUEST", "DetachAcceptMo", |phone| {
        phone.attaches()?;
        leaves(phone, false, &BEHIND)?;
        heard(phone)
    }),
    ("an update of a mobile that nobody knows", "RauReject, cause 10", |phone| {
        phone.set_tlli(Tlli::foreign(PTmsi(0xc0ff_ee00)));
        phone.asks_to_update(&[])?;
        heard(phone)
    }),
    ("an update without a signature", "RauAccept", |phone| {
        phone.attaches()?;
        phone.asked.clear();
        phone.asks_to_update(&[])?;
        heard(phone)
    }),
    ("a foreign TLLI, a P-TMSI, no signature", "AttachAccept", |phone| {
        phone.attaches()?;
        let ptmsi = phone.ptmsi();
        phone.set_tlli(Tlli::foreign(ptmsi));
        phone.asks_to_attach(MobileIdentity::PTmsi(ptmsi), &[])?;
        heard(phone)
    }),
    ("DETACH REQUEST without a signature", "DetachAcceptMo", |phone| {
        phone.attaches()?;
        phone.asked.clear();
        leaves(phone, false, &[])?;
        heard(phone)
    }),
    ("switched off without a signature, then an update", "RauReject, cause 10", |phone| {
        phone.attaches()?;
        leaves(phone, true, &[])?;
        phone.asks_to_update(&[])?;
        heard(phone)
    }),
    ("flag 1 and no access point", "ActivateAccept, flag 0", |phone| {
        phone.attaches()?;
        activates(phone, true)?;
        heard(phone)
    }),
    ("tear down indicator", "DeactivateAccept, flag 1", |phone| {
        phone.attaches()?;
        activates(phone, false)?;
        phone.hears()?;
        let tear_down = Some(TearDownIndicator::AllOfAddress);
        phone.says_sm(false, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down })?;
        heard(phone)
    }),
];

/// The answer; before it stands what was asked.
fn heard(phone: &mut Phone) -> Result<String> {
    let message = phone.hears()?;
    Ok(match phone.asked.iter().find(|asked| **asked == "IMSI") {
        Some(_) => format!("asked for its IMSI, {}", told(&message)),
        None => told(&message),
    })
}

fn leaves(phone: &mut Phone, power_off: bool, more: &[u8]) -> Result<()> {
    let detach_type = DetachTypeMo { kind: DetachKindMo::Gprs, power_off };
    let request = DetachRequestMo { detach_type, ptmsi: None, ptmsi_signature: None };
    phone.says_and(GmmMessage::from(request), more)
}

/// A context without the name of an access point.
fn activates(phone: &mut Phone, ti_flag: bool) -> Result<()> {
    let request = ActivateRequest {
        nsapi: Nsapi(5),
        sapi: Sapi::DATA3,
        qos: QosProfile::BEST_EFFORT,
        address: PdpAddress::Ipv4Dynamic,
        apn: None,
        pco: None,
    };
    phone.says_sm(ti_flag, request)
}

/// A phone's subscriber for each trial.
fn subscriber(number: usize) -> Result<Imsi> {
    let digits = format!("00101{:010}", 500 + number);
    digits.parse().map_err(|error| failed(&digits, format!("{error:?}")))
}

const TEAR_DOWN: &str = "gtp.message == 0x14 && gtp.tear_ind == 1";

/// What phones in use do, at an SGSN that authenticates nobody.
pub fn oddities(bed: &mut Bed) -> Result {
    let setup = Setup { geas: "0", asks_hlr: false, at_ggsn: " default-apn internet\n", ..Setup::default() };
    network::start_core(bed, &setup)?;
    bed.capture(At::Core, "gb1", GB, "udp port 23000")?;
    let mut phone = Phone::new(bed, IMSI)?;
    let mut others = Vec::new();
    for (number, (what, expected, trial)) in TRIALS.iter().enumerate() {
        phone.become_phone(subscriber(number)?);
        let found = trial(&mut phone).unwrap_or_else(|error| super::one_line(&error.to_string()));
        if found != *expected {
            others.push(format!("{what}: {found}, not {expected}"));
        }
    }
    if !others.is_empty() {
        return Err(failed("other answers", others.join("; ")));
    }
    until_in(bed, CORE, "Delete PDP Context Request with the tear down indicator", TEAR_DOWN)?;
    Ok(Found::of(Payload::None, format!("all {} trials answered as they should be", TRIALS.len())))
}

/// A phone with the card of a USIM that does not read AUTN answers with SRES.
pub fn sres(bed: &mut Bed) -> Result {
    network::start_core(bed, &Setup { card: Card::Usim, geas: "0", ..Setup::default() })?;
    bed.capture(At::Core, "gb1", GB, "udp port 23000")?;
    let mut phone = Phone::new(bed, IMSI)?;
    let card = network::usim()?;
    phone.asks_to_attach(MobileIdentity::Imsi(phone.imsi), &[])?;
    let message = phone.hears_and(|rand| match card.clone().answer(rand, None).answer {
        CardAnswer::Sres(sres) => Some(sres),
        CardAnswer::Res(_) | CardAnswer::SynchFailure(_) | CardAnswer::MacFailure | CardAnswer::Unable => {
            None
        }
    })?;
    // Whose keys are looked for everywhere afterwards.
    until_in(bed, CORE, "the HLR's vectors", "gsup.msg_type == 0x0a")?;
    let fact = format!("asked for {}, answered with SRES: {}", phone.asked.join(", "), told(&message));
    if !phone.asked.contains(&"AUTN") {
        return Err(failed("the challenge", fact));
    }
    match message {
        L3Message::Gmm(GmmMessage::AttachAccept(_)) => Ok(Found::of(Payload::None, fact)),
        _ => Err(failed("SRES", fact)),
    }
}

/// The GGSN dies and stays away: the mobile loses its context once the path has failed.
pub fn ggsn_lost(bed: &mut Bed) -> Result {
    let sgsn = match bed.sgsn {
        Peer::Gannet => " ggsn 0 echo-interval 2\n gtp path-failure-delay 5\n",
        Peer::Osmocom => " ggsn 0 echo-interval 2\n",
    };
    network::start(bed, &Setup { sgsn, geas: "0", ..Setup::default() })?;
    network::until_active(bed)?;
    bed.until("an answered Echo Request", |bed| {
        count(bed, CORE, "gtp.message == 0x02").is_ok_and(|count| count > 0).then_some(())
    })?;
    bed.kill("ggsn")?;
    let begin = Instant::now();
    bed.within(Duration::from_secs(180), "DEACTIVATE PDP CONTEXT REQUEST", |bed| {
        std::thread::sleep(Duration::from_millis(400));
        count(bed, GB, DEACTIVATE).is_ok_and(|count| count > 0).then_some(())
    })?;
    let seconds = begin.elapsed().as_secs();
    let rows = frames(bed, GB, DEACTIVATE, &["gsm_a.gm.sm.cause", "gsm_a.gm.sm.tdi"])?;
    let told = rows.first().map(|row| row.join(", tear down ")).unwrap_or_default();
    network::start_ggsn(bed, Peer::Osmocom)?;
    let mut orders = 0;
    bed.within(Duration::from_secs(120), "the new context at the GGSN", |bed| {
        // The first new context ends at osmo-sgsn with all others when its Create brings the GGSN's new restart counter.
        if !network::mobile(bed)?.contains("NSAPI 5") {
            network::order(bed, "mobile 1 activate").ok()?;
            orders += 1;
            std::thread::sleep(Duration::from_secs(5));
        }
        let at_ggsn = bed.vty(At::Core, GGSN, "show pdp-context ggsn ggsn0")?;
        (at_ggsn.contains(IMSI) && network::mobile(bed)?.contains("pdp-active")).then_some(())
    })?;
    let pings = network::ping_internet(bed)?;
    let fact = format!(
        "deactivated after {seconds} s with SM cause {told}; {orders} requests for a new context, {pings} in it"
    );
    if bed.sgsn == Peer::Gannet && orders > 1 {
        return Err(failed("the new context", fact));
    }
    Ok(Found::of(Payload::Clear, fact))
}

const DEACTIVATE: &str = "gsm_a.dtap.msg_sm_type == 0x46 && udp.srcport == 23000";

/// BSSs by IP-SNS at an SGSN whose configuration has no line 'ip-sns-default': one that has more endpoints than it can have
/// NS-VCs, and one as it should be, which is told of the socket that it has asked.
pub fn sns_size(bed: &mut Bed) -> Result {
    let setup = Setup { geas: "0", asks_hlr: false, bind: "  accept-dynamic-ip-sns\n", ..Setup::default() };
    network::start_core(bed, &setup)?;
    bed.capture(At::Core, "gb1", GB, "udp port 23000")?;
    let socket = phone::socket(bed)?;
    let asks = |nsei, ns_vcs_max, ip4_endpoints| {
        let ip4_endpoints = Some(ip4_endpoints);
        let size = Sns::Size { nsei, reset: true, ns_vcs_max, ip4_endpoints, ip6_endpoints: None };
        hears_sns(&socket, size, |sns| match sns {
            Sns::SizeAck { cause, .. } => Some(cause),
            _ => None,
        })
    };
    let (refused, taken) = (asks(Nsei(902), 1, 8)?, asks(Nsei(903), 8, 1)?);
    let endpoint = socket.local_addr()?;
    let elements = [IpElement { endpoint, signalling_weight: 1, data_weight: 1 }].into_iter().collect();
    let config = Sns::Config { nsei: Nsei(903), end: true, elements };
    let told = hears_sns(&socket, config, |sns| match sns {
        Sns::Config { elements, .. } => {
            Some(elements.iter().map(|element| element.endpoint).collect::<Vec<_>>())
        }
        _ => None,
    })?;
    let said = |cause: Option<Cause>| cause.map_or_else(|| "none".to_owned(), |cause| cause.to_string());
    let fact = format!(
        "1 NS-VC for 8 endpoints: cause {}; 8 for 1: cause {}, told of {}",
        said(refused),
        said(taken),
        told.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    );
    let sgsn = SocketAddr::from(([192, 0, 2, 2], UDP_PORT));
    if (refused, taken) != (Some(Cause::InvalidNumberOfNsVcs), None) || told != [sgsn] {
        return Err(failed("IP-SNS", fact));
    }
    Ok(Found::of(Payload::None, fact))
}

/// Says this, and waits for what is meant.
fn hears_sns<T>(socket: &UdpSocket, said: Sns, is_meant: impl Fn(Sns) -> Option<T>) -> Result<T> {
    socket.send(&Pdu::Sns(said).to_vec())?;
    let until = Instant::now() + Duration::from_secs(5);
    while let Some(octets) = phone::datagram(socket, until)? {
        if let Ok(Pdu::Sns(sns)) = Pdu::parse(&octets)
            && let Some(found) = is_meant(sns)
        {
            return Ok(found);
        }
    }
    Err(failed("IP-SNS", "the answer did not come"))
}
