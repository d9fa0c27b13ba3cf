//! Traffic flow template: which downlink packets belong to one of several contexts with the same address
//! (24.008 clause 10.5.6.12; 23.060 clause 15.3).
//!
//! [`TrafficFlowTemplate`] is the element as it came: the SGSN hands it on. [`TftRepr`] is what it says, an operation;
//! [`Tft`] what a context has after all operations so far.
//!
//! # Errors
//! The clauses 6.1.3.2.3 and 6.1.3.3.3 tell four kinds apart, each with a cause of its own ([`TftFault`]). What can be
//! seen in the element alone is found by [`TftRepr::parse`] (its coding) and [`TftRepr::check`] (its content); what
//! needs the template that is there already, by [`Tft::apply`].
//!
//! | what | fault | found by |
//! |---|---|---|
//! | number of filters and list do not fit, list empty or not expected, operation reserved | operation, syntax | `parse` |
//! | component reserved or too short, filter without components | filter, syntax | `parse` |
//! | two filters with one identifier or one precedence | filter, syntax | `check`, `apply` |
//! | components that no packet can fit together | filter, semantics | `check` |
//! | filters to be replaced or deleted are not there | operation, syntax | `apply` |
//! | change of a template that is not there, deletion of its last filter | operation, semantics | `apply` |
//!
//! To create a template where there is one replaces it, as clause 6.1.3.3.3 wants.

mod filter;
mod packet;

pub use filter::{Component, FilterDirection, PacketFilter};
pub use packet::PacketFields;

use super::SmCause;
use super::opaque::TrafficFlowTemplate;
use crate::Reader;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Filters of one template at most, by the width of their number and of their identifiers.
pub const FILTERS_MAX: usize = 15;

/// Which of the four kinds of errors (clause 6.1.3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TftFault {
    /// The operation makes no sense here.
    OperationSemantics,
    /// The operation is coded wrongly, or names filters that are not there.
    OperationSyntax,
    /// No packet can fit a filter.
    FilterSemantics,
    /// A filter is coded wrongly, or has the identifier or precedence of another.
    FilterSyntax,
}

impl TftFault {
    /// The cause of the refusal.
    #[must_use]
    pub const fn cause(self) -> SmCause {
        match self {
            Self::OperationSemantics => SmCause::TftSemanticError,
            Self::OperationSyntax => SmCause::TftSyntaxError,
            Self::FilterSemantics => SmCause::FilterSemanticError,
            Self::FilterSyntax => SmCause::FilterSyntaxError,
        }
    }
}

/// Why a template is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TftError {
    /// Which kind: the cause is a function of it.
    pub fault: TftFault,
    /// What exactly, for people.
    pub what: &'static str,
}

impl TftError {
    pub(in crate::l3::ie) const fn new(fault: TftFault, what: &'static str) -> Self {
        Self { fault, what }
    }
}

impl fmt::Display for TftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.fault.cause().text(), self.what)
    }
}

impl core::error::Error for TftError {}

/// What is to be done with the template of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TftOperation {
    /// Create a new one of these filters.
    Create(Vec<PacketFilter>),
    /// Delete it.
    Delete,
    /// Add filters.
    Add(Vec<PacketFilter>),
    /// Put filters into the place of those with their identifiers.
    Replace(Vec<PacketFilter>),
    /// Delete the filters with these identifiers, 0 to 15.
    DeleteFilters(Vec<u8>),
    /// Nothing: only parameters are said.
    Nothing,
}

/// A parameter behind the filters, of a later release: it is carried and not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TftParameter {
    /// Its identifier.
    pub identifier: u8,
    /// Its content, up to 255 octets.
    pub content: Vec<u8>,
}

/// What a template element says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TftRepr {
    /// The operation.
    pub operation: TftOperation,
    /// Parameters of a later release.
    pub parameters: Vec<TftParameter>,
}

const CREATE: u8 = 1;
const DELETE: u8 = 2;
const ADD: u8 = 3;
const REPLACE: u8 = 4;
const DELETE_FILTERS: u8 = 5;
const NOTHING: u8 = 6;
/// The E bit: parameters follow.
const HAS_PARAMETERS: u8 = 0x10;

