//! Who may be served, and what the HLR says of him.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the configuration; what is known of a subscriber; who waits for the HLR |
//! | `decide` | GMM's questions: by a policy of our own, or by the HLR's vectors |
//! | `hlr` | what the HLR answers, and what it asks itself |
//!
//! What is known of a subscriber travels with its mobile ([`Subscriber`]). A question of GMM that the HLR has to answer is
//! noted with its ticket until the answer comes, or the failure that GSUP gives in its place.

mod decide;
mod hlr;

use crate::sgsn::HLR;
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use gannet_machine::Batch;
use gannet_machine::timers::TimerName as _;
use gannet_proto::auth::vectors::{AuthRules, Ciphers, Vectors};
use gannet_proto::auth::{AuthDecision, AuthPolicy, AuthTicket};
use gannet_proto::gsup::{GsupConfig, GsupEntity, GsupOutput, SubscriberData};
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::id::{Imsi, Nsapi, Plmn};
use gannet_wire::l3::ie::{PackedQos, QosProfile};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Mobiles of one IMSI that may wait for the HLR at a time: two, one of which is an impostor, happen.
const WAITING_PER_IMSI_MAX: usize = 4;

/// Who may be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriberConfig {
    /// Who decides.
    pub policy: AuthPolicy,
    /// Subscribers who may be served by [`AuthPolicy::AclOnly`], and from abroad by [`AuthPolicy::Closed`].
    pub acl: BTreeSet<Imsi>,
    /// With an HLR: mobiles have to prove who they are.
    pub authentication: bool,
    /// The ciphers that may be used.
    pub ciphers: Ciphers,
    /// A mobile that has the key which we have too is not challenged again, where its frames are ciphered.
    pub reuse_keys: bool,
    /// The HLR knows us by this name.
    pub unit_name: String,
}

impl Default for SubscriberConfig {
    fn default() -> Self {
        Self {
            policy: AuthPolicy::AcceptAll,
            acl: BTreeSet::new(),
            authentication: true,
            ciphers: Ciphers::NONE,
            reuse_keys: false,
            unit_name: "SGSN-00-00-00-00-00-00".to_owned(),
        }
    }
}

impl SubscriberConfig {
    fn rules(&self) -> AuthRules {
        // Without a cipher nothing shows that who claims a key has it.
        let is_ciphered = self.ciphers.0 & Ciphers::NONE.0 == 0;
        AuthRules { ciphers: self.ciphers, reuse_keys: self.reuse_keys && is_ciphered }
    }

    /// Does a policy of our own serve this subscriber in a cell of this network?
    fn serves(&self, imsi: Imsi, plmn: Plmn) -> bool {
        match self.policy {
            AuthPolicy::AcceptAll => true,
            AuthPolicy::AclOnly => self.acl.contains(&imsi),
            AuthPolicy::Closed => self.acl.contains(&imsi) || is_of(imsi, plmn),
            AuthPolicy::Remote => false,
        }
    }
}

/// Is this a subscriber of that network (03.03 clause 2.2 [23.003])?
fn is_of(imsi: Imsi, plmn: Plmn) -> bool {
    let [first, second, third] = plmn.to_octets();
    let network = [first & 15, first >> 4, second & 15, third & 15, third >> 4, second >> 4];
    let digits: Vec<u8> = imsi.digits().collect();
    let of_network: Vec<u8> = network.into_iter().filter(|digit| *digit < 10).collect();
    of_network.len() >= 5 && digits.starts_with(&of_network)
}

/// What is known of a subscriber; it travels with its mobile. Keys in it are never printed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Subscriber {
    vectors: Vectors,
    data: SubscriberData,
    /// The HLR knows that it is here.
    located: bool,
    /// The algorithm of the challenge or order that was sent last.
    algorithm: u8,
    /// What was wished for each of its PDP contexts.
    wishes: Vec<Wish>,
}

/// The quality of service that a mobile has wished for a PDP context, and what the GGSN was asked for then: when the
/// subscription changes, so may that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Wish {
    nsapi: Nsapi,
    wish: PackedQos,
    asked: PackedQos,
}

impl Subscriber {
    /// Its subscription.
    #[must_use]
    pub const fn data(&self) -> &SubscriberData {
        &self.data
    }

    /// Does the HLR know that it is here?
    #[must_use]
    pub const fn is_located(&self) -> bool {
        self.located
    }

