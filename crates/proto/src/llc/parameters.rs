//! The parameters of one SAPI.

use super::SAPIS;
use super::abm::Shared;
use gannet_machine::time::Duration;
use gannet_wire::llc::N201_MAX;
use gannet_wire::llc::xid::Parameter;
use serde::{Deserialize, Serialize};

/// Negotiable parameters of one LLE that matter without acknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parameters {
    /// Octets of information in a UI frame; [`ASKED`] beside it while the peer may have agreed to more.
    n201_u: u16,
    /// Octets of information in an I frame.
    pub(super) n201_i: u16,
    /// T200 in tenths of a second in the upper twelve bits, N200 in the lower four.
    t200_n200: u16,
}

/// Set in `n201_u` from the moment this end has asked for another value until a response is here. The peer may have
/// agreed and its response may be lost for ever; its data must pass all the same.
const ASKED: u16 = 0x8000;

impl Parameters {
    const fn new(n201_u: u16, n201_i: u16, t200_secs: u16) -> Self {
        Self { n201_u, n201_i, t200_n200: (t200_secs * 10) << 4 | 3 }
    }

    /// Default values (04.64 clause 8.9, table 9), in the order of [`SAPIS`].
    pub(super) const fn defaults() -> [Self; SAPIS.len()] {
        [
            Self::new(500, 1503, 5),
            Self::new(400, 0, 5),
            Self::new(500, 1503, 10),
            Self::new(270, 0, 20),
            Self::new(500, 1503, 20),
            Self::new(500, 1503, 40),
        ]
    }

    /// N201-U for what is sent.
    pub(super) const fn n201_u(self) -> u16 {
        self.n201_u & !ASKED
    }

    pub(super) const fn set_n201_u(&mut self, octets: u16) {
        self.n201_u = octets;
    }

    /// Notes that `octets` are asked for. As the peer can only go down from there, nothing longer is sent from now.
    pub(super) fn ask_n201_u(&mut self, octets: u16) {
        self.n201_u = self.n201_u().min(octets) | ASKED;
    }

    /// N201-U for what is received.
    pub(super) const fn n201_u_received(self) -> u16 {
        if self.n201_u & ASKED == 0 { self.n201_u } else { N201_MAX }
    }

    /// T200 in tenths of a second.
    pub(super) const fn t200_tenths(self) -> u16 {
        self.t200_n200 >> 4
    }

    pub(super) const fn t200(self) -> Duration {
        Duration::from_millis(self.t200_tenths() as u64 * 100)
    }

    pub(super) const fn set_t200_tenths(&mut self, tenths: u16) {
        self.t200_n200 = tenths << 4 | (self.t200_n200 & 0xf);
    }

    /// How often a command is repeated.
    pub(super) fn n200(self) -> u8 {
        u8::try_from(self.t200_n200 & 0xf).unwrap_or(0)
    }

    /// What holds of it for acknowledged mode.
    pub(super) fn shared(self) -> Shared {
        let Self { n201_i, .. } = self;
        Shared { n201_i: Some(n201_i), t200_tenths: Some(self.t200_tenths()), n200: Some(self.n200()) }
    }

    /// This end proposes these, and has them itself from now on.
    pub(super) fn choose(&mut self, chosen: Shared) {
        let Shared { n201_i, t200_tenths, n200 } = chosen;
        self.n201_i = n201_i.unwrap_or(self.n201_i);
        self.set_t200_tenths(t200_tenths.unwrap_or(self.t200_tenths()));
        self.set_n200(n200.unwrap_or(self.n200()));
    }

    /// Answers a parameter of the peer's SABM within what is chosen here: N201-I down, T200 and N200 up (table 6). `None` for any
    /// other parameter, and for a value that is out of its range.
    pub(super) fn respond(&mut self, chosen: Shared, parameter: &Parameter) -> Option<Parameter> {
        match *parameter {
            _ if !parameter.is_valid() => return None,
            Parameter::N201I(octets) => self.n201_i = octets.min(chosen.n201_i.unwrap_or(N201_MAX)),
            Parameter::T200(tenths) => {
                self.set_t200_tenths(tenths.max(chosen.t200_tenths.unwrap_or(self.t200_tenths())));
            }
            Parameter::N200(count) => self.set_n200(count.max(chosen.n200.unwrap_or(self.n200()))),
            _ => return None,
        }
        self.shared().proposal().find(|own| own.kind() == parameter.kind())
    }

    pub(super) fn set_n200(&mut self, n200: u8) {
        self.t200_n200 = (self.t200_n200 & 0xfff0) | u16::from(n200 & 0xf);
    }
}
