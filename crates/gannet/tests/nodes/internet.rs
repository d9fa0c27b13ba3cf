//! The manual's chapter "To the Internet": its configuration is started and its commands are run, and a mobile reaches a host
//! that knows no way to the mobiles.

use crate::common::{GANNET, Node, blocks, file, repository, said, wait_for, within};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::time::Duration;

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Program("nft"), Need::Program("sysctl")];

/// All of them.
pub const CASES: &[Case] = &[("the_chapter_to_the_internet_leads_there", NEEDS, the_chapter)];

/// Addresses of the host, and of the name server on it that the chapter names.
const HOST: &str = "203.0.113.1";
const NAME_SERVER: &str = "203.0.113.53";
/// Of the GGSN's machine on the link to it.
const NEAR: &str = "203.0.113.2";
/// Of the MSS that the chapter's rules write.
const MSS: u32 = 1360;
const OCTETS: usize = 300_000;
const PATIENCE: Duration = Duration::from_secs(60);

fn the_chapter() {
    let directory = TempDir::new("gannet-internet");
    let (radio, core, host) =
        (Netns::new("internet-radio"), Netns::new("internet-core"), Netns::new("internet-host"));
    radio.join(("gb0", "192.0.2.1/30"), &core, ("gb1", "192.0.2.2/30"));
    core.join(("eth0", &format!("{NEAR}/24")), &host, ("eth0", &format!("{HOST}/24")));
    host.ip(&["address", "add", &format!("{NAME_SERVER}/24"), "dev", "eth0"]);
    let nodes = start(&directory, &radio, &core);
    let logs =
        || -> String { nodes.iter().map(|(name, node)| format!("== {name}\n{}", node.log())).collect() };
    let chapter = std::fs::read_to_string(repository().join("docs/internet.md")).unwrap();
    let commands = blocks(&chapter, "sh");
    assert_eq!(commands.len(), 3, "forwarding, translation, length");
    radio.ip(&["route", "add", "203.0.113.0/24", "dev", "ms0"]);

    // Without the chapter's commands nothing reaches the host.
    let server = within(&host, || UdpSocket::bind((NAME_SERVER, 53)).unwrap()).join().unwrap();
    let answers = std::thread::spawn(move || answer(&server));
    assert!(!asks(&radio, Duration::from_secs(1)), "{}", logs());
    for block in &commands {
        let output = core.command("sh").args(["-e", "-c", block]).output().unwrap();
        assert!(output.status.success(), "{block}{}", said(&output));
    }
    assert!(asks(&radio, PATIENCE), "{}", logs());
    // The mobile is seen under the address of the GGSN's machine.
    assert_eq!(answers.join().unwrap().ip().to_string(), NEAR, "{}", logs());

    let listener = within(&host, || TcpListener::bind((HOST, 80)).unwrap()).join().unwrap();
    let server = std::thread::spawn(move || send(&listener));
    let received = within(&radio, || {
        let mut stream = TcpStream::connect((HOST, 80)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut octets = Vec::new();
        let read = stream.read_to_end(&mut octets);
        (read.map(|_| ()), octets)
    });
    let (read, octets) = received.join().unwrap();
    assert!(read.is_ok() && octets == content(), "{read:?} after {} octets{}", octets.len(), logs());
    let mss = server.join().unwrap();
    assert!(mss > 0 && mss <= MSS, "the host's segments have {mss} octets");
}

/// GGSN, SGSN and BSS, the first with the chapter's configuration.
fn start(directory: &TempDir, radio: &Netns, core: &Netns) -> Vec<(&'static str, Node)> {
    let chapter = std::fs::read_to_string(repository().join("docs/internet.md")).unwrap();
    let path = directory.path().display().to_string();
    let end = |address: &str| format!("line vty\n no login\n bind {address}\nctrl\n bind {address}\n");
    let of_chapter = blocks(&chapter, "").first().unwrap().replace("/var/lib/gannet", &path);
    let ggsn = format!("{of_chapter}{}", end("127.0.0.2"));
    let sgsn = format!(
        "sgsn\n gtp state-dir {path}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n \
         ggsn 0 gtp-version 1\n auth-policy accept-all\nns\n bind udp local\n  listen 192.0.2.2 23000\n  \
         accept-ipaccess\nbssgp\n{}",
        end("127.0.0.3")
    );
    let bss = format!(
        "bss\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n apn internet\n tun ms count 1\n{}",
        end("127.0.0.1")
    );
    let mut nodes = Vec::new();
    for (name, netns, text) in [("ggsn", core, ggsn), ("sgsn", core, sgsn), ("bss", radio, bss)] {
        let config = file(directory, &format!("{name}.cfg"), &text);
        let mut command = netns.command(GANNET);
        command.args([name, "-c", &config]).current_dir(directory.path());
        nodes.push((name, Node::spawn(directory, "", command, name)));
    }
    wait_for("the context", || {
        let output = radio.command(GANNET).args(["vty", "127.0.0.1:4290", "show mobile 1"]).output().unwrap();
        (output.status.success() && said(&output).contains("pdp-active")).then_some(())
    });
    nodes
}

/// Does the name server answer the mobile within this time?
fn asks(radio: &Netns, patience: Duration) -> bool {
    let asking = within(radio, move || {
        let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let until = std::time::Instant::now() + patience;
        let mut answer = [0; 16];
        while std::time::Instant::now() < until {
            // What is refused is asked again.
            let _ = socket.send_to(b"example.org", (NAME_SERVER, 53));
            if socket.recv(&mut answer).is_ok_and(|octets| answer.get(..octets) == Some(b"192.0.2.80")) {
                return true;
            }
        }
        false
    });
    asking.join().unwrap()
}

/// Answers one question, and says who has asked.
fn answer(server: &UdpSocket) -> SocketAddr {
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut question = [0; 16];
    let (octets, from) = server.recv_from(&mut question).unwrap();
    assert_eq!(question.get(..octets), Some(b"example.org".as_slice()));
    server.send_to(b"192.0.2.80", from).unwrap();
    from
}

fn content() -> Vec<u8> {
    (0..OCTETS).map(|n| n.to_be_bytes()[6] ^ n.to_be_bytes()[7]).collect()
}

/// Sends the file to whoever comes, and says how long the segments are.
fn send(listener: &TcpListener) -> u32 {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mss = socket2::SockRef::from(&stream.as_fd()).tcp_mss().unwrap();
    stream.write_all(&content()).unwrap();
    mss
}
