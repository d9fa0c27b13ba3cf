//! Messages from the mobile that could not be read (clause 8).

use super::Step;
use gannet_machine::drops::Drop;
use gannet_wire::DecodeError;
use gannet_wire::l3::ie::SmCause;
use gannet_wire::l3::sm::{
    self, ActivateReject, ActivateSecondaryReject, DeactivateRequest, ModifyReject, SmMessage, SmStatus,
};

/// Message types whose mandatory part has an answer of its own (clause 8.5.3, types of clause 10.4).
const ACTIVATE_REQUEST: u8 = 0x41;
const DEACTIVATE_REQUEST: u8 = 0x46;
const MODIFY_REQUEST_MO: u8 = 0x4a;
const ACTIVATE_SECONDARY_REQUEST: u8 = 0x4d;
const SM_STATUS: u8 = 0x55;

impl Step<'_, '_, '_> {
    pub(super) fn decode_failed(&mut self, ti: u8, ti_flag: bool, message_type: u8, error: &DecodeError) {
        self.drop(Drop::SmMalformed);
        self.log(format_args!("SM message type {message_type:#04x}: {error}"));
        let Some(cause) = sm::cause(error) else { return };
        match (message_type, cause) {
            // Clause 8.5.3 a.
            (ACTIVATE_REQUEST, SmCause::InvalidMandatoryInformation) => {
                self.answer(ti, ti_flag, ActivateReject { cause, pco: None });
            }
            (ACTIVATE_SECONDARY_REQUEST, SmCause::InvalidMandatoryInformation) => {
                self.answer(ti, ti_flag, ActivateSecondaryReject { cause });
            }
            (MODIFY_REQUEST_MO, SmCause::InvalidMandatoryInformation) => {
                self.answer(ti, ti_flag, ModifyReject { cause });
            }
            // Clause 8.5.3 b: it is carried out all the same.
            (DEACTIVATE_REQUEST, SmCause::InvalidMandatoryInformation) => {
                let request = DeactivateRequest { cause, tear_down: None };
                self.message(ti, ti_flag, SmMessage::DeactivateRequest(request));
            }
            // A status is never answered with a status.
            (SM_STATUS, _) => {}
            // Clauses 8.4 and 8.5.3 c.
            _ => self.answer(ti, ti_flag, SmStatus { cause }),
        }
    }
}
