//! The edge router with AF_XDP: what only its rings can do wrong.

use crate::common::wait_for;
use crate::edge::{Bed, MARKER, RINGS, SOCKETS, Tap, forwarded, ipv4, is_of_test};
use gannet_demux::bpf::{Attachment, Loader, Object, XdpMode, objects};
use gannet_machine::drops::Drop;
use gannet_rig::NetworkNamespace;
use gannet_testkit::Case;
use gannet_testkit::netns::Netns;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

pub const CASES: &[Case] = &[
    ("where_af_xdp_is_refused_an_edge_router_takes_a_packet_socket_and_says_why", RINGS, refused),
    ("checksums_that_a_sender_leaves_to_its_device_are_finished", RINGS, unfinished),
    ("packets_that_wait_in_queues_take_no_frame_from_the_rings", RINGS, waiting),
    ("with_af_xdp_what_is_too_much_is_dropped_by_name", RINGS, || too_much("xdp")),
    ("with_packet_sockets_what_is_too_much_is_dropped_by_name", SOCKETS, || too_much("socket")),
];

const PATIENCE: Duration = Duration::from_secs(30);

/// Does something in a namespace.
fn inside<T>(netns: &Netns, what: impl FnOnce() -> T) -> T {
    let own = NetworkNamespace::current().unwrap();
    NetworkNamespace::named(netns.name()).unwrap().enter().unwrap();
    let done = what();
    own.enter().unwrap();
    done
}

/// Another one's program, which is on the device as long as this is there.
fn occupied(netns: &Netns, device: &str) -> (Object, Attachment) {
    inside(netns, || {
        let index = gannet_demux::link::index(device).unwrap();
        let mut object = Loader::new(&objects::PROBE).load().unwrap();
        let attachment = object.attach_xdp("probe", index, XdpMode::Native).unwrap();
        (object, attachment)
    })
}

fn refused() {
    let mut bed = Bed::new("refused");
    let _other = occupied(&bed.router, "lan");
    bed.start("auto", "");
    let log = bed.node.as_ref().unwrap().log();
    let by_socket = "interface lan: packets come and leave by a packet socket; no AF_XDP: lan: another XDP program is attached";
    assert!(
        log.contains(by_socket) && log.contains("interface wan: packets come and leave by AF_XDP"),
        "{log}"
    );
    bed.ping();
    let shown = bed.vty(&["show user-plane"]);
    assert!(shown.contains("Interface lan: packet socket, ") && bed.by_ring() > 0, "{shown}");
    assert!(forwarded(&bed) >= 12);
    // Who asks for AF_XDP by name gets it or a reason.
    let mut node = bed.node.take().unwrap();
    node.signal("TERM");
    assert!(node.wait().success());
    bed.spawn("xdp", "");
    let mut node = bed.node.take().unwrap();
    assert_eq!(node.wait().code(), Some(1));
    let log = node.log();
    assert!(log.contains("interface lan: no AF_XDP: lan: another XDP program is attached"), "{log}");
    // Without the table and with the program gone the kernel forwards.
    bed.ping();
}

