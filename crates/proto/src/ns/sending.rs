//! PDUs in frames of their own, also to addresses that have no NS-VC.

use super::{NsOutput, STRANGER_ANSWERS_PER_S, octets};
use crate::allowance::Allowance;
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::{Batch, Context, Port};
use gannet_wire::ns::{Pdu, Status};

/// Sends an NS-STATUS to an address that has no NS-VC, if strangers did not get too many already.
pub(super) fn answer_stranger(
    allowance: &mut Allowance,
    cx: &mut Context<'_>,
    (port, peer): (Port, SocketAddr),
    status: Status,
    out: &mut Batch<NsOutput>,
) {
    if allowance.take(cx.now, STRANGER_ANSWERS_PER_S) {
        transmit(cx, port, peer, &Pdu::Status(status), out);
    }
}

/// Puts a PDU into a frame of its own; its octets, or `None` where no frame is free.
pub(super) fn transmit(
    cx: &mut Context<'_>,
    port: Port,
    peer: SocketAddr,
    pdu: &Pdu,
    out: &mut Batch<NsOutput>,
) -> Option<u64> {
    let Some(frame) = cx.frames.copy_of(&pdu.to_vec()) else {
        cx.drop(Drop::NoFrame, None);
        return None;
    };
    let sent = octets(&frame);
    out.push(NsOutput::Transmit { port, peer, frame });
    Some(sent)
}
