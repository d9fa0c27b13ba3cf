//! How contexts end without the SGSN asking for it: no traffic, and a restart of the SGSN.

use super::secondary::any_template;
use super::*;

fn quiet(config: &mut GgsnConfig) {
    config.echo_interval = Duration::ZERO;
    config.apns[0].idle_timeout = Some(Duration::from_secs(100));
}

/// The Delete PDP Context Requests among what was sent, by the endpoint that they name.
fn deletions(sent: &[Sent]) -> Vec<(Header, DeleteRequest)> {
    let of = |(port, _, octets): &Sent| {
        let (header, message) = (*port == PORT_GTP_C).then(|| read(octets))?;
        match message {
            Message::DeleteRequest(request) => Some((header, request)),
            _ => None,
        }
    };
    sent.iter().filter_map(of).collect()
}

fn answer(net: &mut Net, header: &Header, teid: Teid) {
    let response = DeleteResponse { cause: Cause::RequestAccepted, pco: None, private_extension: None };
    let mut octets = Vec::new();
    assert!(emit_datagram(teid, header.sequence.unwrap(), &response.into(), &mut octets));
    assert!(net.datagram(PORT_GTP_C, SGSN, &octets).is_empty());
}

#[test]
fn a_context_without_traffic_ends() {
    let mut net = Net::new(quiet);
    let busy = net.create(create_request(1, "internet")).unwrap();
    assert!(net.create(create_request(2, "internet")).is_ok());
    let small = net.create(create_request(3, "small")).unwrap();
    // Traffic in either direction counts.
    for (seconds, up) in [(60, true), (120, false)] {
        let sent = net.run_until(Instant(0) + Duration::from_secs(seconds - 1));
        assert!(deletions(&sent).iter().all(|(header, _)| header.teid == Teid(0x102)), "{sent:?}");
        net.around.now = Instant(0) + Duration::from_secs(seconds);
        let own = address_of(&busy);
        let passed = match up {
            true => net.uplink(busy.teid_data, &packet(own, HOST)),
            false => net.downlink(Peer::Slot(0), &packet(HOST, own)),
        };
        assert_eq!(passed.len(), 1);
    }
    let sent = net.run_until(Instant(0) + Duration::from_secs(219));
    assert!(deletions(&sent).iter().all(|(header, _)| header.teid == Teid(0x102)), "repetitions");
    assert!(net.ggsn.context(imsi(2), Nsapi(5)).is_none(), "nobody answered");
    let asked = deletions(&net.run_until(Instant(0) + Duration::from_secs(221)));
    let [(header, request)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((header.teid, request.nsapi, request.teardown), (Teid(0x101), Nsapi(5), Some(true)));
    answer(&mut net, header, busy.teid_control);
    assert_eq!(net.ggsn.context_count(), 1, "the access point of the third has no time");
    let reasons: Vec<DeleteReason> = net
        .events
        .iter()
        .filter_map(|event| match event {
            GgsnEvent::Deleted { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [DeleteReason::Idle; 2]);
    assert_eq!(net.ggsn.access_points().next().unwrap().counters().idle, 2);
    assert_eq!(net.delete(small.teid_control, 5).1, Cause::RequestAccepted);
    net.assert_empty();
}

#[test]
fn an_operator_sets_the_time_while_contexts_are_there() {
    let mut net = Net::new(|config| config.echo_interval = Duration::ZERO);
    net.create(create_request(1, "internet")).unwrap();
    assert!(deletions(&net.run_until(Instant(0) + Duration::from_secs(1000))).is_empty());
    let mut changed = net.ggsn.config().clone();
    let set = |net: &mut Net, changed: &GgsnConfig| net.ggsn.reconfigure(&mut net.around.context(), changed);
    changed.apns[0].idle_timeout = Some(Duration::from_secs(2000));
    set(&mut net, &changed);
    changed.apns[0].idle_timeout = None;
    set(&mut net, &changed);
    assert!(deletions(&net.run_until(Instant(0) + Duration::from_secs(3000))).is_empty());
    // What has been idle for longer than that ends now.
    changed.apns[0].idle_timeout = Some(Duration::from_secs(60));
    set(&mut net, &changed);
    let now = net.around.now;
    assert_eq!(deletions(&net.run_until(now)).len(), 1);
}

#[test]
fn contexts_of_one_address_end_together() {
    let mut net = Net::new(quiet);
    let created = net.create(create_request(1, "internet")).unwrap();
    let second = net.secondary(6, 5, any_template()).unwrap().teid_data;
    // The second is busy: both stay.
    net.run_until(Instant(0) + Duration::from_secs(90));
    assert_eq!(net.uplink(second, &packet(address_of(&created), HOST)).len(), 1);
    assert!(deletions(&net.run_until(Instant(0) + Duration::from_secs(185))).is_empty());
    let asked = deletions(&net.run_until(Instant(0) + Duration::from_secs(191)));
    assert_eq!(asked.len(), 2, "{asked:?}");
}

#[test]
fn an_sgsn_that_has_restarted_is_told_where_that_is_wanted() {
    for after_restart in [AfterRestart::Forget, AfterRestart::Delete] {
        let mut net = Net::new(|config| {
            config.echo_interval = Duration::ZERO;
            config.after_restart = after_restart;
        });
        let created = net.create(create_request(1, "internet")).unwrap();
        // It has restarted, and has made one for another subscriber since.
        let mut octets = Vec::new();
        let request = CreateRequest { recovery: Some(2), ..create_request(2, "internet") };
        assert!(emit_datagram(Teid(0), 77, &request.into(), &mut octets));
        let sent = net.datagram(PORT_GTP_C, SGSN, &octets);
        let asked = deletions(&sent);
        match after_restart {
            AfterRestart::Forget => assert_eq!(asked, []),
            AfterRestart::Delete => {
                let [(header, _)] = asked.as_slice() else { panic!("{asked:?}") };
                assert_eq!((header.teid, net.ggsn.context_count()), (Teid(0x101), 2));
                answer(&mut net, header, created.teid_control);
            }
        }
        assert_eq!(net.ggsn.context_count(), 1);
        assert!(net.ggsn.context(imsi(2), Nsapi(5)).is_some());
        let gone = |event: &GgsnEvent| {
            matches!(event, GgsnEvent::Deleted { reason: DeleteReason::PeerRestarted, .. })
        };
        assert!(net.events.iter().any(gone), "{:?}", net.events);
    }
}

/// An SGSN that counts its endpoints anew names one of before in its first request: it is not asked to delete what it has just made.
#[test]
fn an_sgsn_that_reuses_an_endpoint_after_its_restart_keeps_the_new_context() {
    let mut net = Net::new(|config| {
        config.echo_interval = Duration::ZERO;
        config.after_restart = AfterRestart::Delete;
    });
    net.create(create_request(1, "internet")).unwrap();
    net.create(create_request(2, "internet")).unwrap();
    let mut octets = Vec::new();
    let reused = create_request(1, "internet").teid_control;
    let request = CreateRequest { recovery: Some(2), teid_control: reused, ..create_request(3, "internet") };
    assert!(emit_datagram(Teid(0), 77, &request.into(), &mut octets));
    let asked = deletions(&net.datagram(PORT_GTP_C, SGSN, &octets));
    let [(header, _)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(header.teid, Teid(0x102), "of the other context alone");
    let is_there = |net: &Net, number| net.ggsn.context(imsi(number), Nsapi(5)).is_some();
    assert!(!is_there(&net, 1) && is_there(&net, 3));
}
