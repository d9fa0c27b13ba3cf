//! The SGSN's GSUP entity over TCP, through the event loop, with Debian's osmo-hlr.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::quiet_loop;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::gsup::{
    GsupConfig, GsupConfirm, GsupEntity, GsupFailure, GsupIndication, GsupOutput, GsupRequest, Resync,
};
use gannet_rt::{EventLoop, MachineId, TcpConfig};
use gannet_testkit::netns::Background;
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Need, TempDir, run};
use gannet_wire::gsup::SubscribedApn;
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::GmmCause;
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::rc::Rc;

const PORT: Port = Port(0);

/// A node that is nothing but the entity, and takes all that the HLR asks of it.
struct Node {
    entity: GsupEntity,
    out: Batch<GsupOutput>,
}

impl Machine for Node {
    type Command = (Imsi, GsupRequest);
    type Event = GsupOutput;
    type Rule = core::convert::Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<Self::Command>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { frame, .. } => self.entity.receive(cx, &frame, &mut self.out),
                Input::Stream { state, .. } => self.entity.stream(cx, state, &mut self.out),
                Input::Timeout(key) => self.entity.wake(cx, key, &mut self.out),
                Input::Command((imsi, request)) => self.entity.request(cx, imsi, request, &mut self.out),
                Input::Classified { .. } => {}
            }
        }
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<GsupOutput>>) {
        while let Some(output) = self.out.pop() {
            outputs.push(match output {
                GsupOutput::Transmit { port, frame } => Output::Transmit { port, peer: Peer::Link, frame },
                GsupOutput::Disconnect(port) => Output::Disconnect(port),
                other => Output::Event(other),
            });
        }
    }
}

type Confirms = Rc<RefCell<Vec<(Imsi, GsupConfirm)>>>;
type Indications = Rc<RefCell<Vec<(Imsi, GsupIndication)>>>;

/// osmo-hlr at an address of its own, which may be killed and started again.
struct Hlr {
    directory: TempDir,
    address: Ipv4Addr,
}

impl Hlr {
    fn new() -> Self {
        // Its port is fixed, so its address is one that no other process has.
        let [.., high, low] = std::process::id().to_be_bytes();
        let hlr =
            Self { directory: TempDir::new("gannet-hlr"), address: Ipv4Addr::new(127, 91, high, low | 1) };
        let address = hlr.address;
        let database = hlr.path("hlr.db");
        let config = format!(
            "hlr\n database {database}\n gsup\n  bind ip {address}\nline vty\n no login\n bind {address}\nctrl\n bind {address}\n"
        );
        std::fs::write(hlr.path("hlr.cfg"), config).unwrap();
        let _ = run("osmo-hlr-db-tool", &["-l", &database, "create"]);
        let subscribers = "insert into subscriber(id,imsi,msisdn) values(1,'001010000000001','1001');
            insert into auc_2g(subscriber_id,algo_id_2g,ki) values(1,1,'000102030405060708090a0b0c0d0e0f');
            insert into subscriber(id,imsi,msisdn) values(2,'001010000000002','1002');
            insert into auc_3g(subscriber_id,algo_id_3g,k,opc)
                values(2,5,'465b5ce8b199b49faa5f0a2ee238a6bc','cd63cb71954a9f4e48a5994e37a02baf');";
        let _ = run("sqlite3", &[&database, subscribers]);
        hlr
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_string_lossy().into_owned()
    }

    fn start(&self) -> Background {
        let program = gannet_testkit::find_program("osmo-hlr").unwrap();
        let mut command = Command::new(program);
        command.args(["-c", &self.path("hlr.cfg")]).current_dir(self.directory.path());
        Background::start(command)
    }
}

/// The node in its loop.
struct Bench {
    node: EventLoop,
    machine: MachineId<Node>,
    confirms: Confirms,
    indications: Indications,
}

impl Bench {
    fn new(hlr: &Hlr) -> Self {
        Self::recording(hlr, None)
    }

