//! An HLR for the laboratory: the subscribers of `gannet load`, over GSUP.
//!
//! [`Hlr`] knows every IMSI of the emulator's and its card, and answers; [`Conversation`] is one connection of an SGSN to
//! it, octets in and octets out; [`server`] has the TCP. Everybody may use every access point, with any quality of service
//! that the experiments ask for.

pub mod server;

use crate::load::mobile::{Profile, user_of_imsi};
use crate::load::security::Security;
use gannet_machine::rng::Rng;
use gannet_proto::auth::aka::{self, UmtsKeys};
use gannet_proto::auth::card::Card;
use gannet_proto::auth::cards::Cards;
use gannet_proto::auth::milenage::Milenage;
use gannet_proto::auth::sqn::SqnCounter;
use gannet_proto::auth::{CardAnswer, Sim};
use gannet_proto::ipa_stream::Splitter;
use gannet_wire::DecodeError;
use gannet_wire::gsup::{
    AuthTuple, AuthVectors, Body, CnDomain, Message, PdpInfo, PurgeResult, Quintuplet, Refusal,
    SubscribedApn, Subscription, Triplet,
};
use gannet_wire::gtp::value::Qos;
use gannet_wire::ipa::{self, Ccm, IdTag};
use gannet_wire::l3::ie::{GmmCause, PdpAddress, PrecedenceClass, QosProfile, ReliabilityClass};
use std::collections::HashSet;

/// Vectors of one answer, as many as osmo-hlr sends.
const VECTORS: usize = 5;
/// The longest message that an SGSN may send.
const PAYLOAD_MAX: usize = 1024;
/// Octets/s that a subscription allows: more than anybody here asks for.
const OCTETS_PER_S: u32 = 30_000_000;

/// What has been asked so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Vectors that were made.
    pub vectors: u64,
    /// Locations that were updated.
    pub located: u64,
    /// Subscribers that an SGSN has forgotten.
    pub purged: u64,
    /// Mobiles that did not prove who they are.
    pub failures: u64,
    /// Requests for subscribers that there are not.
    pub unknown: u64,
    /// What could not be read, or nobody had asked for.
    pub unexpected: u64,
}

/// The subscribers: the emulator's users, up to a number.
#[derive(Debug)]
pub struct Hlr {
    cards: Cards,
    users: u32,
    dice: Rng,
    /// Of all users with a USIM together, whose numbers only have to grow.
    sqn: SqnCounter,
    /// Whose data was inserted, and who has not said yet that it has them.
    inserting: HashSet<u32>,
    /// What has been asked so far.
    pub stats: Stats,
}

impl Hlr {
    /// For the first so many users of the emulator.
    #[must_use]
    pub fn new(users: u32, seed: u64) -> Self {
        Self::with_cards(users, seed, Security::cards())
    }

    /// The same where they have other cards than the emulator's.
    #[must_use]
    pub fn with_cards(users: u32, seed: u64, cards: Cards) -> Self {
        Self {
            cards,
            users,
            dice: Rng::seeded(seed),
            sqn: SqnCounter::default(),
            inserting: HashSet::new(),
            stats: Stats::default(),
        }
    }

    /// The answer to a message, where it has one.
    pub fn answer(&mut self, message: &Message) -> Option<Body> {
        let Some(user) = user_of_imsi(&message.imsi).filter(|user| *user < self.users) else {
            return self.unknown(&message.body);
        };
        match &message.body {
            Body::SendAuthInfoRequest(_) => {
                let tuples: Option<Vec<AuthTuple>> = (0..VECTORS).map(|_| self.vector(user)).collect();
                self.stats.vectors += VECTORS as u64;
                Some(Body::SendAuthInfoResult(AuthVectors { tuples: tuples?, cn_domain: None }))
            }
            Body::UpdateLocationRequest(_) => {
                self.inserting.insert(user);
                Some(Body::InsertSubscriberDataRequest(subscription()))
            }
            Body::InsertSubscriberDataResult(_) if self.inserting.remove(&user) => {
                self.stats.located += 1;
                let nothing = Subscription { pdp_info_complete: false, pdp_infos: vec![], ..subscription() };
                Some(Body::UpdateLocationResult(nothing))
            }
            Body::InsertSubscriberDataError(_) if self.inserting.remove(&user) => {
                Some(Body::UpdateLocationError(refusal(GmmCause::NetworkFailure)))
            }
            Body::PurgeMsRequest(_) => {
                self.stats.purged += 1;
                Some(Body::PurgeMsResult(PurgeResult { freeze_ptmsi: false, cn_domain: None }))
            }
            Body::AuthFailureReport(_) => {
                self.stats.failures += 1;
                None
            }
            // Answers that nobody has asked for, and what an HLR says itself.
            _ => {
                self.stats.unexpected += 1;
                None
            }
        }
    }

