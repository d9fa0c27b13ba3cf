//! Entries with a state: a link in acknowledged mode, and SNDCP with its compression entities.

use super::n_pdus;
use gannet_machine::time::Duration;
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::{Ciphering, Confirmed, LlcContext, LlcOutput, LlcRole, ReturnedUnits, Terms};
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
use gannet_proto::sndcp::{LinkView, NPdu, Setting, Sndcp, SndcpConfig, SndcpOutput, Whole};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use gannet_wire::sndcp::Compression;

const SAPI: Sapi = Sapi(3);
const FRAMES: usize = 40;
const KEY: TimerKey = TimerKey { owner: 0, slot: 0, generation: 0 };

/// LLC of one end, whose peer is the input.
struct Link {
    around: Surroundings<Quiet>,
    llc: LlcContext,
    out: Batch<LlcOutput>,
}

impl Link {
    fn new(role: LlcRole) -> Self {
        let mut llc = LlcContext::new(role);
        llc.assign(Some(Tlli(0xc000_0001)), None, Ciphering::NONE);
        llc.offer_abm(true);
        Self { around: Surroundings::new(1, FRAMES, Quiet::default()), llc, out: Batch::default() }
    }

    fn act(&mut self, kind: u8, octets: &[u8]) {
        let mut cx = self.around.context();
        let terms = || Terms { layer3: Some(octets.to_vec()), ..Terms::default() };
        match kind {
            // Frames come more often than anything else.
            0..8 => {
                let pdu = [octets, &fcs24(octets)].concat();
                let Some(frame) = cx.frames.copy_of(&pdu) else { return };
                self.llc.receive(&mut cx, None, frame, &mut self.out);
            }
            8..11 => {
                let Some(frame) = cx.frames.copy_of(octets) else { return };
                let _ = self.llc.data_request(&mut cx, SAPI, u32::from(kind), frame, &mut self.out);
            }
            11 => self.llc.establish_request(&mut cx, SAPI, terms(), &mut self.out),
            12 => self.llc.release_request(&mut cx, SAPI, octets.is_empty(), &mut self.out),
            13 => self.llc.set_busy(&mut cx, SAPI, octets.is_empty(), &mut self.out),
            14 => self.llc.layer3_xid_request(&mut cx, SAPI, octets.to_vec(), &mut self.out),
            _ => {
                self.around.now +=
                    Duration::from_millis(octets.iter().map(|octet| u64::from(*octet) * 40).sum())
            }
        }
        self.drain();
        self.llc.arm(KEY, &mut self.around.timers);
        for turn in 0.. {
            assert!(turn < 1000, "a wake-up is asked for again and again");
            let Some(_) = self.around.timers.pop_due(self.around.now) else { break };
            self.llc.wake(&mut self.around.context(), None, &mut self.out);
            self.drain();
            self.llc.arm(KEY, &mut self.around.timers);
        }
    }

    fn drain(&mut self) {
        for turn in 0.. {
            assert!(turn < 10_000, "outputs without end");
            let Some(output) = self.out.pop() else { return };
            let mut cx = self.around.context();
            match output {
                LlcOutput::EstablishIndication(indication) => {
                    let terms = Terms::default();
                    self.llc.establish_response(&mut cx, *indication, terms, &mut self.out);
                }
                LlcOutput::XidIndication(indication) => {
                    let layer3 = Some(indication.layer3.clone());
                    self.llc.xid_response(&mut cx, *indication, layer3, &mut self.out);
                }
                _ => {}
            }
        }
    }
}

/// Any frames, requests and times, in any order: no frame is kept, and nothing goes round without end.
pub fn abm(octets: &[u8]) {
    let Some((role, octets)) = octets.split_first() else { return };
    let mut link = Link::new(if role & 1 == 0 { LlcRole::Ms } else { LlcRole::Sgsn });
    let frames = link.around.frames.free();
    for (first, piece) in n_pdus(octets) {
        let (kind, piece) = piece.split_first().map_or((first, piece), |(kind, rest)| (*kind, rest));
        link.act(kind & 0xf, piece);
    }
    assert_eq!(link.around.frames.free(), frames);
}

