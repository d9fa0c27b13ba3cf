//! An LL-PDU's way: deciphered where a key opens it, then to layer 3, or joined to an N-PDU and restored.

use super::{Chain, Out, Spot, Whole, Whose};
use crate::cipher;
use crate::compression::{self, Came, Sap};
use crate::decode::ip;
use crate::join::sndcp::ContextKey;
use crate::record::{Carrier, Direction, Fcs, Layer3, LlPdu, Record, SnPdu, Unreadable};
use gannet_wire::fcs24::FCS_LEN;
use gannet_wire::id::Sapi;
use gannet_wire::l3::{self, L3Message};
use gannet_wire::llc::xid::Parameter;
use gannet_wire::llc::{self, Control, Layout, UFunction};
use gannet_wire::sndcp::{self, Pdu};

impl Chain {
    /// Takes a whole LL-PDU.
    pub(super) fn llc(&mut self, spot: Spot, whole: &Whole<'_>, out: &mut Out) {
        let is_cut = whole.octets.len() < whole.len;
        let mobile = whole.tlli.and_then(|tlli| self.mobiles.of_tlli(tlli));
        let (began, first) = whole.began;
        let mut record = LlPdu {
            direction: whole.direction,
            tlli: whole.tlli,
            mobile,
            header: None,
            fcs: Fcs::Wrong,
            deciphered: None,
            octets: u32::try_from(whole.len).unwrap_or(u32::MAX),
            info_octets: 0,
            digest: ip::digest(whole.octets),
            began,
            first,
            blocks: whole.blocks,
            bvci: whole.bvci,
        };
        let layout = match llc::Header::parse(whole.octets) {
            Ok(layout) => layout,
            Err(why) => {
                out.push(spot.seen(Record::Llc(record)));
                return out.push(spot.seen(Record::Unreadable(Unreadable { layer: "LLC", why })));
            }
        };
        let info_len = whole.len.saturating_sub(layout.header_len + FCS_LEN);
        record.header = Some(layout.header);
        record.info_octets = u32::try_from(info_len).unwrap_or(u32::MAX);
        let lane = lane(spot, whole, mobile);
        let opened = self.check(lane, &layout, whole, &mut record);
        let octets = opened.as_deref().unwrap_or(whole.octets);
        let is_clear = record.fcs == Fcs::Right || record.fcs == Fcs::Cut && !self.is_closed(lane, &layout);
        out.push(spot.seen(Record::Llc(record)));
        if !is_clear {
            return;
        }
        let end = (layout.header_len + info_len).min(octets.len());
        let info = octets.get(layout.header_len..end).unwrap_or_default();
        match (layout.header.control, layout.header.sapi) {
            (Control::U { function, .. }, _) if !is_cut => self.unnumbered(lane, &layout, function, info),
            (Control::U { .. } | Control::S { .. }, _) => {}
            (_, Sapi::GMM) if !is_cut => self.layer3(spot, whole, info, out),
            (_, sapi @ (Sapi::DATA3 | Sapi::DATA5 | Sapi::DATA9 | Sapi::DATA11)) => {
                self.sn_pdu(spot, whole, (info, info_len), (sapi, mobile), out);
            }
            _ => {}
        }
    }

    /// Can what is in an LL-PDU not be read as it is?
    fn is_closed(&self, lane: cipher::Lane, layout: &Layout) -> bool {
        match layout.header.control {
            Control::Ui { encrypted, .. } => encrypted,
            Control::I { .. } => self.ciphers.is_on(lane.mobile),
            Control::S { .. } | Control::U { .. } => false,
        }
    }

    /// What the frame check sequence says goes into the record. Gives the octets, where they had to be deciphered.
    fn check(
        &mut self,
        lane: cipher::Lane,
        layout: &Layout,
        whole: &Whole<'_>,
        record: &mut LlPdu,
    ) -> Option<Vec<u8>> {
        let is_ui = matches!(layout.header.control, Control::Ui { .. });
        if whole.octets.len() < whole.len {
            record.fcs = Fcs::Cut;
            return None;
        }
        let is_closed = self.is_closed(lane, layout);
        if !(is_ui && is_closed) && layout.fcs_is_right(whole.octets) {
            record.fcs = Fcs::Right;
            self.ciphers.passed(lane, layout);
            return None;
        }
        if !is_closed {
            return None;
        }
        record.fcs = Fcs::Ciphered;
        let imsi = self.mobiles.imsi_of(lane.mobile);
        let opened = self.ciphers.open(lane, imsi, layout, whole.octets)?;
        (record.fcs, record.deciphered) = (Fcs::Right, Some(opened.algorithm));
        Some(opened.octets)
    }

