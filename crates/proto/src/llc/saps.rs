//! Parameters and counters by SAPI: those of SAPI 3, on which nearly all user data goes, are here, and the others in memory of
//! their own, which no packet touches then.

use super::SAPIS;
use super::parameters::Parameters;
use super::ui::Counters;
use serde::{Deserialize, Serialize};

/// SAPIs beside the first of [`SAPIS`].
const OTHERS: usize = SAPIS.len() - 1;

/// What one SAPI has without acknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Sap {
    parameters: Parameters,
    counters: Counters,
}

/// One for each of [`SAPIS`], found by its place there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saps {
    first: Sap,
    /// IOV-UI, which all have in common; here, where it needs no room that is not there anyhow.
    pub(super) iov_ui: u32,
    others: Box<[Sap; OTHERS]>,
}

impl Saps {
    /// Octets of what stands elsewhere.
    pub(super) const ELSEWHERE: usize = size_of::<[Sap; OTHERS]>();

    /// With the parameters that a peer has which was just switched on.
    pub(super) fn new() -> Self {
        let [first, others @ ..] =
            Parameters::defaults().map(|parameters| Sap { parameters, counters: Counters::default() });
        Self { first, iov_ui: 0, others: Box::new(others) }
    }

    #[inline]
    fn get(&self, slot: usize) -> Option<&Sap> {
        slot.checked_sub(1).map_or(Some(&self.first), |other| self.others.get(other))
    }

    #[inline]
    fn get_mut(&mut self, slot: usize) -> Option<&mut Sap> {
        slot.checked_sub(1).map_or(Some(&mut self.first), |other| self.others.get_mut(other))
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sap> {
        core::iter::once(&mut self.first).chain(self.others.iter_mut())
    }

    /// The parameters of one.
    #[inline]
    pub(super) fn parameters(&self, slot: usize) -> Option<&Parameters> {
        self.get(slot).map(|sap| &sap.parameters)
    }

    /// The same, to change them.
    pub(super) fn parameters_mut(&mut self, slot: usize) -> Option<&mut Parameters> {
        self.get_mut(slot).map(|sap| &mut sap.parameters)
    }

    /// The counters of one.
    #[inline]
    pub(super) fn counters(&self, slot: usize) -> Option<&Counters> {
        self.get(slot).map(|sap| &sap.counters)
    }

    /// The same, to change them.
    #[inline]
    pub(super) fn counters_mut(&mut self, slot: usize) -> Option<&mut Counters> {
        self.get_mut(slot).map(|sap| &mut sap.counters)
    }

    /// The counters of all.
    pub(super) fn all_counters(&mut self) -> impl Iterator<Item = &mut Counters> {
        self.iter_mut().map(|sap| &mut sap.counters)
    }

    /// All parameters are the defaults again.
    pub(super) fn default_parameters(&mut self) {
        for (sap, parameters) in self.iter_mut().zip(Parameters::defaults()) {
            sap.parameters = parameters;
        }
    }
}