    /// Vectors that are unused.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors.unused()
    }

    /// What was wished for a PDP context, and what the GGSN was asked for.
    pub(super) fn wish(&self, nsapi: Nsapi) -> Option<(QosProfile, QosProfile)> {
        let wish = self.wishes.iter().find(|wish| wish.nsapi == nsapi)?;
        Some((wish.wish.unpack(), wish.asked.unpack()))
    }

    /// The GGSN is asked for something.
    pub(super) fn note_wish(&mut self, nsapi: Nsapi, wish: &QosProfile, asked: &QosProfile) {
        self.forget_wish(nsapi);
        self.wishes.push(Wish { nsapi, wish: wish.pack(), asked: asked.pack() });
    }

    /// A PDP context is gone.
    pub(super) fn forget_wish(&mut self, nsapi: Nsapi) {
        self.wishes.retain(|wish| wish.nsapi != nsapi);
    }

    fn note(&mut self, decision: &AuthDecision) {
        match decision {
            AuthDecision::Challenge(challenge) => self.algorithm = challenge.algorithm,
            AuthDecision::SetCipher { algorithm } => self.algorithm = *algorithm,
            AuthDecision::Accept
            | AuthDecision::Reject(_)
            | AuthDecision::Mismatch
            | AuthDecision::Pending => {}
        }
    }

    /// What its frames are ciphered with after it has proved who it is.
    fn ciphering(&self) -> Ciphering {
        let algorithm = Algorithm::of_number(self.algorithm).unwrap_or_default();
        let keys = self.vectors.key().map(|(_, keys)| keys);
        keys.and_then(|keys| keys.ciphering(algorithm)).unwrap_or(Ciphering::NONE)
    }
}

/// What a mobile waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Vectors,
    /// The HLR's word that it is here now; then GMM gets this answer.
    Location(AuthDecision),
}

/// A mobile that waits for the HLR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    slot: Slot,
    ticket: AuthTicket,
    awaited: Awaited,
}

/// The HLR, and who waits for it.
#[derive(Debug)]
pub struct Subscribers {
    hlr: Option<GsupEntity>,
    waiting: BTreeMap<Imsi, Vec<Waiting>>,
    /// As whom a mobile waits, by its place: it may have said since that it is another.
    by_place: BTreeMap<u32, Imsi>,
    pub(super) outputs: Batch<GsupOutput>,
}

impl Subscribers {
    /// Nobody is known. `gsup` where the policy asks an HLR.
    #[must_use]
    pub fn new(gsup: Option<GsupConfig>) -> Self {
        let (waiting, by_place) = (BTreeMap::new(), BTreeMap::new());
        Self { hlr: gsup.map(GsupEntity::new), waiting, by_place, outputs: Batch::default() }
    }

    /// From now on an HLR is asked, or no longer. One that was asked stays connected: who waits for it is answered by it,
    /// and it may still cancel a subscriber.
    pub(super) fn ask(&mut self, config: &SubscriberConfig) {
        match &mut self.hlr {
            Some(hlr) => hlr.rename(&config.unit_name),
            None if config.policy == AuthPolicy::Remote => {
                self.hlr =
                    Some(GsupEntity::new(GsupConfig::new(HLR, &config.unit_name, Owner::Gsup.number())));
            }
            None => {}
        }
    }

    /// Mobiles that wait for the HLR.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }

    /// The link to the HLR, where there is one.
    #[must_use]
    pub const fn hlr(&self) -> Option<&GsupEntity> {
        self.hlr.as_ref()
    }

    /// False where too many of this IMSI wait already. One that waits waits for the newer question only.
    fn wait(&mut self, imsi: Imsi, waiting: Waiting) -> bool {
        self.give_up(waiting.slot.index);
        let of_imsi = self.waiting.entry(imsi).or_default();
        if of_imsi.len() >= WAITING_PER_IMSI_MAX {
            return false;
        }
        of_imsi.push(waiting);
        self.by_place.insert(waiting.slot.index, imsi);
        true
    }

    /// Whoever is at a place waits for nothing.
    fn give_up(&mut self, place: u32) {
        let Some(imsi) = self.by_place.remove(&place) else { return };
        if let Some(of_imsi) = self.waiting.get_mut(&imsi) {
            of_imsi.retain(|waiting| waiting.slot.index != place);
            if of_imsi.is_empty() {
                self.waiting.remove(&imsi);
            }
        }
    }

