use super::server::Server;
use super::*;
use crate::load::imsi;
use gannet_proto::auth::cards::Variant;
use gannet_proto::auth::key::Key128;
use gannet_wire::gsup::{AuthRequest, Domain, LocationUpdate, Purge};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};

fn vectors() -> Body {
    Body::SendAuthInfoRequest(AuthRequest { auts: None, rand: None, cn_domain: None })
}

fn here() -> Body {
    Body::UpdateLocationRequest(LocationUpdate { cn_domain: None, current_rat: None })
}

fn answer(hlr: &mut Hlr, user: u32, body: Body) -> Option<Body> {
    hlr.answer(&Message::new(imsi(user), body))
}

#[test]
fn each_vector_is_fresh_and_the_card_knows_its_answer() {
    let mut hlr = Hlr::new(10, 1);
    let mut rands = HashSet::new();
    for user in [0, 9] {
        let Some(Body::SendAuthInfoResult(result)) = answer(&mut hlr, user, vectors()) else { panic!() };
        assert_eq!(result.tuples.len(), VECTORS);
        for tuple in result.tuples {
            let outcome = Security::cards().card(user).answer(&tuple.rand, None);
            let triplet = tuple.triplet.unwrap();
            assert_eq!(outcome.answer, CardAnswer::Sres(triplet.sres));
            assert_eq!(outcome.keys.unwrap().kc().0, triplet.kc);
            assert!(rands.insert(tuple.rand));
        }
    }
    assert_eq!((hlr.stats.vectors, rands.len()), (10, 10));
}

#[test]
fn a_usim_takes_what_is_made_for_it_once_and_knows_the_answer() {
    let key = |octet| Key128([octet; 16]);
    let cards = Cards::Usim { k: key(1), variant: Variant::Opc(key(2)) };
    let mut hlr = Hlr::with_cards(10, 1, cards);
    let mut card = cards.card(3);
    let Some(Body::SendAuthInfoResult(result)) = answer(&mut hlr, 3, vectors()) else { panic!() };
    for tuple in result.tuples {
        let (triplet, quintuplet) = (tuple.triplet.unwrap(), tuple.quintuplet.unwrap());
        let outcome = card.answer(&tuple.rand, Some(&quintuplet.autn));
        assert_eq!(outcome.answer, CardAnswer::Res(quintuplet.res));
        let keys = outcome.keys.unwrap();
        assert_eq!(keys.kc().0, triplet.kc);
        assert!(keys.kc128().is_some(), "GEA4 has its key");
        let again = card.answer(&tuple.rand, Some(&quintuplet.autn)).answer;
        assert!(!matches!(again, CardAnswer::Res(_)), "{again:?}");
    }
}

#[test]
fn a_location_is_updated_when_the_sgsn_has_the_data() {
    let mut hlr = Hlr::new(10, 1);
    let Some(Body::InsertSubscriberDataRequest(data)) = answer(&mut hlr, 3, here()) else { panic!() };
    assert_eq!(data.pdp_infos[0].apn, Some(SubscribedApn::Any));
    let has_it = || Body::InsertSubscriberDataResult(Domain { cn_domain: None });
    assert_eq!(answer(&mut hlr, 4, has_it()), None, "nobody asked it");
    assert!(matches!(answer(&mut hlr, 3, has_it()), Some(Body::UpdateLocationResult(_))));
    assert_eq!(answer(&mut hlr, 3, has_it()), None, "once");
    answer(&mut hlr, 5, here());
    let refused = Body::InsertSubscriberDataError(refusal(GmmCause::NetworkFailure));
    assert!(matches!(answer(&mut hlr, 5, refused), Some(Body::UpdateLocationError(_))));
    assert_eq!(hlr.stats, Stats { located: 1, unexpected: 2, ..Stats::default() });
}

#[test]
fn who_is_no_user_is_refused() {
    let mut hlr = Hlr::new(10, 1);
    let cause = GmmCause::ImsiUnknownInHlr;
    assert_eq!(answer(&mut hlr, 10, vectors()), Some(Body::SendAuthInfoError(refusal(cause))));
    assert_eq!(answer(&mut hlr, 10, here()), Some(Body::UpdateLocationError(refusal(cause))));
    let purge = || Body::PurgeMsRequest(Purge { hlr_number: None, cn_domain: None });
    assert_eq!(answer(&mut hlr, 10, purge()), Some(Body::PurgeMsError(refusal(cause))));
    assert!(matches!(answer(&mut hlr, 9, purge()), Some(Body::PurgeMsResult(_))));
    assert_eq!(hlr.stats, Stats { unknown: 3, purged: 1, ..Stats::default() });
}

fn gsup(user: u32, body: Body) -> Vec<u8> {
    let mut octets = Vec::new();
    ipa::put_extension(ipa::EXTENSION_GSUP, &Message::new(imsi(user), body).to_vec(), &mut octets);
    octets
}

#[test]
fn a_conversation_in_pieces() {
    let mut said =
        vec![Ccm::IdResp(vec![(IdTag::SerialNumber, b"SGSN".to_vec())]).to_vec(), Ccm::Ping.to_vec()];
    said.extend([gsup(1, vectors()), gsup(2, here()), vec![0, 1, 0x77, 1]]);
    let said = said.concat();
    let mut whole = Vec::new();
    for piece in [1, 7, said.len()] {
        let (mut hlr, mut heard) = (Hlr::new(10, 1), Vec::new());
        let mut conversation = Conversation::new(&mut heard);
        assert!(!conversation.is_introduced());
        for octets in said.chunks(piece) {
            conversation.receive(&mut hlr, octets, &mut heard).unwrap();
        }
        assert!(conversation.is_introduced());
        assert_eq!((hlr.stats.vectors, hlr.stats.unexpected), (5, 1));
        assert!(whole.is_empty() || whole == heard);
        whole = heard;
    }
    let mut conversation = Conversation::new(&mut Vec::new());
    let too_long = [0xff, 0xff, ipa::PROTOCOL_OSMO];
    assert!(conversation.receive(&mut Hlr::new(1, 1), &too_long, &mut Vec::new()).is_err());
}

#[test]
fn it_listens_serves_one_sgsn_after_the_other_and_ends() {
    let server = Server::start((Ipv4Addr::LOCALHOST, 0).into(), Hlr::new(10, 1)).unwrap();
    for user in [1, 2] {
        let mut stream = TcpStream::connect(server.local()).unwrap();
        stream.write_all(&Ccm::IdResp(Vec::new()).to_vec()).unwrap();
        stream.write_all(&gsup(user, vectors())).unwrap();
        let (mut splitter, mut piece, mut vectors) = (Splitter::new(4096), [0; 512], None);
        while vectors.is_none() {
            let len = stream.read(&mut piece).unwrap();
            assert!(len > 0);
            splitter.push(&piece[..len]);
            while let Some(message) = splitter.next_message().unwrap() {
                vectors = message.extension().map(|(_, octets)| Message::parse(octets).unwrap()).or(vectors);
            }
        }
        assert!(server.is_in_touch());
        assert_eq!(vectors.unwrap().imsi, imsi(user));
    }
    assert_eq!(server.end().unwrap().vectors, 10);
}
