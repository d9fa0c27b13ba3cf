//! A mobile leaves as octets and arrives as octets.

use super::bench::*;
use crate::sgsn::relocation::ImportError;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_proto::gtp::TeidKey;
use gannet_wire::bssgp::Message;
use gannet_wire::gtp::v1c::UpdateResponse;
use gannet_wire::gtp::{Cause, Message as GtpMessage};
use gannet_wire::id::{Sapi, Teid};
use gannet_wire::l3::ie::{MobileIdentity, SmCause};
use gannet_wire::l3::sm::{DeactivateRequest, SmMessage};

impl Bench {
    pub fn export(&mut self, phone: usize) -> Vec<u8> {
        let octets = self.sgsn.export(&mut self.around.context(), imsi(phone));
        self.collect();
        octets.expect("it is here")
    }

    pub fn import(&mut self, octets: &[u8]) -> Result<Slot, ImportError> {
        let result = self.sgsn.import(&mut self.around.context(), octets);
        self.collect();
        result
    }
}

#[test]
fn a_mobile_that_left_is_gone_and_one_that_came_back_goes_on() {
    let mut bench = Bench::attached(true);
    let slot = bench.slot(0);
    let copy = bench.sgsn.copy_out(slot).unwrap();
    let octets = bench.export(0);
    assert_eq!(octets, copy);
    assert!(octets.len() < 1024, "{} octets", octets.len());
    bench.assert_empty();
    assert_eq!(bench.sgsn.gtp().paths().len(), 0);
    assert_eq!(bench.sgsn.export(&mut bench.around.context(), imsi(0)), None);
    assert_eq!(bench.import(&octets), Ok(slot));
    assert_eq!(bench.sgsn.copy_out(slot), Some(octets), "the same octets");
    // Traffic both ways, with the numbers where they were.
    bench.downlink(0, NSAPI, b"down");
    assert_eq!(bench.hear(0).1[4..], *b"down");
    bench.unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u', b'p']);
    assert_eq!(bench.next_user().2, b"up");
    assert_eq!(bench.drops(), []);
    // Its timers are armed: it falls into STANDBY, and is paged.
    bench.pass_secs(45);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
    bench.downlink(0, NSAPI, b"down");
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(_)));
}

#[test]
fn timers_that_ran_out_meanwhile() {
    let mut bench = Bench::attached(false);
    let octets = bench.export(0);
    bench.pass_secs(100);
    bench.import(&octets).unwrap();
    bench.pass_secs(0);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
}

#[test]
fn to_another_sgsn() {
    let mut first = Bench::attached(true);
    first.attach(1);
    first.activate(1, Nsapi(7));
    let former = first.slot(1);
    let first_teid = first.sgsn.teid(former, Nsapi(7));
    let octets = first.export(1);
    let mut second = Bench::new(|_| ());
    second.attach(2);
    second.attach(3);
    // Phone 3 has its slot there; nobody has its TEID.
    let teid = first_teid;
    let slot = second.import(&octets).unwrap();
    assert_ne!(slot, former);
    assert_eq!(second.sgsn.teid(slot, Nsapi(7)), teid);
    second.phones[1] = first.phones.remove(1);
    assert_eq!(second.slot(1), slot);
    second.downlink(1, Nsapi(7), b"down");
    assert_eq!(second.hear(1).1[4..], *b"down");
    let (number, apn) = {
        let (_, context) = second.mobile(1).sm().iter().next().unwrap();
        (context.apn(), second.sgsn.access_point(context.apn(), None).unwrap().0.clone())
    };
    assert_eq!((number, apn.as_str()), (0, "internet"));
    assert_eq!(first.sgsn.mobiles().count(), 1);
    assert_eq!((first.drops(), second.drops()), (vec![], vec![]));
}

#[test]
fn to_an_sgsn_with_another_key() {
    let mut first = Bench::attached(true);
    first.attach(1);
    first.activate(1, Nsapi(7));
    let octets = first.export(1);
    let other = TeidKey::new(7);
    let mut second = Bench::new(|config| config.teid_key = other);
    second.attach(2);
    second.activate(2, NSAPI);
    let slot = second.import(&octets).unwrap();
    let (teid, name) = (second.sgsn.teid(slot, Nsapi(7)), second.sgsn.context_name(slot, Nsapi(7)).unwrap());
    assert_eq!(teid, Some(other.teid(name)));
    // The GGSN is told where the context is now, under the TEID of this node's key.
    let (to, header, message) = second.next_control();
    let GtpMessage::UpdateRequest(update) = message else { panic!("{message:?}") };
    assert_eq!((to, update.nsapi, header.teid), (GGSN, Nsapi(7), Teid(GGSN_CONTROL + 7)));
    assert_eq!((update.teid_data, update.teid_control), (teid, teid));
    let accepted = UpdateResponse::refused(Cause::RequestAccepted);
    second.answer(to, teid.unwrap(), header.sequence.unwrap(), accepted);
    second.phones[1] = first.phones.remove(1);
    second.downlink(1, Nsapi(7), b"down");
    assert_eq!(second.hear(1).1[4..], *b"down");
    assert_eq!(second.drops(), []);
    // A GGSN that does not have the context says so: the mobile is to make it anew.
    let octets = second.export(1);
    let mut third = Bench::new(|_| ());
    let slot = third.import(&octets).unwrap();
    let teid = third.sgsn.teid(slot, Nsapi(7)).unwrap();
    let (to, header, _) = third.next_control();
    third.answer(to, teid, header.sequence.unwrap(), UpdateResponse::refused(Cause::NonExistent));
    assert_eq!(third.dropped(Drop::SgsnTunnelLost), 1);
    // There is no room for it.
    let mut full = Bench::new(|config| (config.contexts_max, config.teid_key) = (Some(1), other));
    full.attach(2);
    full.activate(2, NSAPI);
    let mut first = Bench::attached(true);
    first.attach(1);
    first.activate(1, Nsapi(7));
    let octets = first.export(1);
    assert_eq!(full.import(&octets), Err(ImportError::Full));
}

