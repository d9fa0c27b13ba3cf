//! Compression in unacknowledged mode (04.65 clause 6.9.2 [44.065]).

use super::{Buffer, N_PDU_NUMBERS, NPdu, Packed, Sndcp, Way};
use crate::about::About as _;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_wire::id::{Imsi, Nsapi};
use gannet_wire::sndcp::Compression;

impl Sndcp {
    /// Compresses an N-PDU before its SN-UNITDATA.request ([`crate::sndcp::SndcpNsapi::compressed_request`]), which then never is
    /// longer.
    pub fn compress_unitdata(&mut self, nsapi: Nsapi, frame: &mut Frame) -> Compression {
        let way = Way { role: self.role(), nsapi, acknowledged: false };
        let sapi = self.served(nsapi).map(|served| served.sapi);
        let sap = sapi.and_then(|sapi| self.sap(sapi)).filter(|sap| !sap.compressions.is_empty());
        let Some(sap) = sap else { return Compression::NONE };
        let plain = frame.len();
        let mut buffer = Buffer::new();
        let Packed { compression, in_buffer } = sap.compressions.compress(way, frame, &mut buffer);
        if let Some(len) = in_buffer {
            // It is shorter, so that it fits.
            frame.truncate(0);
            let _ = frame.append(buffer.octets(len));
        }
        self.counted.sent(plain, frame.len());
        compression
    }

    /// An N-PDU that came whole in unacknowledged mode, restored; `None`, and a drop by name, where that is not possible.
    pub fn restore_unitdata(
        &mut self,
        cx: &mut Context<'_>,
        whose: Option<Imsi>,
        n_pdu: NPdu,
    ) -> Option<NPdu> {
        let nsapi = n_pdu.nsapi;
        let role = self.role();
        let Some(served) = self.served(nsapi) else {
            cx.drop_of(Drop::SndcpUnknownNsapi, whose);
            return None;
        };
        if served.acknowledged.is_some() {
            cx.drop_of(Drop::SndcpUnacknowledged, whose);
            return None;
        }
        let (sapi, expected) = (served.sapi, served.next);
        served.next = (n_pdu.number + 1) % N_PDU_NUMBERS;
        let sap = self.sap(sapi)?;
        if n_pdu.number != expected {
            sap.compressions.lost(nsapi);
        }
        if n_pdu.compression == Compression::NONE {
            return Some(n_pdu);
        }
        let way = Way { role, nsapi, acknowledged: false };
        let restored = cx.frames.alloc().ok_or(Drop::NoFrame).and_then(|mut frame| {
            sap.compressions.restore(way, n_pdu.compression, &n_pdu.frame, &mut frame).map(|()| frame)
        });
        match restored {
            Ok(frame) => {
                self.counted.received(frame.len(), n_pdu.frame.len());
                Some(NPdu { frame, compression: Compression::NONE, ..n_pdu })
            }
            Err(drop) => {
                cx.drop_of(drop, whose);
                None
            }
        }
    }
}
