//! What an LL-PDU is, by its address and control field alone: read once, for all who ask before it is received.

use super::abm::Windows;
use gannet_wire::id::Sapi;
use gannet_wire::llc::{Control, Header, UFunction};

/// The kind of an LL-PDU (04.64 clause 6 [44.064]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A UI frame of user data.
    Unacknowledged,
    /// Of the acknowledged mode of user data: I, SABM, UA, DISC, DM or FRMR. Those of one SAPI are not to overtake each other.
    Acknowledged,
    /// An S frame of a SAPI of user data, which belongs to acknowledged mode too.
    Supervisory(Sapi),
    /// A UI frame of SAPI 1.
    Gmm {
        /// Information and FCS are ciphered.
        encrypted: bool,
    },
    /// Any other, and octets that cannot be read.
    Other,
}

impl Kind {
    /// That of an LL-PDU.
    #[must_use]
    pub fn of(ll_pdu: &[u8]) -> Self {
        let Ok(Header { sapi, control, .. }) = super::peek(ll_pdu) else { return Self::Other };
        let is_of_data = Windows::defaults(sapi).is_some();
        match control {
            Control::Ui { encrypted, .. } if sapi == Sapi::GMM => Self::Gmm { encrypted },
            Control::Ui { .. } if is_of_data => Self::Unacknowledged,
            Control::S { .. } if is_of_data => Self::Supervisory(sapi),
            Control::I { .. } if is_of_data => Self::Acknowledged,
            Control::U { function: UFunction::Xid | UFunction::Null | UFunction::Other(_), .. } => {
                Self::Other
            }
            Control::U { .. } if is_of_data => Self::Acknowledged,
            Control::Ui { .. } | Control::S { .. } | Control::I { .. } | Control::U { .. } => Self::Other,
        }
    }

    /// User data in either mode, or what belongs to acknowledged mode and keeps its place among it.
    #[must_use]
    pub const fn is_user_data(self) -> bool {
        matches!(self, Self::Unacknowledged) || self.is_of_acknowledged_mode()
    }

    /// Of the acknowledged mode of user data.
    #[must_use]
    pub const fn is_of_acknowledged_mode(self) -> bool {
        matches!(self, Self::Acknowledged | Self::Supervisory(_))
    }
}

/// Is an LL-PDU of ours an I frame? That shows in the first octet of its control field (04.64 clause 6.3).
#[must_use]
pub const fn is_information(ll_pdu: &[u8]) -> bool {
    matches!(ll_pdu, [_, control, ..] if *control < 0x80)
}
