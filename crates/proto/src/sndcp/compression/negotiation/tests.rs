use super::*;
use crate::sndcp::compression::Offer;
use gannet_machine::Surroundings;
use gannet_machine::trace::Quiet;
use proptest::collection::vec;
use proptest::prelude::*;

const ALL: CompressionConfig = CompressionConfig {
    rfc1144: Offer::Active(15),
    v42bis: Offer::Active(V42bisLimits { p0: 3, p1: 2048, p2: 20 }),
};
const SOME: CompressionConfig = CompressionConfig {
    rfc1144: Offer::Passive(7),
    v42bis: Offer::Passive(V42bisLimits { p0: 2, p1: 1024, p2: 32 }),
};
const NONE: CompressionConfig = CompressionConfig { rfc1144: Offer::Refuse, v42bis: Offer::Refuse };

fn nsapis(nsapis: &[u8]) -> NsapiSet {
    nsapis.iter().copied().map(Nsapi).collect()
}

fn serving(acknowledged: &[u8], unacknowledged: &[u8]) -> Serving {
    Serving { acknowledged: nsapis(acknowledged), unacknowledged: nsapis(unacknowledged) }
}

struct End {
    around: Surroundings<Quiet>,
    role: LlcRole,
    config: CompressionConfig,
    serving: Serving,
    compressions: Compressions,
}

impl End {
    fn new(role: LlcRole, config: CompressionConfig, serving: Serving) -> Self {
        let around = Surroundings::new(1, 1, Quiet::default());
        Self { around, role, config, serving, compressions: Compressions::default() }
    }

    fn propose(&mut self) -> Option<Vec<u8>> {
        self.compressions.propose(self.role, &self.config, &self.serving)
    }

    fn answer(&mut self, block: &[u8]) -> Vec<u8> {
        let terms = Terms { role: self.role, config: &self.config, serving: &self.serving };
        self.compressions.answer(&mut self.around.context(), None, &terms, block).unwrap()
    }

    fn agreed(&self) -> Vec<(u8, Agreed, NsapiSet)> {
        self.compressions.agreed().collect()
    }

    fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }
}

fn pair(serving: Serving) -> (End, End) {
    (End::new(LlcRole::Ms, ALL, serving), End::new(LlcRole::Sgsn, SOME, serving))
}

/// The mobile proposes until it has nothing left to propose.
fn negotiate(ms: &mut End, sgsn: &mut End) {
    while let Some(block) = ms.propose() {
        let answer = sgsn.answer(&block);
        assert_eq!(ms.compressions.confirm(Some(&answer)), Ok(()));
    }
    assert_eq!(ms.agreed(), sgsn.agreed());
}

const RFC1144: Agreed = Agreed::Rfc1144 { pcomps: [1, 2], s0_minus_1: 7 };
const V42: Agreed = Agreed::V42bis { dcomp: 1, limits: V42bisLimits { p0: 2, p1: 1024, p2: 20 } };

#[test]
fn the_lower_of_each_parameter() {
    let (mut ms, mut sgsn) = pair(serving(&[5], &[]));
    let block = ms.propose().unwrap();
    assert_eq!(
        block,
        [
            [0, 1, 0].as_slice(),
            &[1, 10, 0x80, 0, 7, 0x10, 0, 0x20, 3, 8, 0, 20],
            &[2, 7, 0x80, 0, 4, 0x12, 0, 0x20, 15],
        ]
        .concat()
    );
    assert_eq!(ms.propose(), None, "one command at a time");
    let answer = sgsn.answer(&block);
    assert_eq!(answer, [0, 1, 0, 1, 8, 0, 6, 0, 0x20, 2, 4, 0, 20, 2, 5, 0, 3, 0, 0x20, 7]);
    assert_eq!(ms.compressions.confirm(Some(&answer)), Ok(()));
    assert_eq!(ms.agreed(), [(0, V42, nsapis(&[5])), (0, RFC1144, nsapis(&[5]))]);
    assert_eq!(sgsn.agreed(), ms.agreed());
    assert_eq!((ms.propose(), sgsn.drops()), (None, vec![]));
    // A command that comes again is answered as before.
    assert_eq!(sgsn.answer(&block), answer);
    assert_eq!(ms.compressions.confirm(Some(&answer)), Ok(()), "nobody has asked");
    assert_eq!(sgsn.agreed(), ms.agreed());
}

