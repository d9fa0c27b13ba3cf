//! The SGSN's counters that osmo-sgsn has, too.

use gannet_node::sgsn::Stats;
use gannet_ops::metrics::osmocom::Row;

/// In its order. It has the same name for what it receives, accepts and rejects of routing area updates; here the first has
/// that name, and the others have those of its later versions.
pub const KNOWN: [Row<Stats>; 23] = [
    (
        "ll_octets_downlink",
        "octets of LL-PDUs that went to BSSs",
        "llc:dl_bytes",
        "Count sent LLC bytes before giving it to the bssgp layer",
        |of| of.ll_octets_downlink,
    ),
    (
        "ll_octets_uplink",
        "octets of LL-PDUs that came from BSSs",
        "llc:ul_bytes",
        "Count successful received LLC bytes (encrypt & fcs correct)",
        |of| of.ll_octets_uplink,
    ),
    (
        "ll_pdu_downlink",
        "LL-PDUs that went to BSSs",
        "llc:dl_packets",
        "Count successful sent LLC packets before giving it to the bssgp layer",
        |of| of.ll_pdu_downlink,
    ),
    (
        "ll_pdu_uplink",
        "LL-PDUs that came from BSSs",
        "llc:ul_packets",
        "Count successful received LLC packets (encrypt & fcs correct)",
        |of| of.ll_pdu_uplink,
    ),
    (
        "attach_requests",
        "ATTACH REQUEST received",
        "gprs:attach_requested",
        "Received attach requests",
        |of| of.messages.attach_requests,
    ),
    ("attach_accepts", "ATTACH ACCEPT sent", "gprs:attach_accepted", "Sent attach accepts", |of| {
        of.messages.attach_accepts
    }),
    ("attach_rejects", "ATTACH REJECT sent", "gprs:attach_rejected", "Sent attach rejects", |of| {
        of.messages.attach_rejects
    }),
    (
        "detach_requests",
        "DETACH REQUEST received",
        "gprs:detach_requested",
        "Received detach requests",
        |of| of.messages.detach_requests,
    ),
    ("detach_accepts", "DETACH ACCEPT sent", "gprs:detach_acked", "Sent detach acks", |of| {
        of.messages.detach_accepts
    }),
    (
        "rau_requests",
        "ROUTING AREA UPDATE REQUEST received",
        "gprs:routing_area_requested",
        "Received routing area requests",
        |of| of.messages.rau_requests,
    ),
    (
        "rau_accepts",
        "ROUTING AREA UPDATE ACCEPT sent",
        "gprs:routing_area_acked",
        "Sent routing area acks",
        |of| of.messages.rau_accepts,
    ),
    (
        "rau_rejects",
        "ROUTING AREA UPDATE REJECT sent",
        "gprs:routing_area_rejected",
        "Sent routing area rejects",
        |of| of.messages.rau_rejects,
    ),
    (
        "activate_requests",
        "ACTIVATE PDP CONTEXT REQUEST received, of secondary contexts too",
        "pdp:activate_requested",
        "Received activate requests",
        |of| of.messages.activate_requests,
    ),
    (
        "activate_rejects",
        "ACTIVATE PDP CONTEXT REJECT sent, of secondary contexts too",
        "pdp:activate_rejected",
        "Sent activate rejects",
        |of| of.messages.activate_rejects,
    ),
    (
        "activate_accepts",
        "ACTIVATE PDP CONTEXT ACCEPT sent, of secondary contexts too",
        "pdp:activate_accepted",
        "Sent activate accepts",
        |of| of.messages.activate_accepts,
    ),
    (
        "activations_requested",
        "REQUEST PDP CONTEXT ACTIVATION sent",
        "pdp:request_activated",
        "Sent requests of activation",
        |of| of.messages.activations_requested,
    ),
    (
        "activations_refused",
        "REQUEST PDP CONTEXT ACTIVATION REJECT received",
        "pdp:request_activate_rejected",
        "Received rejects of activation",
        |of| of.messages.activations_refused,
    ),
    (
        "modify_requests",
        "MODIFY PDP CONTEXT REQUEST in both directions",
        "pdp:modify_requested",
        "Modify requests",
        |of| of.messages.modify_requests,
    ),
    (
        "modify_accepts",
        "MODIFY PDP CONTEXT ACCEPT in both directions",
        "pdp:modify_accepted",
        "Modify accepts",
        |of| of.messages.modify_accepts,
    ),
    (
        "deactivate_requests_sent",
        "DEACTIVATE PDP CONTEXT REQUEST sent",
        "pdp:dl_deactivate_requested",
        "Sent deactivate requests",
        |of| of.messages.deactivate_requests_sent,
    ),
    (
        "deactivate_accepts_sent",
        "DEACTIVATE PDP CONTEXT ACCEPT sent",
        "pdp:dl_deactivate_accepted",
        "Sent deactivate accepted",
        |of| of.messages.deactivate_accepts_sent,
    ),
    (
        "deactivate_requests_received",
        "DEACTIVATE PDP CONTEXT REQUEST received",
        "pdp:ul_deactivate_requested",
        "Received deactivate requests",
        |of| of.messages.deactivate_requests_received,
    ),
    (
        "deactivate_accepts_received",
        "DEACTIVATE PDP CONTEXT ACCEPT received",
        "pdp:ul_deactivate_accepted",
        "Received deactivate accepts",
        |of| of.messages.deactivate_accepts_received,
    ),
];