const fn coding(what: &'static str) -> TftError {
    TftError::new(TftFault::OperationSyntax, what)
}

impl TftRepr {
    /// An operation without parameters.
    #[must_use]
    pub const fn new(operation: TftOperation) -> Self {
        Self { operation, parameters: Vec::new() }
    }

    /// Reads the element's value part.
    ///
    /// # Errors
    /// See the module's table.
    pub fn parse(octets: &[u8]) -> Result<Self, TftError> {
        let mut r = Reader::new(octets);
        let Ok(head) = r.u8("") else { return Err(coding("it is empty")) };
        let (code, count) = (head >> 5, head & 0x0f);
        let operation = match (code, count) {
            (CREATE | ADD | REPLACE | DELETE_FILTERS, 0) => return Err(coding("the filter list is empty")),
            (DELETE | NOTHING, 1..) => return Err(coding("there are filters where none belong")),
            (CREATE, _) => TftOperation::Create(filters(&mut r, count)?),
            (DELETE, _) => TftOperation::Delete,
            (ADD, _) => TftOperation::Add(filters(&mut r, count)?),
            (REPLACE, _) => TftOperation::Replace(filters(&mut r, count)?),
            (DELETE_FILTERS, _) => {
                let identifiers = r.take(usize::from(count), "").map_err(|_| coding(TOO_FEW))?;
                TftOperation::DeleteFilters(identifiers.iter().map(|octet| octet & 0x0f).collect())
            }
            (NOTHING, _) => TftOperation::Nothing,
            _ => return Err(coding("the operation is reserved")),
        };
        let mut parameters = Vec::new();
        while head & HAS_PARAMETERS != 0 && !r.is_empty() {
            parameters.push(parameter(&mut r).ok_or(coding("a parameter ends behind the element"))?);
        }
        if r.is_empty() {
            Ok(Self { operation, parameters })
        } else {
            Err(coding("there are more filters than said"))
        }
    }

    /// Appends the value part. The filters behind the fifteenth are left out.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.push(0);
        let (code, count) = match &self.operation {
            TftOperation::Create(filters) => (CREATE, emit_filters(filters, out)),
            TftOperation::Delete => (DELETE, 0),
            TftOperation::Add(filters) => (ADD, emit_filters(filters, out)),
            TftOperation::Replace(filters) => (REPLACE, emit_filters(filters, out)),
            TftOperation::DeleteFilters(identifiers) => {
                let identifiers = identifiers.get(..FILTERS_MAX).unwrap_or(identifiers);
                out.extend(identifiers.iter().map(|identifier| identifier & 0x0f));
                (DELETE_FILTERS, identifiers.len())
            }
            TftOperation::Nothing => (NOTHING, 0),
        };
        let extension = if self.parameters.is_empty() { 0 } else { HAS_PARAMETERS };
        let count = u8::try_from(count).unwrap_or(0) & 0x0f;
        if let Some(head) = out.get_mut(at) {
            *head = code << 5 | extension | count;
        }
        for parameter in &self.parameters {
            let content = parameter.content.get(..255).unwrap_or(&parameter.content);
            out.extend([parameter.identifier, u8::try_from(content.len()).unwrap_or(u8::MAX)]);
            out.extend_from_slice(content);
        }
    }

    /// The element.
    #[must_use]
    pub fn to_element(&self) -> TrafficFlowTemplate {
        let mut octets = Vec::new();
        self.emit(&mut octets);
        TrafficFlowTemplate(octets)
    }

    /// The filters that it brings.
    #[must_use]
    pub fn filters(&self) -> &[PacketFilter] {
        match &self.operation {
            TftOperation::Create(filters) | TftOperation::Add(filters) | TftOperation::Replace(filters) => {
                filters
            }
            TftOperation::Delete | TftOperation::DeleteFilters(_) | TftOperation::Nothing => &[],
        }
    }

    /// Looks at what the filters say, each alone and beside the others of this element.
    ///
    /// # Errors
    /// See the module's table.
    pub fn check(&self) -> Result<(), TftError> {
        distinct(self.filters())?;
        self.filters().iter().try_for_each(PacketFilter::check)
    }
}

const TOO_FEW: &str = "there are fewer filters than said";

