//! Segmentation in unacknowledged mode (04.65 clause 6.7 [44.065]).

use super::{N_PDU_MAX, SndcpNsapi};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::{Batch, Context};
use gannet_wire::sndcp::{
    Compression, Header, Pdu, SEGMENTS_MAX, UNITDATA_FIRST_LEN, UNITDATA_MODULUS, UNITDATA_NEXT_LEN,
};

impl SndcpNsapi {
    /// SN-UNITDATA.request: appends the SN-PDUs of the N-PDU in `frame` to `out`, each for one LL-UNITDATA.request,
    /// none longer than `n201_u` octets.
    ///
    /// The first segment keeps the frame of the N-PDU; only what does not fit in it is copied, into frames of the
    /// pool. Either all segments are made or none.
    ///
    /// # Errors
    /// The name under which the caller drops the N-PDU: empty, longer than [`N_PDU_MAX`], no headroom, no free frame.
    pub fn unitdata_request(
        &mut self,
        cx: &mut Context<'_>,
        n201_u: u16,
        frame: Frame,
        out: &mut Batch<Frame>,
    ) -> Result<(), Drop> {
        self.compressed_request(cx, n201_u, Compression::NONE, frame, out)
    }

    /// The same of an N-PDU that was compressed ([`super::Sndcp::compress_unitdata`]).
    ///
    /// # Errors
    /// As of [`SndcpNsapi::unitdata_request`].
    pub fn compressed_request(
        &mut self,
        cx: &mut Context<'_>,
        n201_u: u16,
        compression: Compression,
        mut frame: Frame,
        out: &mut Batch<Frame>,
    ) -> Result<(), Drop> {
        if frame.is_empty() {
            return Err(Drop::SndcpEmpty);
        }
        if frame.len() > N_PDU_MAX {
            return Err(Drop::SndcpTooLong);
        }
        let n201_u = usize::from(n201_u);
        let first_len = n201_u.saturating_sub(UNITDATA_FIRST_LEN);
        if frame.len() <= first_len {
            self.put_first_header(compression, false, &mut frame)?;
            out.push(frame);
        } else {
            let next_len = n201_u.saturating_sub(UNITDATA_NEXT_LEN);
            self.cut(cx, (first_len, next_len), compression, frame, out)?;
        }
        self.number = (self.number + 1) % UNITDATA_MODULUS;
        Ok(())
    }

    fn put_first_header(&self, compression: Compression, more: bool, frame: &mut Frame) -> Result<(), Drop> {
        let pdu = Pdu::Unitdata { first: Some(compression), segment: 0, number: self.number };
        let header = Header { nsapi: self.nsapi, more, pdu };
        frame.prepend(&header.emit()).then_some(()).ok_or(Drop::SndcpNoRoom)
    }

    fn cut(
        &self,
        cx: &Context<'_>,
        (first_len, next_len): (usize, usize),
        compression: Compression,
        mut frame: Frame,
        out: &mut Batch<Frame>,
    ) -> Result<(), Drop> {
        let rest = frame.get(first_len..).unwrap_or_default();
        if first_len == 0 || next_len * (SEGMENTS_MAX - 1) < rest.len() {
            return Err(Drop::SndcpTooLong);
        }
        let mut next: [Option<Frame>; SEGMENTS_MAX] = [const { None }; SEGMENTS_MAX];
        for (n, (segment, place)) in rest.chunks(next_len).zip(next.iter_mut()).enumerate() {
            let more = (n + 1) * next_len < rest.len();
            *place = Some(self.next_segment(cx, n + 1, more, segment)?);
        }
        frame.truncate(first_len);
        self.put_first_header(compression, true, &mut frame)?;
        out.push(frame);
        for segment in next.into_iter().flatten() {
            out.push(segment);
        }
        Ok(())
    }