    fn unknown(&mut self, body: &Body) -> Option<Body> {
        self.stats.unknown += 1;
        let refused = refusal(GmmCause::ImsiUnknownInHlr);
        match body {
            Body::SendAuthInfoRequest(_) => Some(Body::SendAuthInfoError(refused)),
            Body::UpdateLocationRequest(_) => Some(Body::UpdateLocationError(refused)),
            Body::PurgeMsRequest(_) => Some(Body::PurgeMsError(refused)),
            _ => None,
        }
    }

    /// A vector that was never used: a triplet (03.20 clause 3.3.2 [43.020]), and of a USIM a quintuplet besides (33.102 clause
    /// 6.3.2).
    fn vector(&mut self, user: u32) -> Option<AuthTuple> {
        let halves = [self.dice.u64(), self.dice.u64()];
        let rand = ((u128::from(halves[0]) << 64) | u128::from(halves[1])).to_be_bytes();
        let mut card = self.cards.card(user);
        if let Card::Usim(usim) = &card {
            let functions = Milenage::new(&usim.k, &usim.opc);
            let vector = aka::Quintuplet::generate(&functions, rand, self.sqn.advance()?, [0; 2]);
            let aka::Triplet { sres, kc, .. } = vector.triplet();
            let aka::Quintuplet { xres, keys: UmtsKeys { ck, ik }, autn, .. } = vector;
            let quintuplet = Quintuplet { ik: ik.0, ck: ck.0, autn, res: xres };
            let triplet = Some(Triplet { sres, kc: kc.0 });
            return Some(AuthTuple { rand, triplet, quintuplet: Some(quintuplet) });
        }
        let outcome = card.answer(&rand, None);
        let (CardAnswer::Sres(sres), Some(keys)) = (outcome.answer, outcome.keys) else { return None };
        Some(AuthTuple { rand, triplet: Some(Triplet { sres, kc: keys.kc().0 }), quintuplet: None })
    }
}

const fn refusal(cause: GmmCause) -> Refusal {
    Refusal { cause, cn_domain: None }
}

/// What everybody has subscribed to.
fn subscription() -> Subscription {
    let all = Profile::real_time(OCTETS_PER_S).precedence(PrecedenceClass::HIGH);
    let all = QosProfile { reliability: ReliabilityClass::TWO, ..all.0 };
    let info = PdpInfo {
        context_id: 1,
        address: Some(PdpAddress::Ipv4Dynamic),
        apn: Some(SubscribedApn::Any),
        qos: Some(Qos::new(1, &all)),
        charging: None,
    };
    Subscription {
        msisdn: None,
        hlr_number: None,
        pdp_info_complete: true,
        pdp_infos: vec![info],
        charging: None,
        cn_domain: Some(CnDomain::PacketSwitched),
    }
}

/// One connection of an SGSN.
#[derive(Debug)]
pub struct Conversation {
    splitter: Splitter,
    introduced: bool,
}

impl Conversation {
    /// Begins; what is said first is appended to `out`.
    #[must_use]
    pub fn new(out: &mut Vec<u8>) -> Self {
        Ccm::IdGet(vec![IdTag::SerialNumber, IdTag::UnitName]).emit(out);
        Self { splitter: Splitter::new(PAYLOAD_MAX), introduced: false }
    }

    /// The SGSN has said who it is, and was told that this will do.
    #[must_use]
    pub const fn is_introduced(&self) -> bool {
        self.introduced
    }

    /// Takes a piece of what the SGSN sends; answers are appended to `out`.
    ///
    /// # Errors
    /// Where a message is too long: the connection is of no use any more.
    pub fn receive(&mut self, hlr: &mut Hlr, octets: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        self.splitter.push(octets);
        while let Some(message) = self.splitter.next_message()? {
            match (message.protocol, message.extension()) {
                (ipa::PROTOCOL_CCM, _) => match Ccm::parse(message.payload) {
                    Ok(Ccm::Ping) => Ccm::Pong.emit(out),
                    Ok(Ccm::IdResp(_)) => {
                        self.introduced = true;
                        Ccm::IdAck.emit(out);
                    }
                    Ok(Ccm::Pong | Ccm::IdAck) => {}
                    Ok(Ccm::IdGet(_)) | Err(_) => hlr.stats.unexpected += 1,
                },
                (_, Some((ipa::EXTENSION_GSUP, octets))) => match Message::parse(octets) {
                    Ok(message) => {
                        if let Some(body) = hlr.answer(&message) {
                            let answer = Message::new(message.imsi, body).to_vec();
                            ipa::put_extension(ipa::EXTENSION_GSUP, &answer, out);
                        }
                    }
                    Err(_) => hlr.stats.unexpected += 1,
                },
                (_, Some(_) | None) => hlr.stats.unexpected += 1,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