    fn recording(hlr: &Hlr, capture: Option<&str>) -> Self {
        let mut node = quiet_loop(64);
        if let Some(capture) = capture {
            node.record_to(Path::new(capture)).unwrap();
        }
        // No time of this test decides anything.
        let mut config = GsupConfig::new(PORT, "GANNET-TEST", 1);
        (config.guard, config.patience) = (Duration::from_secs(3600), Duration::from_secs(3600));
        let machine = Node { entity: GsupEntity::new(config), out: Batch::default() };
        let (confirms, indications) = (Confirms::default(), Indications::default());
        let (said, asked) = (Rc::clone(&confirms), Rc::clone(&indications));
        let machine = node.add_machine(machine, move |_, event, _| match event {
            GsupOutput::Confirm(imsi, confirm) => said.borrow_mut().push((imsi, confirm)),
            GsupOutput::Indication(transaction, indication) => {
                asked.borrow_mut().push((transaction.imsi(), indication));
                PENDING.with_borrow_mut(|pending| pending.push(transaction));
            }
            _ => {}
        });
        let to = (hlr.address, gannet_wire::gsup::PORT).into();
        node.connect_tcp(machine, PORT, &TcpConfig::new(to).record_as("Gr")).unwrap();
        Self { node, machine, confirms, indications }
    }

    /// One turn; what the HLR has asked is answered.
    fn turn(&mut self) {
        self.node.turn(Some(Duration::from_millis(20))).unwrap();
        let asked = PENDING.with_borrow_mut(std::mem::take);
        let mut access = self.node.access();
        let (node, mut cx) = access.machine_and_context(self.machine).unwrap();
        for transaction in asked {
            node.entity.respond(&mut cx, transaction, Ok(()), &mut node.out);
        }
    }

    fn is_up(&mut self) -> bool {
        self.node.access().look_at(self.machine).unwrap().entity.is_up()
    }

    fn until_up(&mut self, up: bool) {
        while self.is_up() != up {
            self.turn();
        }
    }

    fn ask(&mut self, imsi: Imsi, request: GsupRequest) {
        assert!(self.node.access().command(self.machine, (imsi, request)));
    }

    fn answer(&mut self) -> GsupConfirm {
        loop {
            let first = self.confirms.borrow_mut().pop();
            match first {
                Some((_, confirm)) => return confirm,
                None => self.turn(),
            }
        }
    }

    fn ask_and_wait(&mut self, imsi: Imsi, request: GsupRequest) -> GsupConfirm {
        self.ask(imsi, request);
        self.answer()
    }
}

thread_local! {
    /// What the HLR has asked and was not answered yet.
    static PENDING: RefCell<Vec<gannet_proto::gsup::GsupTransaction>> = const { RefCell::new(Vec::new()) };
}

const VECTORS: GsupRequest = GsupRequest::AuthInfo { resync: None };

fn imsi(number: u8) -> Imsi {
    format!("00101000000000{number}").parse().unwrap()
}

fn procedures() {
    let hlr = Hlr::new();
    let mut bench = Bench::new(&hlr);
    // Nobody is there yet.
    bench.turn();
    assert!(!bench.is_up());
    let _running = hlr.start();
    bench.until_up(true);
    let GsupConfirm::AuthInfo(Ok(tuples)) = bench.ask_and_wait(imsi(1), VECTORS) else {
        panic!("2G vectors")
    };
    assert!(
        tuples.len() == 5 && tuples.iter().all(|tuple| tuple.triplet.is_some() && tuple.quintuplet.is_none())
    );
    let GsupConfirm::AuthInfo(Ok(tuples)) = bench.ask_and_wait(imsi(2), VECTORS) else {
        panic!("3G vectors")
    };
    assert!(
        tuples.len() == 5 && tuples.iter().all(|tuple| tuple.triplet.is_some() && tuple.quintuplet.is_some())
    );
    assert_eq!(tuples[0].quintuplet.unwrap().res.len(), 8);
    // Signed by nobody who knows K.
    let resync = Some(Resync { rand: tuples[0].rand, auts: [7; 14] });
    let refused = bench.ask_and_wait(imsi(2), GsupRequest::AuthInfo { resync });
    assert!(matches!(refused, GsupConfirm::AuthInfo(Err(GsupFailure::Refused(_)))), "{refused:?}");
    let unknown = GsupFailure::Refused(GmmCause::ImsiUnknownInHlr);
    assert_eq!(bench.ask_and_wait(imsi(3), VECTORS), GsupConfirm::AuthInfo(Err(unknown)));
    assert_eq!(bench.ask_and_wait(imsi(1), GsupRequest::UpdateLocation), GsupConfirm::UpdateLocation(Ok(())));
    let mut indications = bench.indications.take();
    let (whose, GsupIndication::InsertData(data)) = indications.remove(0) else { panic!("{indications:?}") };
    assert_eq!((whose, data.msisdn.unwrap().to_string().as_str()), (imsi(1), "1001"));
    assert_eq!(data.pdp_infos[0].apn, Some(SubscribedApn::Any));
    assert_eq!(bench.ask_and_wait(imsi(1), GsupRequest::Purge), GsupConfirm::Purge(Ok(false)));
    assert_eq!(bench.node.access().frames().free(), 64);
    let drops = bench.node.access().log().drops().clone();
    assert_eq!((drops.get(Drop::GsupRefused), drops.total()), (2, 2));
}