    fn next_segment(
        &self,
        cx: &Context<'_>,
        segment: usize,
        more: bool,
        octets: &[u8],
    ) -> Result<Frame, Drop> {
        let segment = u8::try_from(segment).unwrap_or(u8::MAX);
        let pdu = Pdu::Unitdata { first: None, segment, number: self.number };
        let mut frame = cx.frames.copy_of(octets).ok_or(Drop::NoFrame)?;
        let header = Header { nsapi: self.nsapi, more, pdu };
        frame.prepend(&header.emit()).then_some(frame).ok_or(Drop::SndcpNoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::trace::Quiet;
    use gannet_wire::id::{Nsapi, Sapi};

    fn cut(len: usize, n201_u: u16) -> (Result<(), Drop>, Vec<Vec<u8>>, SndcpNsapi) {
        let mut around = Surroundings::new(1, 20, Quiet::default());
        let octets: Vec<u8> = (0..=250).cycle().take(len).collect();
        let frame = around.frames.copy_of(&octets).unwrap();
        let mut nsapi = SndcpNsapi::new(Nsapi(6), Sapi(3));
        nsapi.number = 4095;
        let mut out = Batch::default();
        let result = nsapi.unitdata_request(&mut around.context(), n201_u, frame, &mut out);
        let pdus = core::iter::from_fn(|| out.pop()).map(|frame| frame.to_vec()).collect();
        assert_eq!(around.frames.free(), 20);
        (result, pdus, nsapi)
    }

    #[test]
    fn an_n_pdu_that_fits_is_not_cut() {
        let (result, pdus, nsapi) = cut(496, 500);
        assert_eq!(result, Ok(()));
        assert_eq!(pdus.len(), 1);
        assert_eq!(pdus[0][..5], [0x66, 0x00, 0x0f, 0xff, 0]);
        assert_eq!(pdus[0].len(), 500);
        assert_eq!(nsapi.number, 0);
    }

    #[test]
    fn the_segments_of_a_real_core() {
        // 1500 octets with N201-U 500 gave 500, 500, 500 and 13 octets in the capture of a real core.
        let (_, pdus, _) = cut(1500, 500);
        assert_eq!(pdus.iter().map(Vec::len).collect::<Vec<_>>(), [500, 500, 500, 13]);
        let headers: Vec<&[u8]> = pdus.iter().map(|pdu| &pdu[..3]).collect();
        assert_eq!(
            headers,
            [&[0x76, 0, 0x0f], &[0x36, 0x1f, 0xff], &[0x36, 0x2f, 0xff], &[0x26, 0x3f, 0xff]]
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        assert_eq!(cut(1520, 140).0, Ok(()));
        assert_eq!(cut(1521, 1520).0, Err(Drop::SndcpTooLong));
        assert_eq!(cut(0, 1520).0, Err(Drop::SndcpEmpty));
        assert_eq!(cut(16 + 15 * 17, 20).0, Ok(()));
        assert_eq!(cut(17 + 15 * 17, 20).0, Err(Drop::SndcpTooLong));
        assert_eq!(cut(500, 3).0, Err(Drop::SndcpTooLong));
    }

    #[test]
    fn all_segments_or_none() {
        let mut around = Surroundings::new(1, 2, Quiet::default());
        let frame = around.frames.copy_of(&[0; 1500]).unwrap();
        let mut nsapi = SndcpNsapi::new(Nsapi(6), Sapi(3));
        let mut out = Batch::default();
        let result = nsapi.unitdata_request(&mut around.context(), 500, frame, &mut out);
        assert_eq!((result, out.len(), nsapi.number), (Err(Drop::NoFrame), 0, 0));
        let mut frame = around.frames.copy_of(&[0; 20]).unwrap();
        assert!(frame.prepend(&[0; gannet_machine::frame::HEADROOM - 3]));
        let result = nsapi.unitdata_request(&mut around.context(), 500, frame, &mut out);
        assert_eq!(result, Err(Drop::SndcpNoRoom));
    }
}