#[test]
fn nsapis_share_an_entity_of_their_mode() {
    let (mut ms, mut sgsn) = pair(serving(&[5], &[6]));
    negotiate(&mut ms, &mut sgsn);
    let agreed =
        |ms: &End| ms.agreed().iter().map(|(number, _, nsapis)| (*number, nsapis.bits())).collect::<Vec<_>>();
    assert_eq!(agreed(&ms), [(0, 0x20), (1, 0x40), (0, 0x20), (1, 0x40)]);
    (ms.serving, sgsn.serving) = (serving(&[5, 7], &[6]), serving(&[5, 7], &[6]));
    let block = ms.propose().unwrap();
    assert_eq!(
        block,
        [0, 1, 0, 1, 8, 0, 6, 0, 0xa0, 2, 4, 0, 20, 2, 5, 0, 3, 0, 0xa0, 7],
        "P = 0: it exists"
    );
    let answer = sgsn.answer(&block);
    assert_eq!(ms.compressions.confirm(Some(&answer)), Ok(()));
    assert_eq!(agreed(&sgsn), [(0, 0xa0), (1, 0x40), (0, 0xa0), (1, 0x40)]);
    ms.compressions.forget(Nsapi(5));
    ms.compressions.forget(Nsapi(6));
    assert_eq!(agreed(&ms), [(0, 0x80), (0, 0x80)], "an entity without NSAPI ends");
}

#[test]
fn one_mode_and_one_entity_for_an_nsapi() {
    let mut sgsn = End::new(LlcRole::Sgsn, SOME, serving(&[6, 8], &[5, 7]));
    let propose = |number: u8, of: &[u8]| Proposal { number, agreed: RFC1144, nsapis: nsapis(of) }.emit();
    let block = |entities: Vec<xid::Entity>| block_of(&[Parameter::Protocol(entities)]);
    // NSAPI 9 is not active; 5 and 7 are of the mode of the lowest.
    assert_eq!(sgsn.answer(&block(vec![propose(3, &[5, 6, 7, 9])])), [2, 5, 3, 3, 0, 0xa0, 7]);
    assert_eq!(sgsn.answer(&block(vec![propose(4, &[5, 6, 7, 8])])), [2, 5, 4, 3, 1, 0x40, 7]);
    assert_eq!(sgsn.answer(&block(vec![propose(5, &[5, 6, 9])])), [2, 4, 5, 2, 0, 0]);
    assert_eq!(sgsn.drops(), [(Drop::SndcpEntityRefused, 1)]);
    // No NSAPI ends an entity.
    let ended = xid::Entity::existing(3, &[0, 0]);
    assert_eq!(sgsn.answer(&block(vec![ended])), [2, 4, 3, 2, 0, 0]);
    assert_eq!(sgsn.agreed(), [(4, RFC1144, nsapis(&[6, 8]))]);
    assert_eq!(sgsn.drops(), [(Drop::SndcpEntityRefused, 1)]);
}

#[test]
fn what_is_refused_has_a_name() {
    let refused = |config, kind: Kind, entities: Vec<xid::Entity>| {
        let mut sgsn = End::new(LlcRole::Sgsn, config, serving(&[5], &[]));
        let numbers: Vec<u8> = entities.iter().map(|entity| entity.number).collect();
        let parameter = match kind {
            Kind::Data => Parameter::Data(entities),
            Kind::Protocol => Parameter::Protocol(entities),
        };
        let answer = xid::parse(&sgsn.answer(&block_of(&[parameter]))).unwrap();
        let (Parameter::Data(answers) | Parameter::Protocol(answers)) = &answer[0] else {
            panic!("{answer:?}")
        };
        let expected: Vec<_> = numbers.iter().map(|number| xid::Entity::existing(*number, &[0, 0])).collect();
        assert_eq!((answers, sgsn.agreed()), (&expected, vec![]));
        sgsn.drops()
    };
    let algorithm =
        |algorithm, comps: &[u8], fields: &[u8]| xid::Entity::proposed(1, algorithm, comps, fields);
    let rfc2507 = algorithm(1, &[1, 2, 3, 4, 5], &[0, 0x20, 1, 0, 5, 168, 15, 0, 15]);
    let rohc = algorithm(2, &[1, 2], &[0, 0x20, 0, 15, 168, 0, 1]);
    let v44 = algorithm(1, &[1, 2], &[0, 0x20]);
    let unknown = algorithm(30, &[], &[]);
    let of = |drop, count| vec![(drop, count)];
    let protocols = vec![rfc2507, rohc, unknown.clone()];
    assert_eq!(refused(ALL, Kind::Protocol, protocols), of(Drop::SndcpAlgorithmRefused, 3));
    assert_eq!(refused(ALL, Kind::Data, vec![v44, unknown]), of(Drop::SndcpAlgorithmRefused, 2));
    let rfc1144 = |comps: &[u8], fields: &[u8]| algorithm(0, comps, fields);
    assert_eq!(
        refused(NONE, Kind::Protocol, vec![rfc1144(&[1, 2], &[0, 0x20])]),
        of(Drop::SndcpAlgorithmRefused, 1)
    );
    let bad = [
        rfc1144(&[0, 2], &[0, 0x20]),
        rfc1144(&[2, 2], &[0, 0x20]),
        rfc1144(&[1, 2], &[0]),
        rfc1144(&[1, 2], &[0, 0x20, 15, 0]),
        rfc1144(&[], &[]),
    ];
    assert_eq!(refused(ALL, Kind::Protocol, bad.to_vec()), of(Drop::SndcpBadParameters, 5));
    let v42bis = |dcomp: &[u8], fields: &[u8]| algorithm(0, dcomp, fields);
    let bad = [
        v42bis(&[0], &[0, 0x20]),
        v42bis(&[1], &[0, 0x20, 3, 1, 0xff, 20]),
        v42bis(&[1], &[0, 0x20, 3, 2, 0, 5]),
        v42bis(&[1], &[0, 0x20, 3, 2]),
    ];
    assert_eq!(refused(ALL, Kind::Data, bad.to_vec()), of(Drop::SndcpBadParameters, 4));
    // A direction that is not wanted, an entity that does not exist.
    let other_way = v42bis(&[1], &[0, 0x20, 1]);
    assert_eq!(refused(SOME, Kind::Data, vec![other_way]), of(Drop::SndcpEntityRefused, 1));
    let absent = xid::Entity::existing(9, &[0, 0x20]);
    assert_eq!(refused(ALL, Kind::Data, vec![absent]), of(Drop::SndcpEntityRefused, 1));
}

