//! Another SGSN of the same HLR, as far as GSUP goes: osmo-hlr passes on what it says to the first one, and so brings what
//! osmo-hlr never says by itself.

use super::bed::{At, Bed};
use super::network::failed;
use crate::testbed::TestbedError;
use gannet_proto::ipa_stream::Splitter;
use gannet_rig::NetworkNamespace;
use gannet_wire::gsup::{Body, CnDomain, Domain, LocationUpdate, Message, PORT, RAT_TYPE_GERAN};
use gannet_wire::id::Imsi;
use gannet_wire::ipa::{self, Ccm, IdTag};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Its name at the HLR. A name of GSUP ends with a NUL there.
const NAME: &str = "SGSN-of-another";
/// That of the SGSN, ours or Osmocom's, unless its configuration says otherwise.
const SGSN_NAME: &str = "SGSN-00-00-00-00-00-00";
/// osmo-hlr wants one, and makes nothing of it.
const UNIT_ID: &str = "0/0/0";
/// How long an answer of the HLR may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest message that is taken.
const PAYLOAD_MAX: usize = 1024;
const PIECE: usize = 4096;

/// Its connection to the HLR, which ends with this.
#[derive(Debug)]
pub struct Neighbour {
    stream: TcpStream,
    splitter: Splitter,
    imsi: Imsi,
}

fn ended_by_nul(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

impl Neighbour {
    /// Connects to the HLR at `address` in the core, and says who it is.
    ///
    /// # Errors
    /// Where the HLR does not take it.
    pub fn new(bed: &Bed, address: &str, imsi: &str) -> Result<Self, TestbedError> {
        let namespace = bed.namespace(At::Core).name();
        // The socket is made in the namespace by a thread that ends there.
        let connect = || {
            NetworkNamespace::named(namespace)?.enter()?;
            TcpStream::connect((address, PORT))
        };
        let stream = std::thread::scope(|scope| scope.spawn(connect).join());
        let stream = stream.map_err(|_| failed(NAME, "its thread has failed"))??;
        stream.set_read_timeout(Some(PATIENCE))?;
        let imsi = imsi.parse().map_err(|error| failed(imsi, format!("{error:?}")))?;
        let mut own = Self { stream, splitter: Splitter::new(PAYLOAD_MAX), imsi };
        own.until("its name", |said| matches!(said, Said::Management(Ccm::IdAck)))?;
        Ok(own)
    }

    /// Tells the HLR that the subscriber is here now, and takes its data.
    ///
    /// # Errors
    /// Where the HLR refuses.
    pub fn registers(&mut self) -> Result<(), TestbedError> {
        let cn_domain = Some(CnDomain::PacketSwitched);
        let here = LocationUpdate { cn_domain, current_rat: Some(RAT_TYPE_GERAN) };
        self.say(&Message::new(self.imsi, Body::UpdateLocationRequest(here)))?;
        self.until("InsertSubscriberData", |said| {
            matches!(said, Said::Subscriber(Body::InsertSubscriberDataRequest(_)))
        })?;
        self.say(&Message::new(self.imsi, Body::InsertSubscriberDataResult(Domain { cn_domain })))?;
        self.until("UpdateLocation", |said| matches!(said, Said::Subscriber(Body::UpdateLocationResult(_))))
    }

    /// Has the HLR pass this on to the SGSN.
    ///
    /// # Errors
    /// Where the connection is gone.
    pub fn tells_sgsn(&mut self, body: Body) -> Result<(), TestbedError> {
        let (source, destination) = (Some(ended_by_nul(NAME)), Some(ended_by_nul(SGSN_NAME)));
        self.say(&Message { source, destination, ..Message::new(self.imsi, body) })
    }

    /// The same about a subscriber of whom nobody has heard.
    ///
    /// # Errors
    /// Where the connection is gone.
    pub fn tells_sgsn_of(&mut self, imsi: &str, body: Body) -> Result<(), TestbedError> {
        let imsi = imsi.parse().map_err(|error| failed(imsi, format!("{error:?}")))?;
        let own = core::mem::replace(&mut self.imsi, imsi);
        let told = self.tells_sgsn(body);
        self.imsi = own;
        told
    }

    fn say(&mut self, message: &Message) -> Result<(), TestbedError> {
        let mut octets = Vec::new();
        ipa::put_extension(ipa::EXTENSION_GSUP, &message.to_vec(), &mut octets);
        Ok(self.stream.write_all(&octets)?)
    }

    /// Reads, and says who it is where it is asked, until this has come.
    fn until(&mut self, what: &str, is_meant: impl Fn(&Said) -> bool) -> Result<(), TestbedError> {
        let mut piece = [0; PIECE];
        loop {
            while let Some(said) = self.next_message()? {
                match said {
                    Said::Management(Ccm::IdGet(_)) => self.introduces_itself()?,
                    Said::Management(Ccm::Ping) => self.stream.write_all(&Ccm::Pong.to_vec())?,
                    said if is_meant(&said) => return Ok(()),
                    Said::Management(Ccm::IdAck | Ccm::Pong | Ccm::IdResp(_)) | Said::Subscriber(_) => {}
                }
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(failed(what, "the HLR has closed the connection")),
                Ok(len) => self.splitter.push(piece.get(..len).unwrap_or_default()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(failed(what, "the HLR says nothing"));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn introduces_itself(&mut self) -> Result<(), TestbedError> {
        let name = NAME.as_bytes().to_vec();
        let unit_id = UNIT_ID.as_bytes().to_vec();
        let identities =
            vec![(IdTag::SerialNumber, name.clone()), (IdTag::UnitName, name), (IdTag::UnitId, unit_id)];
        self.stream.write_all(&Ccm::IdResp(identities).to_vec())?;
        Ok(self.stream.write_all(&Ccm::IdAck.to_vec())?)
    }

    fn next_message(&mut self) -> Result<Option<Said>, TestbedError> {
        let unreadable = |error| failed("the HLR's message", format!("{error}"));
        let Some(message) = self.splitter.next_message().map_err(unreadable)? else { return Ok(None) };
        if message.protocol == ipa::PROTOCOL_CCM {
            return Ccm::parse(message.payload).map(Said::Management).map(Some).map_err(unreadable);
        }
        match message.extension() {
            Some((ipa::EXTENSION_GSUP, octets)) => {
                let message = Message::parse(octets).map_err(unreadable)?;
                Ok(Some(Said::Subscriber(message.body)))
            }
            Some(_) | None => Err(failed("the HLR's message", "is of another protocol")),
        }
    }
}

/// What the HLR says.
enum Said {
    Management(Ccm),
    Subscriber(Body),
}
