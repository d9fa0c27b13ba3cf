//! How mobiles with cards answer a challenge, and cipher what they send.

use super::emulator::Emulator;
use super::mobile::{SAPI, imei};
use super::security::Cover;
use gannet_machine::Context;
use gannet_proto::gmm::message_goes_ciphered;
use gannet_wire::id::Sapi;
use gannet_wire::l3::gmm::{AuthenticationRequest, AuthenticationResponse};
use gannet_wire::l3::ie::{AuthParameterResponse, GmmCause, ImeisvRequest, MobileIdentity};
use gannet_wire::l3::{Direction as L3Direction, L3Message};

impl Emulator {
    /// AUTHENTICATION AND CIPHERING REQUEST (04.08 clause 4.7.7.2 [24.008]): the card answers, and the order to cipher is
    /// followed from the next frame on.
    pub(super) fn challenged(&mut self, cx: &mut Context<'_>, user: u32, request: &AuthenticationRequest) {
        let sres = match (&mut self.secrets, &request.rand) {
            (Some(secrets), Some(rand)) => secrets.challenge(user, &rand.0).map(Some),
            (Some(_), None) => Some(None),
            // No card stands behind this mobile.
            (None, _) => None,
        };
        let Some(sres) = sres else {
            return self.rejected(user, GmmCause::GsmAuthenticationUnacceptable.code());
        };
        let imeisv = (request.imeisv_request == ImeisvRequest::Requested).then(|| imei(user)).flatten();
        let response = AuthenticationResponse {
            reference: request.reference,
            response: sres.map(AuthParameterResponse),
            imeisv: imeisv.map(MobileIdentity::Imeisv),
            extended_response: None,
        };
        self.send_gmm(cx, user, response);
        self.stats.challenged += 1;
        let set = self.secrets.as_mut().is_some_and(|secrets| secrets.set(user, request.ciphering.0));
        self.stats.no_key += u64::from(!set);
    }

    /// Header number and cipher of a user's next UI frame; only what may be ciphered is.
    pub(super) fn next_ui(&mut self, user: u32, sapi: Sapi, may_cipher: bool) -> Option<(u16, Cover)> {
        match &mut self.secrets {
            Some(secrets) => secrets.next(user, sapi, may_cipher),
            None => Some((self.mobiles.get_mut(user as usize)?.next_nu(sapi), Cover::default())),
        }
    }

    /// Deciphers a UI frame that has come ciphered. False where the mobile can't, which is counted.
    pub(super) fn uncover(&mut self, user: u32, whose: (Sapi, u16), octets: &mut [u8]) -> bool {
        let done = self.secrets.as_mut().is_some_and(|secrets| secrets.decipher(user, whose, octets));
        self.stats.no_key += u64::from(!done);
        done
    }

    /// Whether an intact UI frame is taken: it was not before, and it came ciphered where it had to (04.08 clause
    /// 4.7.1.2 [24.008]).
    pub(super) fn is_taken(&mut self, user: u32, whose: (Sapi, u16), ciphered: bool, info: &[u8]) -> bool {
        let Some(secrets) = &mut self.secrets else { return true };
        let must = || match whose.0 {
            Sapi::GMM => L3Message::parse(L3Direction::Downlink, info)
                .is_ok_and(|message| message_goes_ciphered(&message)),
            _ => true,
        };
        if !ciphered && secrets.is_on(user) && must() {
            self.stats.in_the_clear += 1;
            return false;
        }
        let fresh = secrets.accept(user, whose);
        self.stats.doubled += u64::from(!fresh);
        self.stats.deciphered += u64::from(fresh && ciphered && whose.0 == SAPI);
        fresh
    }
}
