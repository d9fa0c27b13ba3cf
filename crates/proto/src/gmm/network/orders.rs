//! What the operator wants of a mobile that is attached: that it shows anew who it is (clause 4.7.7), a new P-TMSI
//! (clause 4.7.6), that it is told the network's names (clause 4.7.12).
//!
//! The network starts these procedures, so a mobile in STANDBY is paged first (clause 4.7.9.1), and they wait for the end
//! of what runs (clause 4.7.1.2). An order ends when the mobile does not answer paging.

use super::context::{Authentication, GmmState, Orders, Waiting};
use super::{GmmAction, GmmConfig, GmmContext};
use gannet_machine::trace::Level;
use gannet_machine::{Batch, Context};
use gannet_wire::l3::gmm::GmmInformation;
use gannet_wire::l3::ie::NetworkName;

impl GmmContext {
    /// Notes an order; one in STANDBY has the mobile paged.
    pub(super) fn order(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        order: Orders,
        out: &mut Batch<GmmAction>,
    ) {
        match self.rest.gmm {
            GmmState::Registered => {
                self.rest.orders.insert(order);
                self.downlink_data(cx, cfg, out);
            }
            GmmState::Deregistered | GmmState::CommonProcedureInitiated | GmmState::DeregisteredInitiated => {
                self.ignored(cx, "an order");
            }
        }
    }

    /// The mobile is there: starts what is ordered, one procedure after the other.
    pub(super) fn obey(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        if self.suspended || self.rest.gmm != GmmState::Registered || self.rest.waiting != Waiting::Nothing {
            return;
        }
        if self.rest.orders.take(Orders::INFORM) {
            self.send_information(cfg, out);
        }
        match self.imsi {
            Some(imsi) if self.rest.orders.take(Orders::AUTHENTICATE) => {
                self.rest.auth = Authentication::default();
                self.rest.orders.insert(Orders::CHALLENGE);
                self.say(cx, Level::Info, format_args!("the mobile is to be authenticated anew"));
                self.ask_subscriber(imsi, out);
            }
            Some(_) | None => {
                if self.rest.orders.take(Orders::REALLOCATE) {
                    self.ask_ptmsi(out);
                }
            }
        }
    }

    /// The mobile has attached: it is told the network's names, where there are any.
    pub(super) fn inform_once_attached(&mut self, cfg: &GmmConfig) {
        if cfg.names.full.is_some() || cfg.names.short.is_some() {
            self.rest.orders.insert(Orders::INFORM);
        }
    }

    /// GMM INFORMATION (clause 4.7.12.1). Nobody answers it.
    fn send_information(&self, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        let name = |text: &Option<String>| text.as_deref().map(NetworkName::from_text);
        let information = GmmInformation {
            full_name: name(&cfg.names.full),
            short_name: name(&cfg.names.short),
            time_zone: None,
            universal_time: None,
            lsa_identity: None,
            daylight_saving: None,
        };
        self.send(information.into(), out);
    }
}