/// The hosts' kernels leave the checksums of TCP and UDP to their veth devices, which leave them to nobody.
fn unfinished() {
    let mut bed = Bed::new("unfinished");
    bed.start("xdp", "");
    bed.ping();
    for (near_address, far_address) in [("10.0.1.1", "10.0.2.1"), ("fd00:1::1", "fd00:2::1")] {
        let (server, listener) = inside(&bed.far, || {
            let server = UdpSocket::bind((far_address, 7000)).unwrap();
            server.set_read_timeout(Some(PATIENCE)).unwrap();
            (server, TcpListener::bind((far_address, 7000)).unwrap())
        });
        let client = inside(&bed.near, || UdpSocket::bind((near_address, 0)).unwrap());
        let mut octets = [0; 2000];
        for len in [1, 2, 501, 1300] {
            client.send_to(&vec![9; len], (far_address, 7000)).unwrap();
            assert_eq!(server.recv(&mut octets).unwrap(), len);
        }
        let text: Vec<u8> = (0..300_000_u32).map(|at| at.to_be_bytes()[3]).collect();
        let mut stream = inside(&bed.near, || TcpStream::connect((far_address, 7000)).unwrap());
        let expected = text.clone();
        let writer = std::thread::spawn(move || stream.write_all(&text).unwrap());
        let (mut accepted, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        accepted.read_to_end(&mut received).unwrap();
        writer.join().unwrap();
        assert!(received == expected, "{} octets", received.len());
    }
    let shown = bed.vty(&["show user-plane", "show drops"]);
    // Two times 300,000 octets there, and what confirms them.
    assert!(bed.by_ring() > 450, "{shown}");
    assert!(!shown.contains("rt_receive_too_long"), "nothing was joined: {shown}");
}

/// Sends so many packets of the test, no more at once than a device holds, and waits until the router has them.
fn send_slowly(bed: &Bed, near: &mut Tap, packets: u64) {
    let begun = arrived(bed);
    for number in 0..packets {
        near.send(&ipv4(64, 0, true, &[], MARKER));
        if (number + 1) % 128 == 0 || number + 1 == packets {
            wait_for("the packets", || (arrived(bed) > begun + number).then_some(()));
        }
    }
}

fn arrived(bed: &Bed) -> u64 {
    let shown = bed.vty(&["show edge"]);
    let (count, _) = shown.split_once(" arrived").unwrap();
    count.rsplit(' ').next().unwrap().parse().unwrap()
}

fn waiting() {
    let mut bed = Bed::new("waiting");
    // A packet takes 78 octets of the line, a millisecond.
    bed.start("xdp", "  rate 624\n  pool af 400000\n");
    bed.ping();
    let (before, packets) = (bed.by_ring(), 2500);
    let (bed, ready) = (&bed, &std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        // What the other host's socket holds is not what is tested.
        let receiver = scope.spawn(move || {
            let mut far = Tap::new(&bed.far, "far");
            ready.wait();
            far.receive(is_of_test, |all| all.len() as u64 >= packets).len()
        });
        let mut near = Tap::new(&bed.near, "near");
        ready.wait();
        send_slowly(bed, &mut near, packets);
        // There are answers of the host beside them: nobody listens there.
        assert!(bed.by_ring() >= before + packets, "{}", bed.vty(&["show user-plane", "show drops"]));
        assert_eq!(receiver.join().unwrap() as u64, packets);
    });
    let drops = bed.vty(&["show drops"]);
    assert!(drops.trim().is_empty(), "{drops}");
}

fn too_much(user_plane: &str) {
    let mut bed = Bed::new(&format!("much-{user_plane}"));
    bed.start(user_plane, "");
    bed.ping();
    let mut near = Tap::new(&bed.near, "near");
    let node = bed.node.as_ref().unwrap();
    node.signal("STOP");
    let long = ipv4(64, 0, true, &[], &[7; 1300]);
    (0..12_000).for_each(|_| near.send(&long));
    node.signal("CONT");
    let drops = wait_for("the count", || {
        let drops = bed.vty(&["show drops"]);
        (drops.contains("rt_receive_overrun") || drops.contains("demux_")).then_some(drops)
    });
    if user_plane == "xdp" {
        // Whether frames or places in the ring run out first is the kernel's affair.
        let names = [Drop::DemuxRingFull, Drop::DemuxFillEmpty];
        assert!(names.iter().any(|name| drops.contains(name.name())), "{drops}");
    } else {
        assert!(drops.contains(Drop::RtReceiveOverrun.name()), "{drops}");
    }
    // It goes on.
    let before = forwarded(&bed);
    bed.ping();
    assert!(forwarded(&bed) >= before + 4, "{}", bed.vty(&["show drops"]));
}
