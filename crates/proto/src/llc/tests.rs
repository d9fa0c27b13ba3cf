use super::*;
use gannet_machine::Surroundings;
use gannet_machine::frame::FRAME_PAYLOAD_MAX;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_wire::fcs24::fcs24;
use gannet_wire::llc::xid::{self, Parameter};
use gannet_wire::llc::{Supervisory, ui_header};
use gannet_wire::sndcp;

const TLLI: Tlli = Tlli(0xc000_0001);
const OLD: Tlli = Tlli(0x8000_0001);
const KEY: TimerKey = TimerKey { owner: 0, slot: 0, generation: 0 };

struct End {
    around: Surroundings<Quiet>,
    context: LlcContext,
    out: Batch<LlcOutput>,
}

impl End {
    fn unassigned(role: LlcRole) -> Self {
        let around = Surroundings::new(1, 8, Quiet::default());
        Self { around, context: LlcContext::new(role), out: Batch::default() }
    }

    fn new(role: LlcRole) -> Self {
        let mut end = Self::unassigned(role);
        end.context.assign(Some(TLLI), None, Ciphering::NONE);
        end
    }

    fn receive(&mut self, octets: &[u8]) -> &mut Self {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.context.receive(&mut self.around.context(), None, frame, &mut self.out);
        self
    }

    /// A received frame of the peer, with its FCS.
    fn receive_control(&mut self, sapi: Sapi, command: bool, control: Control, info: &[u8]) -> &mut Self {
        let peer = if self.context.role() == LlcRole::Ms { LlcRole::Sgsn } else { LlcRole::Ms };
        self.receive(&ll_pdu(peer.cr(command), sapi, control, info))
    }

    fn xid_response(&mut self, parameters: &[Parameter]) -> &mut Self {
        let mut info = Vec::new();
        xid::emit(parameters, &mut info);
        let control = Control::U { poll_final: true, function: UFunction::Xid };
        self.receive_control(Sapi(3), false, control, &info)
    }

    fn send(&mut self, sapi: Sapi, info: &[u8]) -> Result<Vec<u8>, Drop> {
        let mut frame = self.around.frames.copy_of(info).unwrap();
        self.context.unitdata_request(sapi, true, false, &mut frame).map(|()| frame.to_vec())
    }

    fn send_ciphered(&mut self, sapi: Sapi, info: &[u8]) -> Vec<u8> {
        let mut frame = self.around.frames.copy_of(info).unwrap();
        self.context.unitdata_request(sapi, true, true, &mut frame).unwrap();
        frame.to_vec()
    }

    /// The information of a frame that is accepted.
    fn hear(&mut self, octets: &[u8]) -> Vec<u8> {
        self.receive(octets);
        match self.out.pop() {
            Some(LlcOutput::Unitdata { frame, .. }) => frame.to_vec(),
            other => panic!("{other:?}: {:?}", self.around.trace.drops),
        }
    }

    fn request(&mut self, sapi: Sapi, n201_u: u16) -> &mut Self {
        let request = XidRequest { n201_u: Some(n201_u), n201_i: Some(1503), ..XidRequest::default() };
        self.context.xid_request(&mut self.around.context(), sapi, request, &mut self.out);
        self.context.arm(KEY, &mut self.around.timers);
        self
    }

    /// Goes on to the next wake-up.
    fn sleep(&mut self) -> &mut Self {
        self.around.now = self.around.timers.next().unwrap();
        assert_eq!(self.around.timers.pop_due(self.around.now), Some(KEY));
        self.context.wake(&mut self.around.context(), None, &mut self.out);
        self.context.arm(KEY, &mut self.around.timers);
        self
    }