/// What SNDCP may be told.
const KINDS: u8 = 18;
const CODEWORDS: u16 = 1024;
const SLOTS_LESS_ONE: u8 = 7;

/// What learning may take at most, for one NSAPI: two directions of both kinds.
const OCTETS_MAX: usize = 2 * (CODEWORDS as usize * 8 + 200 * (SLOTS_LESS_ONE as usize + 1));

struct End {
    around: Surroundings<Quiet>,
    sndcp: Sndcp,
    config: SndcpConfig,
    out: Batch<SndcpOutput>,
    /// SN-PDUs that went to LLC and have not come back, with their references.
    at_llc: Vec<SnPdu>,
    /// All that ever went there.
    given: Vec<SnPdu>,
}

type SnPdu = (u32, Vec<u8>);

/// A reference as SNDCP makes them: what `of` says beyond the NSAPI, and the N-PDU number.
fn reference(alone: u8, nsapi: Nsapi, number: u8) -> u32 {
    u32::from(alone & 1) << 16 | u32::from(nsapi.0) << 9 | u32::from(number)
}

impl End {
    fn new(role: LlcRole) -> Self {
        let limits = V42bisLimits { p0: 3, p1: CODEWORDS, p2: 32 };
        let compression =
            CompressionConfig { rfc1144: Offer::Active(SLOTS_LESS_ONE), v42bis: Offer::Active(limits) };
        Self {
            around: Surroundings::new(1, FRAMES, Quiet::default()),
            sndcp: Sndcp::new(role),
            config: SndcpConfig { compression, ..SndcpConfig::default() },
            out: Batch::default(),
            at_llc: Vec::new(),
            given: Vec::new(),
        }
    }

    /// What comes back from LLC: the last that it has, or whatever the input says.
    fn back(&mut self, octets: &[u8]) -> Vec<SnPdu> {
        match octets.split_first() {
            Some((first, rest)) if first & 1 == 1 => n_pdus(rest)
                .map(|(of, n_pdu)| {
                    let (number, octets) = n_pdu.split_first().unwrap_or((&0, n_pdu));
                    (reference(first >> 1, Nsapi(5 + (of & 1)), *number), octets.to_vec())
                })
                .collect(),
            first => {
                let stay = first.map_or(0, |(first, _)| usize::from(first >> 1));
                self.at_llc.split_off(stay.min(self.at_llc.len()))
            }
        }
    }

