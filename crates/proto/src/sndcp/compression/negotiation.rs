//! Negotiation of compression entities in the SNDCP part of XID (04.65 clauses 6.5.1, 6.6.1 and 6.8 [44.065]), for one
//! SAPI.
//!
//! * Who proposes (P = 1) chooses entity number and PCOMP or DCOMP values: the mobile numbers from 0 on, the SGSN from
//!   [`SGSN_NUMBERS`], so that proposals that cross do not mean each other's entity.
//! * Who answers takes each parameter down, never up, and takes NSAPIs off. None left refuses the entity, or ends it.
//! * An NSAPI has one entity of each kind, and an entity serves NSAPIs of one mode of transfer, acknowledged or not.
//! * Where proposals cross, the mobile's holds: it refuses the SGSN's, which forgets its own.
//! * An answer that goes beyond what was proposed is an error, and nothing of it holds.

use super::config::{Agreed, CompressionConfig, Kind, V42bisLimits};
use super::{Compressions, Entity};
use crate::about::About as _;
use crate::llc::LlcRole;
use core::mem::discriminant;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_wire::DecodeError;
use gannet_wire::id::{Imsi, Nsapi};
use gannet_wire::sndcp::algorithms::{NsapiSet, Rfc1144, V42bis, data_algorithm, protocol_algorithm};
use gannet_wire::sndcp::xid::{self, Parameter};
use serde::{Deserialize, Serialize};

/// From here on the SGSN numbers the entities that it proposes.
const SGSN_NUMBERS: u8 = 16;
/// Entities of one SAPI that are agreed to at most.
const ENTITIES_MAX: usize = 8;
/// Octets that a parameter of a block may have, and the longest answer about an entity.
const PARAMETER_MAX: usize = 255;
const ANSWER_MAX: usize = 8;
/// PCOMP values that this end proposes for RFC 1144.
const PCOMPS: [u8; 2] = [1, 2];
/// The DCOMP value that this end proposes for V.42bis.
const DCOMP: u8 = 1;

/// The NSAPIs of one SAPI by their mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Serving {
    /// In acknowledged mode.
    pub acknowledged: NsapiSet,
    /// In unacknowledged mode.
    pub unacknowledged: NsapiSet,
}

/// What was proposed and is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Proposal {
    number: u8,
    agreed: Agreed,
    nsapis: NsapiSet,
}

impl Compressions {
    /// The block of an XID command that proposes what `config` wants for all NSAPIs that have no entity of its kind yet;
    /// `None` where there is nothing to propose, or something is proposed already.
    pub fn propose(
        &mut self,
        role: LlcRole,
        config: &CompressionConfig,
        serving: &Serving,
    ) -> Option<Vec<u8>> {
        if !self.proposed.is_empty() {
            return None;
        }
        let rfc1144 = config.rfc1144.proposal().map(|s0_minus_1| self.rfc1144_like(s0_minus_1));
        let v42bis = config.v42bis.proposal().map(|limits| self.v42bis_like(limits));
        let (mut data, mut protocol) = (Vec::new(), Vec::new());
        for nsapis in [serving.acknowledged, serving.unacknowledged] {
            protocol.extend(rfc1144.and_then(|agreed| self.propose_one(role, agreed, nsapis)));
            data.extend(v42bis.and_then(|agreed| self.propose_one(role, agreed, nsapis)));
        }
        if self.proposed.is_empty() {
            return None;
        }
        let mut parameters = vec![Parameter::Version(0)];
        parameters.extend((!data.is_empty()).then_some(Parameter::Data(data)));
        parameters.extend((!protocol.is_empty()).then_some(Parameter::Protocol(protocol)));
        Some(block_of(&parameters))
    }

    /// All entities of one algorithm have the same PCOMP values (clause 6.5.1.1.5).
    fn rfc1144_like(&self, s0_minus_1: u8) -> Agreed {
        let pcomps = self.entities.iter().find_map(|entity| match entity.agreed {
            Agreed::Rfc1144 { pcomps, .. } => Some(pcomps),
            Agreed::V42bis { .. } => None,
        });
        Agreed::Rfc1144 { pcomps: pcomps.unwrap_or(PCOMPS), s0_minus_1 }
    }

    /// Nor have entities of one algorithm different DCOMP values (clause 6.6.1.1.4).
    fn v42bis_like(&self, limits: V42bisLimits) -> Agreed {
        let dcomp = self.entities.iter().find_map(|entity| match entity.agreed {
            Agreed::V42bis { dcomp, .. } => Some(dcomp),
            Agreed::Rfc1144 { .. } => None,
        });
        Agreed::V42bis { dcomp: dcomp.unwrap_or(DCOMP), limits }
    }

