//! Which procedures there are, and what each message means for them.

use gannet_wire::gtp::cause::Cause as GtpCause;
use gannet_wire::l3::ie::UpdateKind;
use gannet_wire::l3::{GmmMessage, L3Message, SmMessage};
use serde::Serialize;

/// A procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Attach (04.08 clause 4.7.3).
    Attach,
    /// Detach by the mobile (clause 4.7.4.1).
    DetachByMobile,
    /// Detach by the network (clause 4.7.4.2).
    DetachByNetwork,
    /// Routing area update, also a combined one (clause 4.7.5).
    Update,
    /// Periodic routing area update (clause 4.7.2.2).
    PeriodicUpdate,
    /// P-TMSI reallocation (clause 4.7.6).
    Reallocation,
    /// Authentication and ciphering (clause 4.7.7).
    Authentication,
    /// Identification (clause 4.7.8).
    Identification,
    /// Service request (24.008 clause 4.7.13).
    Service,
    /// Paging (clause 4.7.9).
    Paging,
    /// Activation of a PDP context (clause 6.1.3.1).
    Activation,
    /// Activation of a secondary one (24.008 clause 6.1.3.2).
    SecondaryActivation,
    /// The network asks for an activation (clause 6.1.3.1.2).
    NetworkActivation,
    /// Modification by the mobile (24.008 clause 6.1.3.3.2).
    ModificationByMobile,
    /// Modification by the network (clause 6.1.3.3.1).
    ModificationByNetwork,
    /// Deactivation by the mobile (clause 6.1.3.4.1).
    DeactivationByMobile,
    /// Deactivation by the network (clause 6.1.3.4.2).
    DeactivationByNetwork,
    /// Create PDP Context of GTP (29.060 clause 7.3.1).
    GtpCreate,
    /// Update PDP Context of GTP (29.060 clause 7.3.3).
    GtpUpdate,
    /// Delete PDP Context of GTP (29.060 clause 7.3.5).
    GtpDelete,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attach => "attach",
            Self::DetachByMobile => "detach by the mobile",
            Self::DetachByNetwork => "detach by the network",
            Self::Update => "routing area update",
            Self::PeriodicUpdate => "periodic update",
            Self::Reallocation => "P-TMSI reallocation",
            Self::Authentication => "authentication",
            Self::Identification => "identification",
            Self::Service => "service request",
            Self::Paging => "paging",
            Self::Activation => "activation",
            Self::SecondaryActivation => "secondary activation",
            Self::NetworkActivation => "activation asked for by the network",
            Self::ModificationByMobile => "modification by the mobile",
            Self::ModificationByNetwork => "modification by the network",
            Self::DeactivationByMobile => "deactivation by the mobile",
            Self::DeactivationByNetwork => "deactivation by the network",
            Self::GtpCreate => "Create PDP Context",
            Self::GtpUpdate => "Update PDP Context",
            Self::GtpDelete => "Delete PDP Context",
        }
    }

    /// Seconds after which the one who asks asks again or gives up: the timers of 24.008 clause 11.2.2, T3-RESPONSE as most
    /// have it, and 10 s for T3313, which the network chooses.
    pub(super) const fn timer_s(self) -> u64 {
        match self {
            Self::Attach | Self::DetachByMobile | Self::Update | Self::PeriodicUpdate => 15,
            Self::DetachByNetwork | Self::Reallocation | Self::Authentication | Self::Identification => 6,
            Self::Service | Self::Paging => 10,
            Self::Activation | Self::SecondaryActivation => 30,
            Self::NetworkActivation
            | Self::ModificationByMobile
            | Self::ModificationByNetwork
            | Self::DeactivationByMobile
            | Self::DeactivationByNetwork => 8,
            Self::GtpCreate | Self::GtpUpdate | Self::GtpDelete => 5,
        }
    }
}

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Its number on the wire; none where the message alone says it.
    pub number: Option<u8>,
    /// Its name.
    pub name: String,
}

impl Cause {
    fn new(number: u8, name: &str) -> Self {
        Self { number: Some(number), name: name.to_owned() }
    }

    pub(super) fn of_gtp(number: u8) -> Self {
        let text = GtpCause::from_octet(number).to_string();
        Self::new(number, text.rsplit_once(" (").map_or(text.as_str(), |(name, _)| name))
    }
}

/// What a message means. Each names the kind; of updates, which have one answer, the answer names the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Begins(Kind),
    /// It begins and wants no answer.
    BeginsAlone(Kind),
    Accepted(Kind),
    Rejected(Kind, Cause),
    /// The answer came, and the network is not content with it.
    RejectedAfterwards(Kind, Cause),
    Completed(Kind),
}

pub(super) fn step(is_up: bool, message: &L3Message) -> Option<Step> {
    match message {
        L3Message::Gmm(message) => of_gmm(message),
        L3Message::Sm { message, .. } => of_sm(is_up, message),
    }
}

