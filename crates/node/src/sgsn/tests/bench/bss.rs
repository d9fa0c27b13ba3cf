//! The BSSs: network service and BSSGP.

use super::*;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::Cause;
use gannet_wire::id::Nsvci;
use gannet_wire::ns;

pub fn bss(nsei: Nsei) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 22_000 + nsei.0)
}

impl Bench {
    pub fn ns(&mut self, nsei: Nsei, pdu: &ns::Pdu) {
        self.datagram(GB, bss(nsei), &pdu.to_vec());
    }

    pub fn start_ns(&mut self, nsei: Nsei) {
        let nsvci = Nsvci(nsei.0);
        self.ns(nsei, &ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci, nsei });
        assert_eq!(self.next(), Sent::Ns(bss(nsei), ns::Pdu::ResetAck { nsvci, nsei }));
        self.ns(nsei, &ns::Pdu::Unblock);
        assert_eq!(self.next(), Sent::Ns(bss(nsei), ns::Pdu::UnblockAck));
    }

    pub fn pdu(&mut self, nsei: Nsei, bvci: Bvci, pdu: &[u8]) {
        let octets = [&ns::Unitdata::of(bvci).emit()[..], pdu].concat();
        self.datagram(GB, bss(nsei), &octets);
    }

    pub fn bssgp(&mut self, nsei: Nsei, bvci: Bvci, message: &Message) {
        self.pdu(nsei, bvci, &message.to_vec());
    }

    /// On the signalling BVC of NSE 1.
    pub fn signal(&mut self, message: &Message) {
        self.bssgp(Nsei(1), Bvci::SIGNALLING, message);
    }

    pub fn next_bssgp(&mut self) -> Message {
        match self.next() {
            Sent::Bssgp(_, _, message) => message,
            other => panic!("{other:?}"),
        }
    }

    pub fn reset_bvc(&mut self, nsei: Nsei, bvci: Bvci, cell: Option<CellId>) {
        let reset = Message::BvcReset { bvci, cause: Cause::OamIntervention, cell, features: None };
        self.bssgp(nsei, Bvci::SIGNALLING, &reset);
        let ack = Message::BvcResetAck { bvci, cell: None, features: None };
        assert_eq!(self.next(), Sent::Bssgp(nsei, Bvci::SIGNALLING, ack));
    }
}