    /// Proposes an entity for those of `nsapis` that have none, all of one mode: one that serves others of them is
    /// extended.
    fn propose_one(&mut self, role: LlcRole, agreed: Agreed, nsapis: NsapiSet) -> Option<xid::Entity> {
        let kind = agreed.kind();
        let left = nsapis.less(self.served(kind, None));
        if left.is_empty() {
            return None;
        }
        let shared = self
            .entities
            .iter()
            .find(|entity| entity.agreed.is_like(&agreed) && !entity.nsapis.both(nsapis).is_empty());
        let (proposal, entity) = match shared {
            Some(shared) => {
                let (number, agreed) = (shared.number, shared.agreed);
                let proposal = Proposal { number, agreed, nsapis: shared.nsapis.or(left) };
                (proposal, xid::Entity::existing(number, &agreed.emit(proposal.nsapis)))
            }
            None => {
                let proposal = Proposal { number: self.free_number(role, kind)?, agreed, nsapis: left };
                (proposal, proposal.emit())
            }
        };
        self.proposed.push(proposal);
        Some(entity)
    }

    fn free_number(&self, role: LlcRole, kind: Kind) -> Option<u8> {
        let mut numbers = match role {
            LlcRole::Ms => 0..SGSN_NUMBERS,
            LlcRole::Sgsn => SGSN_NUMBERS..2 * SGSN_NUMBERS,
        };
        let proposed = |number| {
            self.proposed.iter().any(|proposal| proposal.number == number && proposal.agreed.kind() == kind)
        };
        numbers.find(|number| self.numbered(kind, *number).is_none() && !proposed(*number))
    }