#[test]
fn numbers_that_are_taken_and_too_many_entities() {
    let mut sgsn = End::new(LlcRole::Sgsn, SOME, serving(&[5, 6, 7, 8, 9, 10, 11, 12, 13], &[]));
    let entity = |number, pcomps, nsapi| {
        Proposal { number, agreed: Agreed::Rfc1144 { pcomps, s0_minus_1: 1 }, nsapis: nsapis(&[nsapi]) }
            .emit()
    };
    for n in 0..8 {
        sgsn.answer(&block_of(&[Parameter::Protocol(vec![entity(n, [1, 2], n + 5)])]));
    }
    assert_eq!((sgsn.agreed().len(), sgsn.drops()), (ENTITIES_MAX, vec![]));
    sgsn.answer(&block_of(&[Parameter::Protocol(vec![entity(8, [1, 2], 13), entity(0, [3, 4], 5)])]));
    assert_eq!(sgsn.drops(), [(Drop::SndcpEntityRefused, 2)]);
    assert_eq!(sgsn.agreed().len(), ENTITIES_MAX);
}

/// One algorithm has the same values of PCOMP or DCOMP for all its entities, whoever chose them.
#[test]
fn an_algorithm_keeps_the_values_that_it_has() {
    let mut ms = End::new(LlcRole::Ms, ALL, serving(&[5], &[]));
    let limits = V42bisLimits::default();
    let proposals = [
        Parameter::Data(vec![
            Proposal { number: 16, agreed: Agreed::V42bis { dcomp: 9, limits }, nsapis: nsapis(&[5]) }.emit(),
        ]),
        Parameter::Protocol(vec![
            Proposal {
                number: 16,
                agreed: Agreed::Rfc1144 { pcomps: [7, 4], s0_minus_1: 15 },
                nsapis: nsapis(&[5]),
            }
            .emit(),
        ]),
    ];
    assert_eq!(
        ms.answer(&block_of(&proposals)),
        [1, 8, 16, 6, 0, 0x20, 3, 8, 0, 20, 2, 5, 16, 3, 0, 0x20, 15]
    );
    ms.serving = serving(&[5], &[6]);
    let proposed = ms.propose().unwrap();
    assert_eq!(
        proposed,
        [
            [0, 1, 0].as_slice(),
            &[1, 10, 0x80, 0, 7, 0x90, 0, 0x40, 3, 8, 0, 20],
            &[2, 7, 0x80, 0, 4, 0x74, 0, 0x40, 15],
        ]
        .concat()
    );
}

/// A block may name more entities than there are; the answer stays one that can be read.
#[test]
fn an_answer_has_room_in_its_parameter() {
    let mut sgsn = End::new(LlcRole::Sgsn, SOME, serving(&[5], &[]));
    let absent: Vec<_> = (0..84).map(|at| xid::Entity::existing(at % 32, &[])).collect();
    let block = [block_of(&[Parameter::Data(absent.clone())]), block_of(&[Parameter::Data(absent)])].concat();
    let answer = sgsn.answer(&block);
    let [Parameter::Data(entities)] = &xid::parse(&answer).unwrap()[..] else { panic!("{answer:02x?}") };
    assert_eq!(entities.len(), 62);
    assert!(entities.iter().all(|entity| entity.fields == [0, 0]));
    assert_eq!(sgsn.drops(), [(Drop::SndcpBadXid, 1), (Drop::SndcpEntityRefused, 84)]);
}

