//! Paths that fail, come back, or are given up.

use super::*;

type Fates = Vec<(&'static str, Plane)>;

/// Which planes have failed, come back, or are lost.
fn fates(told: &[GtpOutput]) -> Fates {
    let fate = |output: &GtpOutput| match output {
        GtpOutput::PathFailed { plane, .. } => Some(("failed", *plane)),
        GtpOutput::PathLost { plane, .. } => Some(("lost", *plane)),
        GtpOutput::PathRestored { plane, .. } => Some(("restored", *plane)),
        _ => None,
    };
    told.iter().filter_map(fate).collect()
}

impl Gsn {
    /// Lets time pass, and answers the Echo Requests that were sent on these ports.
    fn pass(&mut self, until: u64, answered: &[Port]) -> Fates {
        self.run_until(Instant::ZERO + Duration::from_secs(until));
        let (sent, told) = self.outputs();
        let mut all = fates(&told);
        for (port, octets) in sent.into_iter().filter(|(port, _)| answered.contains(port)) {
            let sequence = Header::parse(&octets).unwrap().sequence.unwrap();
            let response = EchoResponse { recovery: 7, private_extension: None };
            self.receive(GGSN, port, &datagram(response, sequence));
        }
        all.extend(fates(&self.outputs().1));
        all
    }
}

const BOTH: &[Port] = &[CONTROL, USER];
const NONE: &[Port] = &[];
const FAILED: [(&str, Plane); 2] = [("failed", Plane::Control), ("failed", Plane::User)];
const RESTORED: [(&str, Plane); 2] = [("restored", Plane::Control), ("restored", Plane::User)];
const LOST: [(&str, Plane); 2] = [("lost", Plane::Control), ("lost", Plane::User)];

#[test]
fn a_path_that_stays_failed_is_lost_after_the_delay() {
    let mut sgsn = Gsn::new(SGSN, |_| ());
    sgsn.open(GGSN, Some(7));
    // An outage in which one test of two is answered costs nothing.
    assert_eq!(sgsn.pass(60, BOTH), []);
    assert_eq!(sgsn.pass(135, NONE), FAILED);
    assert_eq!(sgsn.pass(180, NONE), []);
    assert_eq!(sgsn.pass(185, BOTH), RESTORED);
    // One in which none is does, and each plane by itself; G-PDUs show that theirs lives.
    assert_eq!(sgsn.pass(255, NONE), FAILED);
    sgsn.entity.heard(0);
    assert_eq!(sgsn.pass(314, NONE), []);
    assert_eq!(sgsn.pass(315, NONE), LOST[..1]);
    assert_eq!(sgsn.pass(375, NONE), LOST);
}

#[test]
fn a_user_plane_that_never_answers_is_not_lost() {
    let mut sgsn = Gsn::new(SGSN, |_| ());
    sgsn.open(GGSN, Some(7));
    let all: Fates = (60..1000).step_by(5).flat_map(|second| sgsn.pass(second, &[CONTROL])).collect();
    assert_eq!(all, FAILED[1..]);
    let path = sgsn.entity.paths().get(0).unwrap();
    assert!(path.user.failed && path.user.lost_at.is_none() && !path.control.failed);
}

#[test]
fn a_delay_of_none_keeps_contexts_and_one_of_zero_does_not_wait() {
    for (delay, lost) in [(None, false), (Some(Duration::ZERO), true)] {
        let mut sgsn = Gsn::new(SGSN, |config| config.failure_delay = delay);
        sgsn.open(GGSN, Some(7));
        assert_eq!(sgsn.pass(75, NONE).contains(&LOST[0]), lost);
        assert_eq!(sgsn.pass(1000, NONE).contains(&LOST[0]), lost);
    }
}

#[test]
fn a_node_that_was_late_itself_does_not_give_its_peer_up() {
    let mut sgsn = Gsn::new(SGSN, |_| ());
    sgsn.open(GGSN, Some(7));
    let mut all = Vec::new();
    for test in 1..20 {
        // It stands still over the end of each test, and what the peer has sent meanwhile is not read yet.
        all.extend(sgsn.pass(test * 60 + 14, NONE));
        sgsn.around.now = Instant::ZERO + Duration::from_secs(test * 60 + 25);
        while let Some(key) = sgsn.around.timers.pop_due(sgsn.around.now) {
            sgsn.entity.wake(&mut sgsn.around.context(), key, &mut sgsn.out);
        }
    }
    assert_eq!(all, []);
    assert!(!sgsn.entity.paths().get(0).unwrap().control.failed);
}

#[test]
fn a_request_without_an_answer_brings_the_test_of_its_peer_forward() {
    let mut sgsn = Gsn::new(SGSN, |config| config.echo_interval = Duration::from_secs(3600));
    sgsn.open(GGSN, Some(7));
    sgsn.ask(1, GGSN, &delete_request()).unwrap();
    assert_eq!(sgsn.pass(14, NONE), []);
    sgsn.run_until(Instant::ZERO + Duration::from_secs(15));
    assert_eq!(messages(&sgsn.outputs().0), [(CONTROL, 1), (USER, 1)]);
    // A minute lies between two tests at the least, and no more where the peer has failed.
    assert_eq!(sgsn.pass(74, NONE), FAILED);
    assert_eq!(sgsn.pass(90, NONE), LOST[..1], "the user plane has never answered");
}