    fn numbered(&self, kind: Kind, number: u8) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.number == number && entity.agreed.kind() == kind)
    }

    /// The NSAPIs that have an entity of a kind, but for that with a number.
    fn served(&self, kind: Kind, but: Option<u8>) -> NsapiSet {
        self.entities
            .iter()
            .filter(|entity| entity.agreed.kind() == kind && Some(entity.number) != but)
            .fold(NsapiSet::NONE, |served, entity| served.or(entity.nsapis))
    }

    /// The block that answers the one of an XID command; `None` where that could not be read. Everything that is refused
    /// is counted by its name.
    pub fn answer(
        &mut self,
        cx: &mut Context<'_>,
        whose: Option<Imsi>,
        terms: &Terms<'_>,
        block: &[u8],
    ) -> Option<Vec<u8>> {
        let parameters = read(cx, whose, block)?;
        let crossed = !self.proposed.is_empty();
        let proposes = |parameter: &Parameter| match parameter {
            Parameter::Data(entities) | Parameter::Protocol(entities) => !entities.is_empty(),
            Parameter::Version(_) | Parameter::Unknown { .. } => false,
        };
        let yields = crossed && terms.role == LlcRole::Sgsn && parameters.iter().any(proposes);
        if yields {
            self.proposed.clear();
            cx.drop_of(Drop::SndcpXidCollision, whose);
        }
        let refuses = crossed && !yields;
        let mut answer: Vec<Parameter> = Vec::new();
        for parameter in parameters {
            let is_same = |one: &Parameter| discriminant(one) == discriminant(&parameter);
            if answer.iter().any(is_same) {
                cx.drop_of(Drop::SndcpBadXid, whose);
                continue;
            }
            let mut of_kind = |cx: &mut Context<'_>, kind, entities: Vec<xid::Entity>| {
                let one = |cx: &mut Context<'_>, entity: &xid::Entity| {
                    let answered = if refuses {
                        Err(Drop::SndcpXidCollision)
                    } else {
                        self.answer_one(terms, kind, entity)
                    };
                    answered.unwrap_or_else(|drop| {
                        cx.drop_of(drop, whose);
                        entity.refused()
                    })
                };
                answer_each(cx, whose, &entities, one)
            };
            match parameter {
                Parameter::Version(_) => answer.push(Parameter::Version(0)),
                Parameter::Data(entities) => answer.push(Parameter::Data(of_kind(cx, Kind::Data, entities))),
                Parameter::Protocol(entities) => {
                    answer.push(Parameter::Protocol(of_kind(cx, Kind::Protocol, entities)));
                }
                Parameter::Unknown { .. } => {}
            }
        }
        Some(block_of(&answer))
    }

    fn answer_one(
        &mut self,
        terms: &Terms<'_>,
        kind: Kind,
        entity: &xid::Entity,
    ) -> Result<xid::Entity, Drop> {
        let number = entity.number;
        let present = self.numbered(kind, number);
        let (wanted, nsapis) = match entity.algorithm {
            Some(algorithm) => {
                let (wanted, nsapis) = read_proposal(kind, algorithm, entity)?;
                if present.is_some_and(|present| !present.agreed.is_like(&wanted)) {
                    return Err(Drop::SndcpEntityRefused);
                }
                (wanted, nsapis)
            }
            None => {
                let present = present.ok_or(Drop::SndcpEntityRefused)?;
                let (wanted, nsapis) = present.agreed.with(&entity.fields)?;
                (wanted, nsapis.unwrap_or(present.nsapis))
            }
        };
        if nsapis.is_empty() {
            self.end(kind, number);
            return Ok(entity.refused());
        }
        let agreed = terms.config.agree(&wanted)?;
        let nsapis = self.allowed(terms.serving, kind, number, nsapis);
        if nsapis.is_empty() {
            self.end(kind, number);
            return Err(Drop::SndcpEntityRefused);
        }
        if !self.settle(number, agreed, nsapis) {
            return Err(Drop::SndcpEntityRefused);
        }
        Ok(xid::Entity::existing(number, &agreed.emit(nsapis)))
    }

    /// Of the NSAPIs of a proposal those that are here, have no other entity of the kind, and are of one mode: that of the
    /// lowest.
    fn allowed(&self, serving: &Serving, kind: Kind, number: u8, nsapis: NsapiSet) -> NsapiSet {
        let free = nsapis.less(self.served(kind, Some(number)));
        let (acknowledged, not) = (free.both(serving.acknowledged), free.both(serving.unacknowledged));
        match (acknowledged.iter().next(), not.iter().next()) {
            (Some(first), Some(other)) if other.0 < first.0 => not,
            (Some(_), Some(_) | None) => acknowledged,
            (None, Some(_) | None) => not,
        }
    }

    /// An entity is agreed to. What it has learned stays where only its NSAPIs change. False where there is no place.
    fn settle(&mut self, number: u8, agreed: Agreed, nsapis: NsapiSet) -> bool {
        let kind = agreed.kind();
        let has_place = self.entities.len() < ENTITIES_MAX;
        let present =
            self.entities.iter_mut().find(|entity| entity.number == number && entity.agreed.kind() == kind);
        match present {
            Some(present) if present.agreed == agreed => present.nsapis = nsapis,
            Some(present) => *present = Entity::new(number, agreed, nsapis),
            None if has_place => {
                self.entities.push(Entity::new(number, agreed, nsapis));
            }
            None => return false,
        }
        true
    }

    fn end(&mut self, kind: Kind, number: u8) {
        self.entities.retain(|entity| entity.number != number || entity.agreed.kind() != kind);
    }

    /// The block of the response to what was proposed; `None` where the response has none, or never came: then nothing
    /// is agreed to.
    ///
    /// # Errors
    /// `SndcpBadAnswer`, and nothing holds of what was proposed, where it goes beyond that. `SndcpBadXid` where it cannot be
    /// read.
    pub fn confirm(&mut self, block: Option<&[u8]>) -> Result<(), Drop> {
        let proposed = core::mem::take(&mut self.proposed);
        let Some(block) = block.filter(|_| !proposed.is_empty()) else { return Ok(()) };
        let mut answers = Vec::new();
        for parameter in xid::parse(block).map_err(|_| Drop::SndcpBadXid)? {
            let (kind, entities) = match parameter {
                Parameter::Data(entities) => (Kind::Data, entities),
                Parameter::Protocol(entities) => (Kind::Protocol, entities),
                Parameter::Version(_) | Parameter::Unknown { .. } => continue,
            };
            for entity in entities {
                answers.push(confirmed(&proposed, kind, &entity)?);
            }
        }
        for Proposal { number, agreed, nsapis } in answers {
            if nsapis.is_empty() {
                self.end(agreed.kind(), number);
            } else {
                self.settle(number, agreed, nsapis);
            }
        }
        Ok(())
    }
}

/// The answers about the entities of a parameter, as far as one parameter has room for them. What is beyond, which no peer needs
/// for 32 entities, changes nothing and stays unanswered.
fn answer_each(
    cx: &mut Context<'_>,
    whose: Option<Imsi>,
    entities: &[xid::Entity],
    mut answer: impl FnMut(&mut Context<'_>, &xid::Entity) -> xid::Entity,
) -> Vec<xid::Entity> {
    let (mut answers, mut len) = (Vec::new(), 0);
    for entity in entities {
        if len + ANSWER_MAX > PARAMETER_MAX {
            cx.drop_of(Drop::SndcpEntityRefused, whose);
            continue;
        }
        let answered = answer(cx, entity);
        len += 2 + answered.fields.len();
        answers.push(answered);
    }
    answers
}

/// Under what an end answers.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Which end it is.
    pub role: LlcRole,
    /// What it wants.
    pub config: &'a CompressionConfig,
    /// The NSAPIs of the SAPI.
    pub serving: &'a Serving,
}