#[test]
fn where_proposals_cross_the_mobiles_holds() {
    let both = serving(&[5], &[]);
    let (mut ms, mut sgsn) = (End::new(LlcRole::Ms, ALL, both), End::new(LlcRole::Sgsn, ALL, both));
    let (of_ms, of_sgsn) = (ms.propose().unwrap(), sgsn.propose().unwrap());
    let (to_ms, to_sgsn) = (sgsn.answer(&of_ms), ms.answer(&of_sgsn));
    assert_eq!(ms.compressions.confirm(Some(&to_ms)), Ok(()));
    assert_eq!(sgsn.compressions.confirm(Some(&to_sgsn)), Ok(()));
    assert_eq!(ms.agreed(), sgsn.agreed());
    assert_eq!(ms.agreed().iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [0, 0]);
    assert_eq!((ms.drops(), sgsn.drops()), {
        (vec![(Drop::SndcpXidCollision, 2)], vec![(Drop::SndcpXidCollision, 1)])
    });
    assert_eq!((ms.propose(), sgsn.propose()), (None, None));
}

#[test]
fn an_answer_beyond_the_proposal_is_an_error() {
    let answers: [&[u8]; 8] = [
        &[2, 5, 0, 3, 0, 0x20, 16],
        &[2, 5, 0, 3, 0, 0x60, 15],
        &[2, 6, 0x80, 0, 3, 0, 0x20, 15],
        &[2, 5, 1, 3, 0, 0x20, 15],
        &[1, 8, 0, 6, 0, 0x20, 3, 8, 1, 20],
        &[1, 8, 0, 6, 0, 0x20, 3, 8, 0, 21],
        &[1, 8, 0, 6, 0, 0x20, 3, 1, 0, 20],
        // The first part is right, and does not hold either.
        &[1, 8, 0, 6, 0, 0x20, 3, 8, 0, 20, 2, 5, 0, 3, 0, 0x20, 16],
    ];
    for answer in answers {
        let (mut ms, _) = pair(serving(&[5], &[]));
        ms.propose().unwrap();
        assert_eq!(ms.compressions.confirm(Some(answer)), Err(Drop::SndcpBadAnswer), "{answer:02x?}");
        assert_eq!(ms.agreed(), []);
    }
    let (mut ms, _) = pair(serving(&[5], &[]));
    ms.propose().unwrap();
    assert_eq!(ms.compressions.confirm(Some(&[1])), Err(Drop::SndcpBadXid));
    ms.propose().unwrap();
    assert_eq!((ms.compressions.confirm(None), ms.agreed()), (Ok(()), vec![]));
    ms.propose().unwrap();
    // What is left out at the end stays as it was proposed, and what is not answered is not agreed to.
    assert_eq!(ms.compressions.confirm(Some(&[2, 4, 0, 2, 0, 0x20])), Ok(()));
    assert_eq!(ms.agreed(), [(0, Agreed::Rfc1144 { pcomps: [1, 2], s0_minus_1: 15 }, nsapis(&[5]))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes, entities are few, serve nobody twice, and stay within what is wanted here.
    #[test]
    fn any_block_does_no_harm(blocks in vec(vec(any::<u8>(), 0..40), 1..6), proposals in vec((any::<bool>(), 0..32_u8, any::<u16>()), 0..12)) {
        let mut sgsn = End::new(LlcRole::Sgsn, SOME, serving(&[5, 6], &[7, 8]));
        let mut all = blocks;
        all.extend(proposals.iter().map(|(is_data, number, bits)| {
            let nsapis = NsapiSet::from_bits(*bits);
            let agreed = if *is_data { V42 } else { RFC1144 };
            let entity = Proposal { number: *number, agreed, nsapis }.emit();
            block_of(&[if *is_data { Parameter::Data(vec![entity]) } else { Parameter::Protocol(vec![entity]) }])
        }));
        for block in all {
            let terms = Terms { role: LlcRole::Sgsn, config: &SOME, serving: &sgsn.serving };
            let _ = sgsn.compressions.answer(&mut sgsn.around.context(), None, &terms, &block);
            let mut twin = sgsn.compressions.clone();
            let _ = twin.propose(LlcRole::Sgsn, &ALL, &sgsn.serving);
            let _ = twin.confirm(Some(&block));
            for compressions in [&sgsn.compressions, &twin] {
                prop_assert!(compressions.entities.len() <= ENTITIES_MAX);
                for kind in [Kind::Data, Kind::Protocol] {
                    let of_kind = compressions.entities.iter().filter(|entity| entity.agreed.kind() == kind);
                    let served: Vec<Nsapi> = of_kind.flat_map(|entity| entity.nsapis.iter()).collect();
                    prop_assert_eq!(served.iter().copied().collect::<NsapiSet>().iter().count(), served.len());
                }
            }
        }
    }
}