    fn act(&mut self, kind: u8, octets: &[u8]) {
        let back = if kind >= 16 { self.back(octets) } else { Vec::new() };
        // A short window and the longest.
        let (k, beyond) = if octets.len().is_multiple_of(2) { (16, 0) } else { (255, 239) };
        let link = LinkView { k_sent: k, k_received: k, beyond };
        let setting = Setting { config: &self.config, whose: None, n201_i: 500, link };
        let (cx, out, sndcp) = (&mut self.around.context(), &mut self.out, &mut self.sndcp);
        let (first, rest) = octets.split_first().map_or((0, octets), |(first, rest)| (*first, rest));
        let block = Some(octets).filter(|octets| !octets.is_empty());
        let nsapi = Nsapi(5 + (first & 3));
        match kind {
            0..3 => {
                let header =
                    [0x40 | nsapi.0, [0x00, 0x01, 0x02, 0x10, 0x11, 0x12][usize::from(first >> 2) % 6]];
                let Some(frame) = cx.frames.copy_of(&[&header[..], rest].concat()) else { return };
                sndcp.data_indication(cx, &setting, (SAPI, frame), out);
            }
            3 => {
                let Some(frame) = cx.frames.copy_of(octets) else { return };
                sndcp.data_indication(cx, &setting, (SAPI, frame), out);
            }
            4 | 5 => {
                let Some(frame) = cx.frames.copy_of(rest) else { return };
                let compression = Compression { dcomp: first >> 2 & 1, pcomp: first >> 3 & 3 };
                let n_pdu = NPdu { compression, number: u16::from(first), ..NPdu::plain(Nsapi(7), frame) };
                let _ = sndcp.restore_unitdata(cx, None, n_pdu);
            }
            6 => drop(sndcp.xid_indication(cx, &setting, SAPI, octets)),
            7 => sndcp.xid_confirm(cx, &setting, (SAPI, block), out),
            8 => sndcp.establish_indication(cx, &setting, (SAPI, block), out),
            9 => sndcp.establish_confirm(cx, &setting, (SAPI, block), out),
            10 => {
                let (&[of, count], octets) = rest.split_first_chunk().unwrap_or((&[0, 0], rest));
                let octets = u32::try_from(octets.len()).unwrap_or(0);
                let confirmed =
                    Confirmed { reference: reference(of, nsapi, first >> 2), count: count.into(), octets };
                sndcp.data_confirm(cx, &setting, confirmed, out);
            }
            11 => {
                // Often longer than an SN-PDU.
                let Some(frame) = cx.frames.copy_of(&rest.repeat(1 + usize::from(first >> 5))) else {
                    return;
                };
                let taken = sndcp.data_request(cx, &setting, (nsapi, frame), out);
                if let Some((reference, frame)) = taken.ok().and_then(|it| it.now).map(Whole::sn_pdu) {
                    out.push(SndcpOutput::Data { sapi: SAPI, reference, frame });
                }
            }
            12 => {
                let Some(mut frame) = cx.frames.copy_of(octets) else { return };
                let _ = sndcp.compress_unitdata(Nsapi(7), &mut frame);
            }
            13 => sndcp.activate(cx, &setting, (nsapi, SAPI), first & 4 == 0, out),
            14 => sndcp.deactivate(cx, &setting, nsapi, out),
            15 => match first & 3 {
                0 => sndcp.reset_indication(),
                1 => sndcp.release_indication(cx, &setting, SAPI, out),
                _ => sndcp.sequence_indication(cx, &setting, (Nsapi(5), first >> 2), out),
            },
            16 => {
                let units: ReturnedUnits = back.iter().map(|(of, octets)| (*of, &**octets)).collect();
                sndcp.data_returned(cx, &setting, (SAPI, &units));
            }
            _ => {
                let frames = back.iter().map_while(|(of, octets)| Some((*of, cx.frames.copy_of(octets)?)));
                let refused: Vec<_> = frames.collect();
                sndcp.data_refused(cx, &setting, (SAPI, &refused));
            }
        }
        while let Some(output) = self.out.pop() {
            if let SndcpOutput::Data { reference, frame, .. } = output {
                self.at_llc.push((reference, frame.to_vec()));
                self.given.push((reference, frame.to_vec()));
            }
        }
        assert!(self.sndcp.compression_octets() <= 4 * OCTETS_MAX);
    }
}

/// Any primitives with any content, in any order: no frame is kept, and memory stays within what was agreed to.
pub fn sndcp_links(octets: &[u8]) {
    given_to_llc(octets);
}

/// The same; gives the SN-PDUs that went to LLC, each as often as it did.
pub fn given_to_llc(octets: &[u8]) -> Vec<Vec<u8>> {
    let Some((role, octets)) = octets.split_first() else { return Vec::new() };
    let mut end = End::new(if role & 1 == 0 { LlcRole::Ms } else { LlcRole::Sgsn });
    let frames = end.around.frames.free();
    end.act(13, &[0]);
    end.act(13, &[4 | 2]);
    for (first, piece) in n_pdus(octets) {
        let (kind, piece) = piece.split_first().map_or((first, piece), |(kind, rest)| (*kind, rest));
        end.act(kind % KINDS, piece);
    }
    assert_eq!(end.around.frames.free(), frames);
    end.given.into_iter().map(|(_, sn_pdu)| sn_pdu).collect()
}