    /// XID, and SABM and UA with what they have of it.
    fn unnumbered(&mut self, lane: cipher::Lane, layout: &Layout, function: UFunction, info: &[u8]) {
        let begins = matches!(function, UFunction::Sabm | UFunction::Ua);
        if !begins && function != UFunction::Xid {
            return;
        }
        let sapi = layout.header.sapi;
        let sap = Sap { mobile: lane.mobile, sapi: sapi.0 };
        let parameters = cipher::parameters(info);
        self.ciphers.learn_u(lane, sapi, begins, &parameters);
        if begins {
            self.compressions.link_anew(sap);
        }
        // A command of the SGSN and a response of the mobile have C/R 1 (04.64 clause 6.2.2).
        let is_command = layout.header.cr != lane.is_up;
        for parameter in &parameters {
            match parameter {
                Parameter::Reset => self.compressions.reset(lane.mobile),
                Parameter::Layer3(block) => self.compressions.learn(sap, lane.is_up, is_command, block),
                _ => {}
            }
        }
    }

    fn layer3(&mut self, spot: Spot, whole: &Whole<'_>, info: &[u8], out: &mut Out) {
        let direction = match whole.direction {
            Direction::Up => l3::Direction::Uplink,
            Direction::Down => l3::Direction::Downlink,
        };
        let message = match L3Message::parse(direction, info) {
            Ok(message) => message,
            Err(why) => return out.push(spot.seen(Record::Unreadable(Unreadable { layer: "GMM/SM", why }))),
        };
        if let Some(tlli) = whole.tlli {
            self.mobiles.learn_layer3(tlli, &message);
        }
        self.merged();
        let mobile = whole.tlli.and_then(|tlli| self.mobiles.of_tlli(tlli));
        self.ciphers.learn_layer3(mobile.unwrap_or(u32::MAX), &message);
        let (direction, tlli) = (whole.direction, whole.tlli);
        let message = Box::new(message);
        out.push(spot.seen(Record::Layer3(Layer3 { direction, tlli, mobile, message })));
    }

    /// What is known of mobiles that turned out to be one is joined.
    pub(super) fn merged(&mut self) {
        for (gone, stays) in self.mobiles.take_merged() {
            self.ciphers.merge(gone, stays);
            self.compressions.merge(gone, stays);
        }
    }

    fn sn_pdu(
        &mut self,
        spot: Spot,
        whole: &Whole<'_>,
        (info, info_len): (&[u8], usize),
        (sapi, mobile): (Sapi, Option<u32>),
        out: &mut Out,
    ) {
        let (header, start) = match sndcp::Header::parse(info) {
            Ok(found) => found,
            Err(why) => return out.push(spot.seen(Record::Unreadable(Unreadable { layer: "SNDCP", why }))),
        };
        let segment = info.get(start..).unwrap_or_default();
        let octets = u32::try_from(info_len.saturating_sub(start)).unwrap_or(u32::MAX);
        let (direction, tlli) = (whole.direction, whole.tlli);
        out.push(spot.seen(Record::Segment(SnPdu { direction, tlli, mobile, header, octets })));
        let is_cut = info.len() < info_len;
        let is_alone = matches!(header.pdu, Pdu::Unitdata { first: Some(_), segment: 0, .. }) && !header.more;
        if is_cut && !is_alone {
            return;
        }
        let key = ContextKey {
            place: spot.place,
            is_up: whole.direction == Direction::Up,
            mobile: mobile.unwrap_or(u32::MAX),
            nsapi: header.nsapi.0,
        };
        let Some(n_pdu) = self.n_pdus.take(key, &header, segment, whole.began) else { return };
        let carrier = Carrier::Segments { nsapi: header.nsapi.0, number: n_pdu.number, count: n_pdu.count };
        let whose =
            Whose { direction: Some(direction), mobile, carrier, began: Some((n_pdu.began, n_pdu.first)) };
        let sap = Sap { mobile: key.mobile, sapi: sapi.0 };
        let lane = compression::Lane { sap, place: spot.place, is_up: key.is_up };
        let came = Came {
            nsapi: header.nsapi,
            is_acknowledged: matches!(header.pdu, Pdu::Data { .. }),
            compression: n_pdu.compression,
            number: n_pdu.number,
        };
        let restored = self.compressions.restore(lane, came, &n_pdu.octets);
        let length = |octets: &[u8]| u32::try_from(octets.len()).unwrap_or(u32::MAX);
        let octets = if is_cut { octets } else { length(restored.as_ref().unwrap_or(&n_pdu.octets)) };
        let packet = restored.as_deref().and_then(ip::parse);
        if let (Direction::Up, Some(index), Some(packet)) = (direction, mobile, &packet) {
            let source = packet.summary.source;
            if !source.is_unspecified() && self.mobiles.of_address(&source).is_none() {
                self.mobiles.name_address(index, source);
            }
        }
        self.packet(spot, packet.as_ref(), octets, whose, out);
    }
}

fn lane(spot: Spot, whole: &Whole<'_>, mobile: Option<u32>) -> cipher::Lane {
    let is_up = whole.direction == Direction::Up;
    cipher::Lane { place: spot.place, mobile: mobile.unwrap_or(u32::MAX), is_up }
}
