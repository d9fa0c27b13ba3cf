//! The laboratory as an SGSN: it asks for PDP contexts and keeps what it was given.

use core::net::Ipv4Addr;
use gannet_wire::gtp::header::Header;
use gannet_wire::gtp::v1c::{CreateRequest, emit_datagram};
use gannet_wire::gtp::{EndUserAddress, Message, Msisdn, PORT_CONTROL, Qos, value::SelectionMode};
use gannet_wire::id::{Nsapi, Teid};
use gannet_wire::l3::ie::Octets;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long all of them may take.
const WITHIN: Duration = Duration::from_secs(60);
/// How long an answer may take before the same is asked again.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);
/// Background with up to 8640 kbit/s each way, the most of R99, so that no rate limits what is sent (04.08 clause
/// 10.5.6.5 [24.008]).
const QOS: [u8; 11] = [0x23, 0x92, 0x1f, 0x93, 0x96, 0xfe, 0xfe, 0x74, 0, 0xff, 0xff];

/// The two ends of Gn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gn {
    /// The laboratory.
    pub sgsn: Ipv4Addr,
    /// The GGSN.
    pub ggsn: Ipv4Addr,
}

/// A PDP context as the GGSN has made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// The GGSN's endpoint for G-PDUs.
    pub teid: Teid,
    /// The mobile's.
    pub address: Ipv4Addr,
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// Creates so many contexts, one after the other, in the network namespace of the calling thread, which is the SGSN's. Each is of
/// a subscriber of its own: see [`imsi`].
///
/// # Errors
/// What the GGSN has refused, or that it does not answer.
pub fn create(count: u32, gn: Gn, stop: &AtomicBool) -> Result<Vec<Tunnel>, String> {
    let socket = UdpSocket::bind((gn.sgsn, PORT_CONTROL)).map_err(text)?;
    socket.set_read_timeout(Some(ANSWER_WITHIN)).map_err(text)?;
    let until = Instant::now() + WITHIN;
    (0..count)
        .map(|number| {
            loop {
                let asked =
                    ask(&socket, gn, number).map_err(|why| format!("PDP context {}: {why}", number + 1))?;
                match asked {
                    Some(tunnel) => return Ok(tunnel),
                    None if stop.load(Relaxed) => return Err("interrupted".to_owned()),
                    None if Instant::now() > until => {
                        return Err(format!(
                            "{number} of {count} PDP contexts within {} s",
                            WITHIN.as_secs()
                        ));
                    }
                    None => {}
                }
            }
        })
        .collect()
}

/// Asks once; nothing where no answer has come.
fn ask(socket: &UdpSocket, gn: Gn, number: u32) -> Result<Option<Tunnel>, String> {
    let sequence = u16::try_from(number % 65536).unwrap_or(0);
    let (mut octets, mut answer) = (Vec::new(), [0; 2048]);
    let written = emit_datagram(Teid(0), sequence, &request(gn.sgsn, number)?.into(), &mut octets);
    if !written {
        return Err("the request is too long".to_owned());
    }
    socket.send_to(&octets, (gn.ggsn, PORT_CONTROL)).map_err(text)?;
    let until = Instant::now() + ANSWER_WITHIN;
    while Instant::now() < until {
        let Ok(length) = socket.recv(&mut answer) else { return Ok(None) };
        if let Some(tunnel) = read(answer.get(..length).unwrap_or_default(), sequence)? {
            return Ok(Some(tunnel));
        }
    }
    Ok(None)
}

/// A Create PDP Context Response to the request of this sequence number; nothing where it is something else.
fn read(octets: &[u8], sequence: u16) -> Result<Option<Tunnel>, String> {
    let header = Header::parse(octets).map_err(text)?;
    if header.sequence != Some(sequence) {
        return Ok(None);
    }
    let Message::CreateResponse(response) =
        Message::parse(header.message, header.payload(octets)).map_err(text)?
    else {
        return Ok(None);
    };
    if !response.cause.is_accepted() {
        return Err(format!("refused: {}", response.cause));
    }
    let created = response.created().map_err(text)?;
    match created.end_user_address {
        EndUserAddress::Ipv4(Some(address)) => Ok(Some(Tunnel { teid: created.teid_data, address })),
        _ => Err("the answer has no IPv4 address".to_owned()),
    }
}

/// The subscriber of the context of this number, from zero on: 15 digits.
pub fn imsi(number: u32) -> String {
    format!("00101{number:010}")
}

/// Create PDP Context Request (29.060 clause 7.3.1) of a mobile.
fn request(sgsn: Ipv4Addr, number: u32) -> Result<CreateRequest, String> {
    Ok(CreateRequest {
        imsi: Some(imsi(number).parse().map_err(|_| "no such IMSI")?),
        rai: None,
        recovery: Some(1),
        selection_mode: Some(SelectionMode::Verified),
        teid_data: Teid(number + 1),
        teid_control: Some(Teid(number + 1)),
        nsapi: Nsapi(5),
        linked_nsapi: None,
        charging_characteristics: None,
        trace_reference: None,
        trace_type: None,
        end_user_address: Some(EndUserAddress::Ipv4(None)),
        apn: "internet".parse().ok(),
        pco: None,
        sgsn_control: sgsn.into(),
        sgsn_user: sgsn.into(),
        alternative_control: None,
        alternative_user: None,
        msisdn: Some(Msisdn { nature_and_plan: 0x91, tbcd: Octets::from_start(&[0x51, 0x55, 0x10, 0xf0]) }),
        qos: Qos { allocation_retention: 2, value: Octets::from_start(&QOS) },
        tft: None,
        trigger_id: None,
        omc_identity: None,
        common_flags: None,
        apn_restriction: None,
        rat_type: None,
        user_location: None,
        ms_time_zone: None,
        imeisv: None,
        private_extension: None,
    })
}