#[test]
fn what_cannot_arrive() {
    let mut bench = Bench::attached(true);
    let slot = bench.slot(0);
    let octets = bench.sgsn.copy_out(slot).unwrap();
    assert_eq!(bench.import(&octets), Err(ImportError::Present));
    bench.export(0);
    for len in 0..octets.len() {
        assert_eq!(bench.import(&octets[..len]), Err(ImportError::Unreadable), "{len}");
    }
    assert_eq!(bench.import(&[0xff; 400]), Err(ImportError::Unreadable));
    let mut other = octets.clone();
    other.truncate(octets.len() - 3);
    other[0] += 1;
    other.extend(gannet_wire::fcs24::fcs24(&other));
    assert_eq!(bench.import(&other), Err(ImportError::OtherLayout(octets[0] + 1)));
    for phone in [1, 2, 3, 4] {
        bench.phones[phone].power_cycle(Tlli::random(u32::try_from(phone).unwrap()));
        bench.attach(phone);
    }
    let paths = bench.sgsn.gtp().paths().len();
    assert_eq!(bench.import(&octets), Err(ImportError::Full));
    assert_eq!(bench.sgsn.gtp().paths().len(), paths, "nothing has changed");
    assert_eq!(bench.sgsn.mobiles().count(), 4);
}

#[test]
fn damaged_octets_are_no_mobile() {
    let mut bench = Bench::attached(true);
    let octets = bench.export(0);
    for at in 0..octets.len() {
        for bits in [0x01, 0x80, 0xff] {
            let mut damaged = octets.clone();
            damaged[at] ^= bits;
            assert_eq!(bench.import(&damaged), Err(ImportError::Unreadable), "octet {at}");
        }
    }
    bench.assert_empty();
    bench.import(&octets).unwrap();
}

#[test]
fn what_the_ggsn_was_asked_is_settled_where_the_mobile_arrives() {
    let mut bench = Bench::attached(true);
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    bench.sm(0, 1, activate_request(Nsapi(6)));
    let (_, delete, _) = bench.next_control();
    let (from, sequence, request) = bench.next_create();
    let octets = bench.export(0);
    bench.import(&octets).unwrap();
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
    assert!(matches!(bench.hear_sm(0), SmMessage::ActivateReject(_)));
    // The answers come to where it was.
    let response = gannet_wire::gtp::v1c::DeleteResponse {
        cause: Cause::RequestAccepted,
        pco: None,
        private_extension: None,
    };
    bench.answer(GGSN, gannet_wire::id::Teid(0), delete.sequence.unwrap(), response);
    bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
    bench.delete_answer(Nsapi(6));
    assert!(bench.is_silent());
    bench.activate(0, Nsapi(6));
    assert_eq!(bench.drops(), [(Drop::SmRejected, 1)]);
}

#[test]
fn a_ptmsi_that_is_somebody_elses_here() {
    let mut bench = Bench::attached(false);
    let octets = bench.export(0);
    bench.attach(1);
    let (slot, ptmsi) = (bench.slot(1), bench.phones[0].ptmsi.unwrap());
    bench.sgsn.name_ptmsi(ptmsi, slot);
    bench.collect();
    assert_eq!(bench.import(&octets), Err(ImportError::Present));
    assert_eq!(bench.sgsn.directory.by_ptmsi(ptmsi), Some(slot));
}

#[test]
fn what_is_held_or_queued_does_not_travel() {
    let held = (Drop::HeldMobileGone, 1);
    let gone = [(Ingress::Fifo, held), (Ingress::Queued, (Drop::FlowQueueContextGone, 1))];
    for (ingress, raised) in gone {
        let mut bench = Bench::attached_with(true, ingress);
        bench.pass_secs(45);
        bench.downlink(0, NSAPI, b"held");
        bench.sent.clear();
        bench.export(0);
        assert_eq!(bench.drops(), [raised]);
        bench.assert_empty();
    }
}

#[test]
fn an_attach_in_progress_travels_too() {
    let mut bench = Bench::new(|_| ());
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let octets = bench.export(0);
    bench.import(&octets).unwrap();
    bench.accept_attach(0);
    assert_eq!(bench.events.last(), Some(&SgsnEvent::Attached { imsi: imsi(0) }));
}

#[test]
fn a_mobile_whose_teid_is_taken_stays_outside() {
    let mut bench = Bench::new(|config| config.contexts_max = Some(1));
    bench.attach(0);
    bench.activate(0, NSAPI);
    let octets = bench.export(0);
    bench.attach(1);
    bench.activate(1, NSAPI);
    assert_eq!(bench.import(&octets), Err(ImportError::TeidTaken));
    assert_eq!((bench.sgsn.mobiles().count(), bench.sgsn.contexts().len()), (1, 1));
    bench.downlink(1, NSAPI, b"its own");
    assert_eq!(bench.hear(1).1[4..], *b"its own");
}