impl Proposal {
    pub(super) const fn nsapis(&self) -> NsapiSet {
        self.nsapis
    }

    pub(super) const fn forget(&mut self, nsapi: Nsapi) {
        self.nsapis = self.nsapis.without(nsapi);
    }

    fn emit(&self) -> xid::Entity {
        let parameters = self.agreed.emit(self.nsapis);
        match &self.agreed {
            Agreed::Rfc1144 { pcomps, .. } => {
                xid::Entity::proposed(self.number, protocol_algorithm::RFC_1144, pcomps, &parameters)
            }
            Agreed::V42bis { dcomp, .. } => {
                xid::Entity::proposed(self.number, data_algorithm::V42BIS, &[*dcomp], &parameters)
            }
        }
    }
}

/// What the answer about an entity says, against what was proposed of it.
fn confirmed(proposed: &[Proposal], kind: Kind, entity: &xid::Entity) -> Result<Proposal, Drop> {
    let proposal = proposed
        .iter()
        .find(|proposal| proposal.number == entity.number && proposal.agreed.kind() == kind)
        .filter(|_| entity.algorithm.is_none())
        .ok_or(Drop::SndcpBadAnswer)?;
    let (agreed, nsapis) = proposal.agreed.with(&entity.fields).map_err(|_| Drop::SndcpBadAnswer)?;
    let nsapis = nsapis.unwrap_or(proposal.nsapis);
    if !agreed.is_within(&proposal.agreed) || !nsapis.less(proposal.nsapis).is_empty() {
        return Err(Drop::SndcpBadAnswer);
    }
    Ok(Proposal { number: entity.number, agreed, nsapis })
}

/// An algorithm that the peer proposes, with the defaults of what it left out.
fn read_proposal(kind: Kind, algorithm: u8, entity: &xid::Entity) -> Result<(Agreed, NsapiSet), Drop> {
    let bad = |_: DecodeError| Drop::SndcpBadParameters;
    let (default, rest) = match (kind, algorithm) {
        (Kind::Protocol, protocol_algorithm::RFC_1144) => {
            let (pcomps, rest) = entity.comps(2).map_err(bad)?;
            let pcomps = <[u8; 2]>::try_from(pcomps).map_err(|_| Drop::SndcpBadParameters)?;
            let [plain, compressed] = pcomps;
            if plain == 0 || compressed == 0 || plain == compressed {
                return Err(Drop::SndcpBadParameters);
            }
            let s0_minus_1 = Rfc1144::DEFAULT.s0_minus_1.unwrap_or(0);
            (Agreed::Rfc1144 { pcomps, s0_minus_1 }, rest)
        }
        (Kind::Data, data_algorithm::V42BIS) => {
            let (dcomps, rest) = entity.comps(1).map_err(bad)?;
            let dcomp = dcomps.first().copied().filter(|dcomp| *dcomp != 0);
            let V42bis { p0, p1, p2, .. } = V42bis::DEFAULT;
            let (p0, p1, p2) = (p0.unwrap_or(0), p1.unwrap_or(V42bis::P1_MIN), p2.unwrap_or(V42bis::P2_MIN));
            let limits = V42bisLimits { p0, p1, p2 };
            (Agreed::V42bis { dcomp: dcomp.ok_or(Drop::SndcpBadParameters)?, limits }, rest)
        }
        // RFC 2507, ROHC and V.44 are not offered here, and what is not defined by nobody.
        (Kind::Protocol | Kind::Data, _) => return Err(Drop::SndcpAlgorithmRefused),
    };
    let (agreed, nsapis) = default.with(rest)?;
    Ok((agreed, nsapis.unwrap_or_default()))
}

fn read(cx: &mut Context<'_>, whose: Option<Imsi>, block: &[u8]) -> Option<Vec<Parameter>> {
    match xid::parse(block) {
        Ok(parameters) => Some(parameters),
        Err(error) => {
            cx.log_of(whose, Category::Sndcp, Level::Info, format_args!("XID: {error}"));
            cx.drop_of(Drop::SndcpBadXid, whose);
            None
        }
    }
}

fn block_of(parameters: &[Parameter]) -> Vec<u8> {
    let mut block = Vec::new();
    xid::emit(parameters, &mut block);
    block
}

#[cfg(test)]
mod tests;