fn of_gmm(message: &GmmMessage) -> Option<Step> {
    let rejected = |kind, cause: &gannet_wire::l3::ie::GmmCause| {
        Step::Rejected(kind, Cause::new(cause.code(), cause.text()))
    };
    Some(match message {
        GmmMessage::AttachRequest(_) => Step::Begins(Kind::Attach),
        GmmMessage::AttachAccept(_) => Step::Accepted(Kind::Attach),
        GmmMessage::AttachComplete(_) => Step::Completed(Kind::Attach),
        GmmMessage::AttachReject(it) => rejected(Kind::Attach, &it.cause),
        GmmMessage::DetachRequestMo(it) if it.detach_type.power_off => {
            Step::BeginsAlone(Kind::DetachByMobile)
        }
        GmmMessage::DetachRequestMo(_) => Step::Begins(Kind::DetachByMobile),
        GmmMessage::DetachAcceptMo(_) => Step::Accepted(Kind::DetachByMobile),
        GmmMessage::DetachRequestMt(_) => Step::Begins(Kind::DetachByNetwork),
        GmmMessage::DetachAcceptMt(_) => Step::Accepted(Kind::DetachByNetwork),
        GmmMessage::RauRequest(it) => match it.update_type.kind {
            UpdateKind::Periodic => Step::Begins(Kind::PeriodicUpdate),
            _ => Step::Begins(Kind::Update),
        },
        GmmMessage::RauAccept(_) => Step::Accepted(Kind::Update),
        GmmMessage::RauComplete(_) => Step::Completed(Kind::Update),
        GmmMessage::RauReject(it) => rejected(Kind::Update, &it.cause),
        GmmMessage::ServiceRequest(_) => Step::Begins(Kind::Service),
        GmmMessage::ServiceAccept(_) => Step::Accepted(Kind::Service),
        GmmMessage::ServiceReject(it) => rejected(Kind::Service, &it.cause),
        GmmMessage::PTmsiReallocationCommand(_) => Step::Begins(Kind::Reallocation),
        GmmMessage::PTmsiReallocationComplete(_) => Step::Accepted(Kind::Reallocation),
        GmmMessage::AuthenticationRequest(_) => Step::Begins(Kind::Authentication),
        GmmMessage::AuthenticationResponse(_) => Step::Accepted(Kind::Authentication),
        GmmMessage::AuthenticationFailure(it) => rejected(Kind::Authentication, &it.cause),
        GmmMessage::AuthenticationReject(_) => {
            let name = "AUTHENTICATION AND CIPHERING REJECT".to_owned();
            Step::RejectedAfterwards(Kind::Authentication, Cause { number: None, name })
        }
        GmmMessage::IdentityRequest(_) => Step::Begins(Kind::Identification),
        GmmMessage::IdentityResponse(_) => Step::Accepted(Kind::Identification),
        GmmMessage::GmmStatus(_) | GmmMessage::GmmInformation(_) => return None,
    })
}

fn of_sm(is_up: bool, message: &SmMessage) -> Option<Step> {
    let rejected = |kind, cause: &gannet_wire::l3::ie::SmCause| {
        Step::Rejected(kind, Cause::new(cause.code(), cause.text()))
    };
    Some(match message {
        SmMessage::ActivateRequest(_) => Step::Begins(Kind::Activation),
        SmMessage::ActivateAccept(_) => Step::Accepted(Kind::Activation),
        SmMessage::ActivateReject(it) => rejected(Kind::Activation, &it.cause),
        SmMessage::ActivateSecondaryRequest(_) => Step::Begins(Kind::SecondaryActivation),
        SmMessage::ActivateSecondaryAccept(_) => Step::Accepted(Kind::SecondaryActivation),
        SmMessage::ActivateSecondaryReject(it) => rejected(Kind::SecondaryActivation, &it.cause),
        SmMessage::RequestActivation(_) => Step::Begins(Kind::NetworkActivation),
        SmMessage::RequestActivationReject(it) => rejected(Kind::NetworkActivation, &it.cause),
        SmMessage::ModifyRequestMo(_) => Step::Begins(Kind::ModificationByMobile),
        SmMessage::ModifyAcceptMt(_) => Step::Accepted(Kind::ModificationByMobile),
        SmMessage::ModifyReject(it) => rejected(Kind::ModificationByMobile, &it.cause),
        SmMessage::ModifyRequestMt(_) => Step::Begins(Kind::ModificationByNetwork),
        SmMessage::ModifyAcceptMo(_) => Step::Accepted(Kind::ModificationByNetwork),
        SmMessage::DeactivateRequest(_) if is_up => Step::Begins(Kind::DeactivationByMobile),
        SmMessage::DeactivateRequest(_) => Step::Begins(Kind::DeactivationByNetwork),
        SmMessage::DeactivateAccept(_) if is_up => Step::Accepted(Kind::DeactivationByNetwork),
        SmMessage::DeactivateAccept(_) => Step::Accepted(Kind::DeactivationByMobile),
        SmMessage::SmStatus(_) => return None,
    })
}

/// The same of GTP, by the name of the message.
pub(super) fn of_gtp(name: &str, cause: Option<u8>) -> Option<Step> {
    let (kind, is_request) = match name {
        "Create PDP Context Request" => (Kind::GtpCreate, true),
        "Create PDP Context Response" => (Kind::GtpCreate, false),
        "Update PDP Context Request" => (Kind::GtpUpdate, true),
        "Update PDP Context Response" => (Kind::GtpUpdate, false),
        "Delete PDP Context Request" => (Kind::GtpDelete, true),
        "Delete PDP Context Response" => (Kind::GtpDelete, false),
        _ => return None,
    };
    Some(match cause {
        _ if is_request => Step::Begins(kind),
        Some(cause) if !GtpCause::from_octet(cause).is_accepted() => {
            Step::Rejected(kind, Cause::of_gtp(cause))
        }
        _ => Step::Accepted(kind),
    })
}
