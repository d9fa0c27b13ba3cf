//! Messages of phones and GGSNs as the tests send them.

use super::bench::{CAPABILITY, GGSN, GGSN_CONTROL, GGSN_USER, rai};
use core::net::Ipv4Addr;
use gannet_wire::gtp::Cause as GtpCause;
use gannet_wire::gtp::v1c::{CreateRequest, CreateResponse};
use gannet_wire::gtp::value::EndUserAddress;
use gannet_wire::id::{Nsapi, Sapi, Teid};
use gannet_wire::l3::gmm::AttachRequest;
use gannet_wire::l3::ie::{MobileIdentity, MsRadioAccessCapability, PdpAddress, QosProfile};
use gannet_wire::l3::sm::ActivateRequest;

pub fn attach_request(identity: MobileIdentity) -> AttachRequest {
    AttachRequest::new(identity, rai(1), MsRadioAccessCapability(CAPABILITY.to_vec()))
}

pub fn activate_request(nsapi: Nsapi) -> ActivateRequest {
    ActivateRequest {
        nsapi,
        sapi: Sapi::DATA3,
        qos: QosProfile::BEST_EFFORT,
        address: PdpAddress::Ipv4Dynamic,
        apn: "internet".parse().ok(),
        pco: None,
    }
}

/// A GGSN grants what it is asked for.
pub fn created(request: &CreateRequest) -> CreateResponse {
    let nsapi = u32::from(request.nsapi.0);
    CreateResponse {
        cause: GtpCause::RequestAccepted,
        reordering_required: Some(false),
        recovery: Some(9),
        teid_data: Some(Teid(GGSN_USER + nsapi)),
        teid_control: Some(Teid(GGSN_CONTROL + nsapi)),
        charging_id: Some(nsapi),
        end_user_address: Some(EndUserAddress::Ipv4(Some(address(request.nsapi)))),
        ggsn_control: Some(GGSN),
        ggsn_user: Some(GGSN),
        qos: Some(request.qos),
        ..CreateResponse::refused(GtpCause::RequestAccepted)
    }
}

pub fn address(nsapi: Nsapi) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, nsapi.0)
}