    fn transmitted(&mut self) -> Vec<u8> {
        match self.out.pop() {
            Some(LlcOutput::Transmit { frame, .. }) => frame.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    fn unitdata(&mut self) -> Vec<u8> {
        match self.out.pop() {
            Some(LlcOutput::Unitdata { frame, .. }) => frame.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    /// Nothing more to do, and these drops since the beginning.
    fn drops(&mut self) -> Vec<(Drop, u64)> {
        assert!(self.out.is_empty(), "{:?}", self.out);
        self.around.trace.drops.raised().collect()
    }
}

fn ll_pdu(cr: bool, sapi: Sapi, control: Control, info: &[u8]) -> Vec<u8> {
    let mut pdu = Header { cr, sapi, control }.emit().to_vec();
    pdu.extend(info);
    pdu.extend(fcs24(&pdu));
    pdu
}

fn u_function(octets: &[u8]) -> (bool, UFunction) {
    let layout = Header::parse(octets).unwrap();
    assert!(layout.fcs_is_right(octets));
    match layout.header.control {
        Control::U { poll_final, function } => (poll_final, function),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_context_is_88_octets() {
    assert!(size_of::<LlcContext>() <= 88, "{}", size_of::<LlcContext>());
}

#[test]
fn frames_of_a_real_phone_and_core() {
    let mut sgsn = End::unassigned(LlcRole::Sgsn);
    let identity_response = [1, 0xc0, 5, 8, 0x16, 8, 0xa, 0, 0, 0, 0, 0, 0, 0, 0x18, 0xb2, 0x39];
    assert_eq!(sgsn.receive(&identity_response).unitdata(), identity_response[3..14]);
    sgsn.context.assign(Some(TLLI), None, Ciphering::NONE);
    let request = sgsn.send(Sapi::GMM, &[0x08, 0x15, 0x02]).unwrap();
    assert_eq!(request, [0x41, 0xc0, 0x01, 0x08, 0x15, 0x02, 0xde, 0x8e, 0x9a]);
    let command = sgsn.request(Sapi(3), 500).transmitted();
    assert_eq!(command, [0x43, 0xfb, 0x01, 0x00, 0x16, 0x01, 0xf4, 0x1a, 0x05, 0xdf, 0x8c, 0x7c, 0x4e]);
    // The phone's response has C/R of a command and an FCS that is wrong. It counts as none, and data flows.
    sgsn.receive(&[0x03, 0xfb, 0x01, 0x00, 0x16, 0x01, 0xf4, 0x1a, 0x05, 0xdf, 0x68, 0x40, 0xd9]);
    assert!(sgsn.send(Sapi(3), &[0; 500]).is_ok());
    assert_eq!(sgsn.drops(), [(Drop::LlcBadFcs, 1)]);
}

#[test]
fn what_cannot_be_sent_is_named() {
    let mut ms = End::unassigned(LlcRole::Ms);
    assert_eq!(ms.send(Sapi(3), &[1]), Err(Drop::LlcUnassigned));
    assert!(ms.send(Sapi::GMM, &[1]).is_ok());
    ms.context.assign(Some(TLLI), None, Ciphering::NONE);
    assert_eq!(ms.send(Sapi(2), &[1]), Err(Drop::LlcUnknownSapi));
    for (sapi, n201_u) in [(1, 400), (3, 500), (5, 500), (7, 270), (9, 500), (11, 500)] {
        assert!(ms.send(Sapi(sapi), &vec![0; n201_u]).is_ok());
        assert_eq!(ms.send(Sapi(sapi), &vec![0; n201_u + 1]), Err(Drop::LlcTooLong));
    }
    let mut frame = ms.around.frames.copy_of(&[0; FRAME_PAYLOAD_MAX]).unwrap();
    assert!(frame.pull(FRAME_PAYLOAD_MAX - 400));
    let refused = ms.context.unitdata_request(Sapi::GMM, true, false, &mut frame);
    assert_eq!((refused, frame.len()), (Err(Drop::LlcNoRoom), 400));
}

#[test]
fn what_cannot_be_received_is_named() {
    let mut sgsn = End::new(LlcRole::Sgsn);
    let ui = |sapi, nu, info: &[u8]| {
        ll_pdu(false, Sapi(sapi), Control::Ui { nu, encrypted: false, protected: true }, info)
    };
    sgsn.receive(&[0x81, 0xc0, 0x01, 0, 0, 0]).receive(&[]).receive(&ui(2, 0, b"tom"));
    sgsn.receive(&ui(3, 0, &[0; 501])).receive(&ui(3, 0, b"first")).receive(&ui(3, 0, b"again"));
    assert_eq!(sgsn.unitdata(), b"first");
    let mut ciphered = ui_header(false, Sapi(3), 1, true, true).to_vec();
    ciphered.extend([0; 20]);
    sgsn.receive(&ciphered);
    let mut broken = ui(3, 1, b"broken");
    broken[4] ^= 1;
    sgsn.receive(&broken).receive(&ui(3, 1, b"whole"));
    assert_eq!(sgsn.unitdata(), b"whole");
    sgsn.context.assign(None, Some(TLLI), Ciphering::NONE);
    sgsn.receive(&ui(3, 2, b"late"));
    let expected = [
        (Drop::LlcMalformed, 2),
        (Drop::LlcBadFcs, 1),
        (Drop::LlcUnknownSapi, 1),
        (Drop::LlcUnassigned, 1),
        (Drop::LlcTooLong, 1),
        (Drop::LlcDuplicate, 1),
        (Drop::LlcCiphered, 1),
    ];
    assert_eq!(sgsn.drops(), expected);
}

#[test]
fn unprotected_frames_bear_errors_behind_their_first_four_octets() {
    let mut ms = End::new(LlcRole::Ms);
    let mut frame = ms.around.frames.copy_of(b"0123456789").unwrap();
    ms.context.unitdata_request(Sapi(3), false, true, &mut frame).unwrap();
    let mut octets = frame.to_vec();
    octets[3 + 4] ^= 0xff;
    let mut sgsn = End::new(LlcRole::Sgsn);
    assert_eq!(sgsn.receive(&octets).unitdata(), b"0123\xcb56789");
    octets[3 + 3] ^= 0xff;
    assert_eq!(sgsn.receive(&octets).drops(), [(Drop::LlcBadFcs, 1)]);
}

#[test]
fn tllis_are_assigned_changed_and_unassigned() {
    let mut context = LlcContext::new(LlcRole::Sgsn);
    assert_eq!((context.tlli(), context.accepts(Tlli::UNASSIGNED)), (None, false));
    context.assign(Some(OLD), None, Ciphering::NONE);
    assert_eq!((context.tlli(), context.tlli_old()), (Some(OLD), None));
    context.assign(Some(TLLI), Some(OLD), Ciphering::NONE);
    assert_eq!((context.tlli(), context.accepts(OLD), context.accepts(TLLI)), (Some(TLLI), true, true));
    context.assign(Some(TLLI), None, Ciphering::NONE);
    assert!(!context.accepts(OLD) && context.accepts(TLLI));
    context.assign(None, None, Ciphering::NONE);
    assert_eq!(context.tlli(), Some(TLLI));
    context.assign(None, Some(TLLI), Ciphering::NONE);
    assert_eq!(context, LlcContext::new(LlcRole::Sgsn));
}

#[test]
fn acknowledged_mode_is_refused() {
    for role in [LlcRole::Ms, LlcRole::Sgsn] {
        let mut end = End::new(role);
        for (poll_final, function) in [(true, UFunction::Sabm), (false, UFunction::Disc)] {
            let control = Control::U { poll_final, function };
            let answer = end.receive_control(Sapi(3), true, control, &[]).transmitted();
            assert_eq!(u_function(&answer), (poll_final, UFunction::Dm));
            assert_eq!(answer[0] & 0x40 == 0, role == LlcRole::Sgsn, "a response");
        }
        let s = Control::S { ack_request: true, nr: 0, supervisory: Supervisory::Rr };
        let i = Control::I { ack_request: true, ns: 0, nr: 0, supervisory: Supervisory::Rr };
        for control in [s, i] {
            let answer = end.receive_control(Sapi(3), true, control, &[]).transmitted();
            assert_eq!(u_function(&answer), (false, UFunction::Dm));
        }
        end.receive_control(Sapi(3), false, s, &[]);
        assert_eq!(end.drops(), [(Drop::LlcAbmRefused, 1), (Drop::LlcNotAbm, 3)]);
    }
}

#[test]
fn u_frames_that_fit_nothing() {
    let mut end = End::new(LlcRole::Ms);
    let all = [
        UFunction::Null,
        UFunction::Dm,
        UFunction::Disc,
        UFunction::Ua,
        UFunction::Sabm,
        UFunction::Frmr,
        UFunction::Other(9),
    ];
    for function in all {
        let command = !matches!(function, UFunction::Null | UFunction::Disc | UFunction::Sabm);
        end.receive_control(Sapi(3), command, Control::U { poll_final: false, function }, &[0; 10]);
    }
    assert_eq!(end.drops(), [(Drop::LlcUnexpected, 6), (Drop::LlcUnknownFunction, 1)]);
    for function in [UFunction::Ua, UFunction::Dm, UFunction::Xid, UFunction::Frmr] {
        end.receive_control(Sapi(3), false, Control::U { poll_final: false, function }, &[]);
    }
    let status = end.out.pop();
    assert!(matches!(status, Some(LlcOutput::Status { cause: LlcStatus::FrameRejected, .. })));
    let null = Control::U { poll_final: false, function: UFunction::Null };
    end.receive_control(Sapi(3), true, null, &[]);
    assert_eq!(end.drops(), [(Drop::LlcUnexpected, 10), (Drop::LlcUnknownFunction, 1)]);
    end.context.trigger(&mut end.around.context(), &mut end.out);
    assert_eq!(u_function(&end.transmitted()), (false, UFunction::Null));
}

#[test]
fn xid_without_response_is_repeated_and_then_given_up() {
    let mut sgsn = End::new(LlcRole::Sgsn);
    let first = sgsn.request(Sapi(3), 1520).transmitted();
    // A second SAPI waits for its turn; the same one again changes nothing.
    sgsn.request(Sapi(9), 1520).request(Sapi(3), 600);
    for n in 1..=3 {
        assert_eq!(sgsn.sleep().transmitted(), first);
        assert_eq!(sgsn.around.now, Instant::ZERO + Duration::from_secs(5 * n));
    }
    sgsn.sleep();
    let status = sgsn.out.pop();
    assert!(matches!(status, Some(LlcOutput::Status { sapi: Sapi(3), cause: LlcStatus::XidUnanswered })));
    assert_eq!(sgsn.context.n201_u(Sapi(3)), 500);
    let next = sgsn.transmitted();
    assert_eq!((next[0] & 0xf, &next[1..10]), (9, &first[1..10]));
    sgsn.context.arm(KEY, &mut sgsn.around.timers);
    assert_eq!(sgsn.around.timers.next(), Some(Instant::ZERO + Duration::from_secs(40)));
    for _ in 0..3 {
        assert_eq!(sgsn.sleep().transmitted(), next);
    }
    sgsn.sleep();
    assert!(matches!(sgsn.out.pop(), Some(LlcOutput::Status { sapi: Sapi(9), .. })));
    assert_eq!(sgsn.around.timers.next(), None);
    assert_eq!(sgsn.drops(), [(Drop::LlcXidUnanswered, 2)]);
}

#[test]
fn a_response_that_breaks_the_rules_counts_as_none() {
    let mut sgsn = End::new(LlcRole::Sgsn);
    sgsn.request(Sapi(3), 1000).transmitted();
    for bad in [Parameter::N201U(1001), Parameter::N201U(139), Parameter::T200(1), Parameter::N200(0)] {
        sgsn.xid_response(&[bad]);
    }
    let control = Control::U { poll_final: true, function: UFunction::Xid };
    sgsn.receive_control(Sapi(3), false, control, &[0x16, 1]);
    assert_eq!(sgsn.drops(), [(Drop::LlcBadXid, 5)]);
    assert_eq!(sgsn.context.n201_u(Sapi(3)), 500);
    sgsn.xid_response(&[Parameter::N201I(800), Parameter::T200(70), Parameter::N200(4)]);
    assert!(matches!(sgsn.out.pop(), Some(LlcOutput::XidConfirm { sapi: Sapi(3), layer3: None })));
    // What the response left out is accepted as asked for.
    assert_eq!((sgsn.context.n201_u(Sapi(3)), sgsn.context.n201_i(Sapi(3))), (1000, 800));
    sgsn.request(Sapi(3), 900).transmitted();
    assert_eq!(sgsn.around.timers.pop_due(Instant(u64::MAX - 1)), Some(KEY));
    sgsn.around.now = Instant::ZERO + Duration::from_secs(5);
    sgsn.context.wake(&mut sgsn.around.context(), None, &mut sgsn.out);
    sgsn.context.arm(KEY, &mut sgsn.around.timers);
    assert_eq!(sgsn.around.timers.next(), Some(Instant::ZERO + Duration::from_secs(7)));
}

#[test]
fn parameters_of_a_command_are_negotiated() {
    let mut ms = End::new(LlcRole::Ms);
    let command = [
        Parameter::Version(3),
        Parameter::IovUi(77),
        Parameter::T200(30),
        Parameter::N200(5),
        Parameter::N201U(1600),
        Parameter::N201I(1000),
        Parameter::MD(8),
        Parameter::KD(9),
        Parameter::Unknown { kind: 20, value: vec![1] },
    ];
    let mut info = Vec::new();
    xid::emit(&command, &mut info);
    let control = Control::U { poll_final: true, function: UFunction::Xid };
    let answer = ms.receive_control(Sapi(3), true, control, &info).transmitted();
    assert_eq!(u_function(&answer), (true, UFunction::Xid));
    let expected = [
        Parameter::Version(0),
        Parameter::IovUi(77),
        Parameter::T200(50),
        Parameter::N200(5),
        Parameter::N201U(500),
        Parameter::N201I(1000),
        Parameter::KD(9),
    ];
    assert_eq!(xid::parse(&answer[2..answer.len() - 3]).unwrap(), expected);
    assert_eq!((ms.context.n201_u(Sapi(3)), ms.context.n201_i(Sapi(3))), (500, 1000));
    assert_eq!(ms.drops(), []);
}

#[test]
fn layer_3_answers_its_part() {
    let mut sgsn = End::new(LlcRole::Sgsn);
    let entity = sndcp::xid::Entity { number: 1, algorithm: Some(0), fields: vec![0x12, 0, 0x20, 15] };
    let mut block = Vec::new();
    sndcp::xid::emit(&[sndcp::xid::Parameter::Protocol(vec![entity])], &mut block);
    let mut info = Vec::new();
    xid::emit(&[Parameter::N201U(1400), Parameter::Layer3(block)], &mut info);
    let control = Control::U { poll_final: true, function: UFunction::Xid };
    sgsn.receive_control(Sapi(5), true, control, &info);
    let Some(LlcOutput::XidIndication(indication)) = sgsn.out.pop() else { panic!() };
    assert_eq!((indication.sapi, sgsn.context.n201_u(Sapi(5))), (Sapi(5), 1400));
    let answer = crate::sndcp::answer_xid(&mut sgsn.around.context(), None, &indication.layer3);
    sgsn.context.xid_response(&mut sgsn.around.context(), *indication, answer, &mut sgsn.out);
    let response = sgsn.transmitted();
    let parameters = xid::parse(&response[2..response.len() - 3]).unwrap();
    assert_eq!(parameters, [Parameter::N201U(1400), Parameter::Layer3(vec![2, 4, 1, 2, 0, 0])]);
}

#[test]
fn colliding_commands_come_to_the_same() {
    let (mut ms, mut sgsn) = (End::new(LlcRole::Ms), End::new(LlcRole::Sgsn));
    let (up, down) = (ms.request(Sapi(3), 1200).transmitted(), sgsn.request(Sapi(3), 1500).transmitted());
    let (down_answer, up_answer) = (ms.receive(&down).transmitted(), sgsn.receive(&up).transmitted());
    for (end, answer) in [(&mut ms, up_answer), (&mut sgsn, down_answer)] {
        end.receive(&answer);
        assert!(matches!(end.out.pop(), Some(LlcOutput::XidConfirm { .. })));
        assert_eq!((end.context.n201_u(Sapi(3)), end.drops()), (1200, vec![]));
    }
}

#[test]
fn the_sgsn_resets_both_ends() {
    let (mut ms, mut sgsn) = (End::new(LlcRole::Ms), End::new(LlcRole::Sgsn));
    for n in 0..3 {
        let up = ms.send(Sapi(3), &[n]).unwrap();
        assert_eq!(sgsn.receive(&up).unitdata(), [n]);
    }
    let command = sgsn.request(Sapi(5), 1500).transmitted();
    let answer = ms.receive(&command).transmitted();
    sgsn.receive(&answer).out.pop();
    assert_eq!((ms.context.n201_u(Sapi(5)), sgsn.context.n201_u(Sapi(5))), (1500, 1500));

    sgsn.context.reset_request(&mut sgsn.around.context(), &mut sgsn.out);
    let command = sgsn.transmitted();
    let late = ms.send(Sapi(3), &[3]).unwrap();
    assert_eq!(sgsn.receive(&late).unitdata(), [3]);
    ms.receive(&command);
    assert!(matches!(ms.out.pop(), Some(LlcOutput::Reset)));
    let answer = ms.transmitted();
    sgsn.receive(&answer);
    assert!(matches!(sgsn.out.pop(), Some(LlcOutput::Reset)));
    assert_eq!((ms.context.n201_u(Sapi(5)), sgsn.context.n201_u(Sapi(5))), (500, 500));
    for n in 0..5 {
        let up = ms.send(Sapi(3), &[n]).unwrap();
        assert_eq!(up[1..3], ui_header(false, Sapi(3), u16::from(n), false, true)[1..]);
        assert_eq!(sgsn.receive(&up).unitdata(), [n]);
    }
    assert_eq!((ms.drops(), sgsn.drops()), (vec![], vec![]));
    ms.context.reset_request(&mut ms.around.context(), &mut ms.out);
    assert!(matches!(ms.out.pop(), Some(LlcOutput::Reset)));
}

#[test]
fn without_a_frame_xid_goes_out_with_its_repetition() {
    let mut sgsn = End::new(LlcRole::Sgsn);
    let hoard: Vec<Frame> = core::iter::from_fn(|| sgsn.around.frames.alloc()).collect();
    assert_eq!(sgsn.request(Sapi(3), 1520).drops(), [(Drop::NoFrame, 1)]);
    drop(hoard);
    assert_eq!(u_function(&sgsn.sleep().transmitted()), (true, UFunction::Xid));
}

#[test]
fn a_trigger_sends_a_null_frame_that_the_sgsn_takes_without_a_word() {
    let mut ms = End::new(LlcRole::Ms);
    ms.context.trigger_request(&mut ms.around.context(), &mut ms.out);
    let Some(LlcOutput::Transmit { sapi: Sapi::GMM, frame }) = ms.out.pop() else { panic!("no frame") };
    let header = peek(&frame).unwrap();
    assert_eq!(header.control, Control::U { poll_final: false, function: UFunction::Null });
    let mut sgsn = End::new(LlcRole::Sgsn);
    sgsn.receive(&frame);
    assert!(sgsn.out.is_empty());
    assert_eq!(sgsn.around.trace.drops.total(), 0);
}

/// Two ends that cipher, of which one is killed and goes on from what was kept of it when it was due.
#[test]
fn an_end_that_was_restarted_goes_on_in_step() {
    let ciphering = Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap();
    for (sent, heard) in [(0, 0), (1, 1), (191, 3), (192, 200), (383, 191), (500, 480), (1000, 1300)] {
        let (mut sgsn, mut ms) = (End::new(LlcRole::Sgsn), End::new(LlcRole::Ms));
        for end in [&mut sgsn, &mut ms] {
            end.context.assign(Some(TLLI), None, ciphering);
        }
        let mut kept = sgsn.context.clone();
        for n in 0..sent.max(heard) {
            if n < sent {
                let frame = sgsn.send_ciphered(Sapi::DATA3, b"down");
                // One in three is lost.
                if n % 3 > 0 {
                    assert_eq!(ms.hear(&frame), b"down");
                }
            }
            if n < heard {
                let frame = ms.send_ciphered(Sapi::DATA3, b"up");
                assert_eq!(sgsn.hear(&frame), b"up");
            }
            if sgsn.context.take_due() {
                kept = sgsn.context.clone();
            }
        }
        let before = *sgsn.context.saps.counters(1).unwrap();
        sgsn.context = kept;
        sgsn.context.restore(Instant::ZERO);
        let after = *sgsn.context.saps.counters(1).unwrap();
        assert!(after.tx >= before.tx, "{sent}: a number twice");
        for _ in 0..200 {
            // What the mobile sent meanwhile came to nobody.
            ms.send_ciphered(Sapi::DATA3, b"lost");
        }
        let down = sgsn.send_ciphered(Sapi::DATA3, b"down");
        assert!(sgsn.context.take_due(), "it is kept at once");
        assert_eq!(ms.hear(&down), b"down");
        let up = ms.send_ciphered(Sapi::DATA3, b"up");
        assert_eq!(sgsn.hear(&up), b"up");
        assert_eq!(ms.around.trace.drops.raised().count() + sgsn.around.trace.drops.raised().count(), 0);
    }
}

#[test]
fn a_command_that_waited_at_a_restart_is_repeated_in_its_time() {
    let mut end = End::new(LlcRole::Sgsn);
    end.around.now = Instant::ZERO + Duration::from_secs(1_000_000);
    end.request(Sapi::DATA3, 1000);
    end.out = Batch::default();
    let mut restarted = End::new(LlcRole::Sgsn);
    restarted.context = end.context.clone();
    restarted.context.restore(Instant::ZERO);
    restarted.context.arm(KEY, &mut restarted.around.timers);
    assert_eq!(restarted.around.timers.next(), Some(Instant::ZERO + Duration::from_secs(5)));
    let mut idle = LlcContext::new(LlcRole::Sgsn);
    idle.restore(Instant::ZERO);
    assert!(!idle.deadlines.is_set(LlcTimer::T200));
}

/// A mobile that goes on ciphering while nobody listens is in step again with its first frame, however its N(U) has gone round.
#[test]
fn a_peer_that_went_on_unheard_is_found_again() {
    let ciphering = Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap();
    for lost in [0, 287, 480, 512, 700, 5_000, 30_000] {
        let [mut sgsn, mut ms] = [LlcRole::Sgsn, LlcRole::Ms].map(|role| {
            let mut end = End::new(role);
            end.context.assign(Some(TLLI), None, ciphering);
            end
        });
        for _ in 0..700 {
            let frame = ms.send_ciphered(Sapi::DATA3, b"up");
            assert_eq!(sgsn.hear(&frame), b"up");
        }
        sgsn.context.restore(Instant::ZERO);
        for _ in 0..lost {
            ms.send_ciphered(Sapi::DATA3, b"lost");
        }
        // What is nobody's frame neither brings it out of step nor costs for ever.
        let mut nobodys = ms.send_ciphered(Sapi::DATA3, b"damaged");
        nobodys[5] ^= 1;
        sgsn.receive(&nobodys);
        assert_eq!(sgsn.drops(), [(Drop::LlcBadFcs, 1)], "{lost}");
        for _ in 0..40 {
            let frame = ms.send_ciphered(Sapi::DATA3, b"again");
            assert_eq!(sgsn.hear(&frame), b"again", "{lost}");
        }
        let late = ms.send_ciphered(Sapi::DATA3, b"late");
        let next = ms.send_ciphered(Sapi::DATA3, b"next");
        assert_eq!((sgsn.hear(&next), sgsn.hear(&late)), (b"next".to_vec(), b"late".to_vec()));
        sgsn.receive(&late);
        assert_eq!(sgsn.drops(), [(Drop::LlcBadFcs, 1), (Drop::LlcDuplicate, 1)], "{lost}");
    }
}

#[test]
fn searches_for_a_peer_end() {
    let ciphering = Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap();
    let mut sgsn = End::new(LlcRole::Sgsn);
    let mut ms = End::new(LlcRole::Ms);
    for end in [&mut sgsn, &mut ms] {
        end.context.assign(Some(TLLI), None, ciphering);
    }
    // One that was not restarted, and one that does not cipher, never search.
    assert!(!sgsn.context.end.take_search());
    sgsn.context.set_ciphering(Ciphering::NONE);
    sgsn.context.restore(Instant::ZERO);
    assert!(!sgsn.context.end.take_search());
    sgsn.context.set_ciphering(ciphering);
    sgsn.context.restore(Instant::ZERO);
    let garbage = [ui_header(false, Sapi::DATA3, 1, true, true).to_vec(), vec![0; 20]].concat();
    for _ in 0..SEARCHES_MAX {
        sgsn.receive(&garbage);
    }
    assert!(!sgsn.context.end.take_search());
    // In step it goes on as ever; out of step it is heard no more.
    let frame = ms.send_ciphered(Sapi::DATA3, b"up");
    assert_eq!(sgsn.hear(&frame), b"up");
    for _ in 0..700 {
        ms.send_ciphered(Sapi::DATA3, b"lost");
    }
    sgsn.receive(&ms.send_ciphered(Sapi::DATA3, b"up"));
    assert_eq!(sgsn.drops(), [(Drop::LlcBadFcs, u64::from(SEARCHES_MAX) + 1)]);
}

#[test]
fn an_i_frame_is_known_by_its_control_field() {
    let i = |ack_request, ns| Control::I { ack_request, ns, nr: 511, supervisory: Supervisory::Rr };
    let s = Control::S { ack_request: true, nr: 0, supervisory: Supervisory::Rnr };
    let ui = Control::Ui { nu: 511, encrypted: true, protected: true };
    let u = |function| Control::U { poll_final: true, function };
    let all = [i(false, 0), i(true, 511), s, ui, u(UFunction::Sabm), u(UFunction::Xid)];
    let seen = all.map(|control| {
        let frame = [&Header { cr: true, sapi: Sapi::DATA11, control }.emit()[..], &[0; 3]].concat();
        (is_information(&frame), Kind::of(&frame).is_of_acknowledged_mode(), Kind::of(&frame).is_user_data())
    });
    let (data, own, other) = ((true, true, true), (false, true, true), (false, false, false));
    assert_eq!(seen, [data, data, own, (false, false, true), own, other]);
    assert!(!is_information(&[]) && !is_information(&[0x03]));
    let of_gmm =
        |control| Kind::of(&[&Header { cr: true, sapi: Sapi::GMM, control }.emit()[..], &[0; 3]].concat());
    assert_eq!(all.map(of_gmm)[2..4], [Kind::Other, Kind::Gmm { encrypted: true }]);
    assert_eq!((Kind::of(&[]), Kind::of(&[0x03])), (Kind::Other, Kind::Other));
}