/// What goes over the stream is in the capture, each message as tshark reads GSUP.
fn captured() {
    let hlr = Hlr::new();
    let capture = hlr.path("gr.pcapng");
    let mut bench = Bench::recording(&hlr, Some(&capture));
    let mut running = hlr.start();
    bench.until_up(true);
    assert!(matches!(bench.ask_and_wait(imsi(1), VECTORS), GsupConfirm::AuthInfo(Ok(_))));
    running.signal("KILL");
    let _ = running.wait();
    bench.until_up(false);
    let _running = hlr.start();
    bench.until_up(true);
    assert_eq!(bench.ask_and_wait(imsi(1), GsupRequest::UpdateLocation), GsupConfirm::UpdateLocation(Ok(())));
    // The file is whole when the loop is gone.
    core::mem::drop(bench);
    let gsup =
        dissect_file(&capture, &["-Y", "gsup"], &["gsup.msg_type", "frame.interface_name", "e212.imsi"]);
    let types: Vec<&str> = gsup.iter().map(|row| row[0].as_str()).collect();
    // SendAuthInfo, UpdateLocation with InsertSubscriberData inside (3GPP TS 29.002 clause 8).
    assert_eq!(types, ["8", "10", "4", "16", "18", "6"], "{gsup:?}");
    assert!(gsup.iter().all(|row| row[1] == "Gr" && row[2] == imsi(1).to_string()), "{gsup:?}");
    let wrong = "_ws.malformed || tcp.analysis.flags || tcp.checksum.status == 0 || ip.checksum.status == 0";
    let checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", wrong];
    assert_eq!(dissect_file(&capture, &checks, &["frame.number"]), Vec::<Vec<String>>::new());
    let began = dissect_file(&capture, &["-Y", "tcp.flags.syn == 1 && tcp.flags.ack == 0"], &["tcp.dstport"]);
    assert_eq!(began, [["4222"], ["4222"]], "a connection each");
}

fn killed_in_the_middle() {
    let hlr = Hlr::new();
    let mut bench = Bench::new(&hlr);
    let mut running = hlr.start();
    let requests = [VECTORS, GsupRequest::UpdateLocation, GsupRequest::Purge];
    // Each by itself, then two of different subscribers at once.
    let rounds = [
        vec![(1, requests[0])],
        vec![(1, requests[1])],
        vec![(1, requests[2])],
        vec![(1, VECTORS), (2, requests[1])],
    ];
    for round in rounds {
        bench.until_up(true);
        running.stand_still();
        for (number, request) in &round {
            bench.ask(imsi(*number), *request);
        }
        bench.turn();
        assert!(bench.confirms.borrow().is_empty(), "it stands still");
        running.signal("KILL");
        let _ = running.wait();
        bench.until_up(false);
        running = hlr.start();
        for _ in round {
            let confirm = bench.answer();
            let through = match &confirm {
                GsupConfirm::AuthInfo(result) => result.is_ok(),
                GsupConfirm::UpdateLocation(result) => result.is_ok(),
                GsupConfirm::Purge(result) => result.is_ok(),
            };
            assert!(through, "{confirm:?}");
        }
    }
    assert_eq!(bench.node.access().log().drops().total(), 0);
    assert_eq!(bench.node.access().frames().free(), 64);
}

fn main() -> ExitCode {
    const NEEDS: &[Need] = &[
        Need::Program("osmo-hlr"),
        Need::Program("osmo-hlr-db-tool"),
        Need::Program("sqlite3"),
        Need::Tshark,
    ];
    // One after the other: both have the address of this process.
    gannet_testkit::main(&[("osmo_hlr", NEEDS, || {
        procedures();
        killed_in_the_middle();
        captured();
    })])
}
