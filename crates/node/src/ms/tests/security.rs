use super::super::*;
use super::bench::*;
use gannet_proto::auth::cards::{Cards, Variant};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::gmm::ms::GmmMsState;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::id::Sapi;
use gannet_wire::l3::gmm::{
    AuthenticationRequest, DetachRequestMt, GmmInformation, IdentityRequest, RauReject,
};
use gannet_wire::l3::ie::{
    AcReference, AuthParameterResponse, Autn, CipheringAlgorithm, Cksn, DetachTypeMt, ForceToStandby,
    IdentityType, ImeisvRequest, Rand,
};
use gannet_wire::l3::{GmmMessage, L3Message};

const KI: Key128 = Key128([0x5a; 16]);
const CARDS: Cards = Cards::Sim { algorithm: Comp128::V3, ki: KI };

fn request(algorithm: u8, challenge: Option<([u8; 16], u8)>) -> AuthenticationRequest {
    AuthenticationRequest {
        ciphering: CipheringAlgorithm(algorithm),
        imeisv_request: ImeisvRequest::NotRequested,
        force_to_standby: ForceToStandby::NotIndicated,
        reference: AcReference(9),
        rand: challenge.map(|(rand, _)| Rand(rand)),
        cksn: challenge.map(|(_, cksn)| Cksn(cksn)),
        autn: None,
    }
}

/// The mobile answers a challenge, and the network ciphers from there on with `algorithm`.
fn authenticate(bench: &mut Bench, algorithm: u8, rand: [u8; 16], cksn: u8) {
    bench.gmm(0, request(algorithm, Some((rand, cksn))));
    let (sres, kc) = Comp128::V3.run(&KI, &rand);
    let (_, GmmMessage::AuthenticationResponse(response)) = bench.next_gmm(0) else { panic!() };
    assert_eq!((response.reference, response.response), (AcReference(9), Some(AuthParameterResponse(sres))));
    bench.cipher = Ciphering::with_kc(Algorithm::of_number(algorithm).unwrap(), kc.0).unwrap();
}

/// Mobile 0, attached and ciphered.
fn ciphered(algorithm: u8) -> Bench {
    let mut bench = Bench::new(|config| config.insert(CARDS));
    bench.order(MsCommand::Attach { mobile: 0 });
    let (_, GmmMessage::AttachRequest(attach)) = bench.next_gmm(0) else { panic!() };
    let capability = attach.ms_network_capability;
    assert_eq!((1..=7).filter(|gea| capability.supports_gea(*gea)).collect::<Vec<u8>>(), [1, 2, 3]);
    assert_eq!(attach.cksn, Cksn::NO_KEY);
    authenticate(&mut bench, algorithm, [1; 16], 4);
    bench.gmm(0, attach_accept(bench.rai(0), Some(PTMSI)));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachComplete(_))));
    bench.events.clear();
    bench
}

fn cipher(bench: &Bench) -> Algorithm {
    bench.ms.view(0).unwrap().cipher
}

#[test]
fn on_a_ciphered_link_only_what_never_is_ciphered_is_taken_in_the_clear() {
    let mut bench = ciphered(2);
    assert_eq!(cipher(&bench), Algorithm::Gea2);
    assert!(bench.ms.view(0).unwrap().to_string().contains(", GEA2"));
    bench.activate(0);
    let detach = DetachRequestMt {
        detach_type: DetachTypeMt::ReattachRequired,
        force_to_standby: ForceToStandby::NotIndicated,
        cause: None,
    };
    bench.in_the_clear(0, Sapi::GMM, &L3Message::Gmm(detach.into()).to_vec());
    let deactivate = L3Message::Sm { ti: 0, ti_flag: true, message: activate_accept().into() };
    bench.in_the_clear(0, Sapi::GMM, &deactivate.to_vec());
    bench.in_the_clear(0, Sapi::DATA3, b"an SN-PDU");
    assert_eq!(bench.drops(), [(Drop::LlcUnciphered, 3)]);
    assert!(bench.is_silent() && bench.events.is_empty());
    assert_eq!(bench.ms.mobile(0).unwrap().gmm.state(), GmmMsState::Registered);
    // The bench sees to it that what never is ciphered is not, either way.
    bench.gmm(
        0,
        IdentityRequest { identity_type: IdentityType::Imsi, force_to_standby: ForceToStandby::NotIndicated },
    );
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::IdentityResponse(_))));
    authenticate(&mut bench, 3, [2; 16], 5);
    assert_eq!(cipher(&bench), Algorithm::Gea3);
    bench.gmm(
        0,
        GmmInformation {
            full_name: None,
            short_name: None,
            time_zone: None,
            universal_time: None,
            lsa_identity: None,
            daylight_saving: None,
        },
    );
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::LlcUnciphered, 3)]);
    bench.all_frames_are_back();
}

#[test]
fn the_number_of_the_key_is_sent_until_the_network_forgets_the_mobile() {
    let mut bench = ciphered(1);
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    let (_, GmmMessage::RauRequest(update)) = bench.next_gmm(0) else { panic!() };
    assert_eq!((update.cksn, cipher(&bench)), (Cksn(4), Algorithm::Gea1));
    // In the clear, as from a network that knows nothing.
    let (cause, force_to_standby) = (GmmCause::ImplicitlyDetached, ForceToStandby::NotIndicated);
    bench.gmm(0, RauReject { cause, force_to_standby, t3302: None });
    bench.cipher = Ciphering::NONE;
    let (_, GmmMessage::AttachRequest(attach)) = bench.next_gmm(0) else { panic!() };
    assert_eq!((attach.cksn, cipher(&bench)), (Cksn(4), Algorithm::Gea0));
    // The network has the key too.
    let kc = Comp128::V3.run(&KI, &[1; 16]).1;
    bench.gmm(0, request(2, None));
    assert!(
        matches!(bench.next_gmm(0), (_, GmmMessage::AuthenticationResponse(response)) if response.response.is_none())
    );
    bench.cipher = Ciphering::with_kc(Algorithm::Gea2, kc.0).unwrap();
    bench.gmm(0, attach_accept(bench.rai(0), Some(PTMSI)));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachComplete(_))));
    assert_eq!(bench.drops(), [(Drop::GmmRejected, 1)]);
}

#[test]
fn a_cipher_that_the_mobile_does_not_have_is_dropped_by_name() {
    let mut bench = ciphered(3);
    for algorithm in [4, 5] {
        bench.gmm(0, request(algorithm, Some(([3; 16], 1))));
        assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AuthenticationResponse(_))));
        assert_eq!(cipher(&bench), Algorithm::Gea0);
    }
    assert_eq!(bench.drops(), [(Drop::MsNoCipher, 2)]);
}

#[test]
fn a_usim_sees_whose_challenge_it_is() {
    let cards = Cards::Usim { k: KI, variant: Variant::Op(KI) };
    let mut bench = Bench::new(|config| config.insert(cards));
    bench.order(MsCommand::Attach { mobile: 0 });
    let (_, GmmMessage::AttachRequest(attach)) = bench.next_gmm(0) else { panic!() };
    assert!(attach.ms_network_capability.supports_gea(4));
    bench.gmm(0, AuthenticationRequest { autn: Some(Autn([7; 16])), ..request(4, Some(([1; 16], 0))) });
    let (_, GmmMessage::AuthenticationFailure(failure)) = bench.next_gmm(0) else { panic!() };
    assert_eq!((failure.cause, failure.auts), (GmmCause::MacFailure, None));
    assert_eq!(cipher(&bench), Algorithm::Gea0);
}