fn filters(r: &mut Reader<'_>, count: u8) -> Result<Vec<PacketFilter>, TftError> {
    (0..count).map(|_| PacketFilter::parse(r).unwrap_or(Err(coding(TOO_FEW)))).collect()
}

fn emit_filters(filters: &[PacketFilter], out: &mut Vec<u8>) -> usize {
    let filters = filters.get(..FILTERS_MAX).unwrap_or(filters);
    filters.iter().for_each(|filter| filter.emit(out));
    filters.len()
}

fn parameter(r: &mut Reader<'_>) -> Option<TftParameter> {
    let (identifier, length) = (r.u8("").ok()?, r.u8("").ok()?);
    Some(TftParameter { identifier, content: r.take(usize::from(length), "").ok()?.to_vec() })
}

/// Each identifier and each precedence stands once.
fn distinct(filters: &[PacketFilter]) -> Result<(), TftError> {
    for (place, filter) in filters.iter().enumerate() {
        for other in filters.iter().skip(place + 1) {
            if other.identifier == filter.identifier {
                return Err(TftError::new(TftFault::FilterSyntax, "two filters have one identifier"));
            }
            if other.precedence == filter.precedence {
                return Err(TftError::new(TftFault::FilterSyntax, "two filters have one precedence"));
            }
        }
    }
    Ok(())
}

impl TrafficFlowTemplate {
    /// What it says.
    ///
    /// # Errors
    /// What [`TftRepr::parse`] and [`TftRepr::check`] find.
    pub fn read(&self) -> Result<TftRepr, TftError> {
        let repr = TftRepr::parse(&self.0)?;
        repr.check().map(|()| repr)
    }
}

/// The template of a context: at least one filter, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tft(Vec<PacketFilter>);

impl Tft {
    /// What a context has after an operation on what it had; `None` for no template.
    ///
    /// # Errors
    /// See the module's table.
    pub fn apply(held: Option<&Self>, change: &TftRepr) -> Result<Option<Self>, TftError> {
        let mut filters = match (held, &change.operation) {
            (_, TftOperation::Create(filters)) => return Self::of(filters.clone()),
            (_, TftOperation::Nothing) => return Ok(held.cloned()),
            (Some(_), TftOperation::Delete) => return Ok(None),
            (Some(held), _) => held.0.clone(),
            (None, _) => return Err(TftError::new(TftFault::OperationSemantics, "there is no template yet")),
        };
        match &change.operation {
            TftOperation::Add(more) => filters.extend(more.iter().cloned()),
            TftOperation::Replace(others) => {
                for other in others {
                    let old = filters.iter_mut().find(|filter| filter.identifier == other.identifier);
                    *old.ok_or(coding("a filter to be replaced is not there"))? = other.clone();
                }
            }
            TftOperation::DeleteFilters(identifiers) => {
                for identifier in identifiers {
                    let old = filters.iter().position(|filter| filter.identifier == *identifier);
                    filters.remove(old.ok_or(coding("a filter to be deleted is not there"))?);
                }
            }
            TftOperation::Create(_) | TftOperation::Delete | TftOperation::Nothing => {}
        }
        Self::of(filters)
    }

    fn of(mut filters: Vec<PacketFilter>) -> Result<Option<Self>, TftError> {
        if filters.is_empty() {
            return Err(TftError::new(TftFault::OperationSemantics, "no filter would be left"));
        }
        if filters.len() > FILTERS_MAX {
            return Err(coding("there would be too many filters"));
        }
        distinct(&filters)?;
        filters.sort_by_key(|filter| filter.precedence);
        Ok(Some(Self(filters)))
    }

    /// The filters, those first that are tried first.
    #[must_use]
    pub fn filters(&self) -> &[PacketFilter] {
        &self.0
    }

    /// The first filter that a packet fits.
    #[must_use]
    pub fn matching(&self, packet: &PacketFields) -> Option<&PacketFilter> {
        self.0.iter().find(|filter| filter.matches(packet))
    }

    /// The operation that creates it.
    #[must_use]
    pub fn creation(&self) -> TftRepr {
        TftRepr::new(TftOperation::Create(self.0.clone()))
    }
}

#[cfg(test)]
mod tests;