    /// Takes those of a subscriber who wait for vectors, or for the location.
    fn take(&mut self, imsi: Imsi, for_vectors: bool) -> Vec<Waiting> {
        let Some(of_imsi) = self.waiting.get_mut(&imsi) else { return Vec::new() };
        let is_meant = |waiting: &Waiting| matches!(waiting.awaited, Awaited::Vectors) == for_vectors;
        let (taken, left): (Vec<Waiting>, _) = core::mem::take(of_imsi).into_iter().partition(is_meant);
        *of_imsi = left;
        for waiting in &taken {
            self.by_place.remove(&waiting.slot.index);
        }
        if of_imsi.is_empty() {
            self.waiting.remove(&imsi);
        }
        taken
    }

    /// The mobile whose location the HLR is being told, for the data that come meanwhile.
    pub(super) fn being_located(&self, imsi: Imsi) -> Option<Slot> {
        let of_imsi = self.waiting.get(&imsi)?;
        of_imsi.iter().find(|waiting| matches!(waiting.awaited, Awaited::Location(_))).map(|at| at.slot)
    }

    /// A mobile is gone: it waits for nothing.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.give_up(slot.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imsi(text: &str) -> Imsi {
        text.parse().unwrap()
    }

    #[test]
    fn a_subscriber_belongs_to_the_network_of_its_first_digits() {
        let ours = imsi("001010000000001");
        assert!(is_of(ours, Plmn::new(1, 1, false)));
        assert!(!is_of(ours, Plmn::new(1, 2, false)) && !is_of(ours, Plmn::new(2, 1, false)));
        assert!(is_of(imsi("310410123456789"), Plmn::new(310, 410, true)));
        assert!(!is_of(imsi("310410123456789"), Plmn::new(310, 411, true)));
        assert!(!is_of(ours, Plmn::from_octets([0xff; 3])), "no network at all");
    }

    #[test]
    fn policies_of_our_own() {
        let (home, guest) = (imsi("001010000000001"), imsi("262010000000001"));
        let here = Plmn::new(1, 1, false);
        let of = |policy| SubscriberConfig { policy, acl: BTreeSet::from([guest]), ..Default::default() };
        let served = |policy| [home, guest].map(|imsi| of(policy).serves(imsi, here));
        assert_eq!(served(AuthPolicy::AcceptAll), [true, true]);
        assert_eq!(served(AuthPolicy::AclOnly), [false, true]);
        assert_eq!(served(AuthPolicy::Closed), [true, true]);
        assert!(!of(AuthPolicy::Closed).serves(imsi("208010000000001"), here));
        assert_eq!(served(AuthPolicy::Remote), [false, false]);
    }

    #[test]
    fn keys_are_reused_only_where_a_cipher_proves_them() {
        let with = |bits, reuse_keys| {
            SubscriberConfig { ciphers: Ciphers(bits), reuse_keys, ..Default::default() }.rules().reuse_keys
        };
        assert!(with(0b1000, true) && !with(0b1001, true) && !with(0b1000, false));
    }

    #[test]
    fn those_who_wait_are_few_and_each_gets_its_own() {
        let mut all = Subscribers::new(None);
        let who = imsi("001010000000001");
        let at = |index| Slot { index, generation: 0 };
        let waiting = |index, awaited| Waiting { slot: at(index), ticket: AuthTicket(1), awaited };
        for index in 0..4 {
            assert!(all.wait(who, waiting(index, Awaited::Vectors)));
        }
        assert!(!all.wait(who, waiting(4, Awaited::Vectors)));
        assert!(all.wait(who, waiting(3, Awaited::Location(AuthDecision::Accept))));
        assert_eq!(all.being_located(who), Some(at(3)));
        all.forget(at(0));
        // One that says that it is another waits as that one alone.
        let other = imsi("001010000000002");
        assert!(all.wait(other, waiting(1, Awaited::Vectors)));
        assert_eq!(all.waiting(), 3);
        assert_eq!((all.take(who, true).len(), all.take(other, true).len()), (1, 1));
        assert_eq!(all.take(who, false).len(), 1);
        assert!(all.waiting.is_empty() && all.by_place.is_empty());
    }
}
