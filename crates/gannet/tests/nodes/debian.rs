//! What Debian's package of osmo-sgsn comes with runs as it is: all of it, also what that program itself does not read.

use crate::common::{GANNET, Node, file, said, succeed, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};
use std::path::PathBuf;

/// All of them.
pub const CASES: &[Case] = &[
    ("configurations_of_debian_are_right", &[Need::Program("osmo-sgsn")], are_right),
    ("configurations_of_debian_run", &[Need::Program("osmo-sgsn"), Need::NetAdmin], run),
    ("a_configuration_of_osmo_ggsn_runs", &[Need::Program("osmo-ggsn"), Need::NetAdmin], ggsn_runs),
    ("later_examples_of_osmo_ggsn_run", &[Need::NetAdmin], later_examples_run),
    ("all_that_access_points_may_have_runs", &[Need::NetAdmin], access_points_run),
    ("lines_without_effect_and_several_sockets_run", &[Need::NetAdmin], lines_without_effect),
];

/// Each once more as an administrator has it, and the one that the package installs.
fn all() -> Vec<PathBuf> {
    let examples = std::fs::read_dir("/usr/share/doc/osmo-sgsn/examples").unwrap();
    let examples = examples.map(|entry| entry.unwrap().path());
    let examples = examples.filter(|path| path.extension().is_some_and(|kind| kind == "cfg"));
    let all: Vec<PathBuf> = examples.chain(["/etc/osmocom/osmo-sgsn.cfg".into()]).collect();
    assert!(all.len() >= 4, "{all:?}");
    all
}

fn are_right() {
    for path in all() {
        let said = succeed(&["sgsn", "-c", &path.to_string_lossy(), "--check"]);
        assert!(said.ends_with("OK\n"), "{said}");
    }
}

/// Starts a node with this configuration, asks its VTY, and ends it; what it has said.
fn runs(netns: &Netns, directory: &TempDir, config: &str, binds: &[&str]) -> String {
    let mut command = netns.command(GANNET);
    command.args(["sgsn", "-c", config]);
    let mut node = Node::spawn(directory, "", command, "sgsn");
    let shown = wait_for(&format!("the VTY with {config}"), || {
        let output = netns.command(GANNET).args(["vty", "127.0.0.1:4245", "show ns"]).output().unwrap();
        output.status.success().then(|| said(&output))
    });
    for bind in binds {
        assert!(shown.contains(bind), "{config}: {shown}");
    }
    node.signal("TERM");
    assert_eq!(node.wait().code(), Some(0), "{config}: {}", node.log());
    node.log()
}

fn run() {
    let (netns, directory) = (Netns::new("debian"), TempDir::new("gannet-debian"));
    for path in all() {
        let log = runs(
            &netns,
            &directory,
            &path.to_string_lossy(),
            &["UDP bind: 127.0.0.1:23000 DSCP: 0 Priority: 0, local"],
        );
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("cs7 instance"), log.contains("taken without effect"), "{log}");
    }
}

/// Starts a GGSN with this configuration, asks it, and ends it; what it has answered and said.
fn ggsn(netns: &Netns, directory: &TempDir, config: &str, asked: &[&str]) -> (String, String) {
    let mut command = netns.command(GANNET);
    command.args(["ggsn", "-c", config]);
    let mut node = Node::spawn(directory, "", command, "ggsn");
    let ask = |what: &str| netns.command(GANNET).args(["vty", "127.0.0.1:4260", what]).output().unwrap();
    let mut shown = wait_for(&format!("the VTY with {config}"), || {
        let output = ask("show ggsn");
        output.status.success().then(|| said(&output))
    });
    asked.iter().for_each(|what| shown.push_str(&said(&ask(what))));
    let addresses = netns.command("ip").args(["-br", "address"]).output().unwrap();
    shown.push_str(&String::from_utf8_lossy(&addresses.stdout));
    let links = netns.command("ip").args(["link"]).output().unwrap();
    shown.push_str(&String::from_utf8_lossy(&links.stdout));
    node.signal("TERM");
    assert_eq!(node.wait().code(), Some(0), "{config}: {}", node.log());
    (shown, node.log())
}

/// The example of the package as it is, and once more as later versions have it.
fn ggsn_runs() {
    let (netns, directory) = (Netns::new("debian-ggsn"), TempDir::new("gannet-debian-ggsn"));
    let example = "/usr/share/doc/osmo-ggsn/examples/osmo-ggsn.cfg";
    let text = std::fs::read_to_string(example).unwrap();
    assert!(text.contains("type-support v6\n") && text.contains("ipv6 dns"), "{text}");
    let with_mtu = text.replace("  ip prefix", "  mtu default apply\n  ip prefix");
    let with_mtu = format!("log systemd-journal raw\n logging level set-all notice\n{with_mtu}");
    let later = file(&directory, "later.cfg", &with_mtu);
    for (config, mtu) in [(example, "1500"), (later.as_str(), "1420")] {
        let checked = succeed(&["ggsn", "-c", config, "--check"]);
        assert!(checked.ends_with("OK\n"), "{checked}");
        let (shown, log) = ggsn(&netns, &directory, config, &["show apn inet46"]);
        for line in [
            "GGSN ggsn0: Bound to 127.0.0.2",
            " APN: inet6, device tun6, pool 2001:780:44:2000::/56, 0 of 253 prefixes in use",
            " APN: inet46, device tun46, pool 172.16.46.0/24, 2001:780:44:2100::/56",
            "0 of 253 IPv4 addresses and 0 of 253 IPv6 prefixes in use",
            "172.16.222.1/24",
            "2001:780:44:2000::1/56",
        ] {
            assert!(shown.contains(line), "{line}: {shown}\n{log}");
        }
        let device = shown.lines().find(|line| line.contains(": tun4:")).unwrap();
        assert!(device.contains(&format!("mtu {mtu} ")), "{device}");
    }
}

/// The commands of the examples that versions of osmo-ggsn after Debian's come with: log lines with their file's name, an MTU that is
/// applied, the state in a directory that the package makes, and the kernel's user plane.
fn later_example(state: &str, mode: &str, apns: &[&str]) -> String {
    let levels =
        ["sgsn", "icmp6", "lglobal", "llapd", "linp", "lmux", "lmi", "lmib", "lsms", "lctrl", "lstats"];
    let levels = levels.iter().chain(&["lgsup", "loap", "lss7", "lsccp", "lsua", "lm3ua", "lmgcp"]);
    let levels: String = levels.map(|category| format!(" logging level {category} notice\n")).collect();
    let of_version = |apn: &&str| {
        let v4 = "  ip prefix dynamic 172.16.NET.0/24\n  ip dns 0 192.0.2.1\n  ip dns 1 192.0.2.2\n  ip ifconfig 172.16.NET.0/24\n";
        let v6 = "  ipv6 prefix dynamic 2001:db8:44:NET:0:0:0:0/56\n  ipv6 dns 0 2001:db8::53\n  ipv6 dns 1 2001:db8::54\n  \
                  ipv6 ifconfig 2001:db8:44:NET:0:0:0:0/56\n";
        let (device, types, lines, net) = match *apn {
            "inet6" => ("tun6", "v6", v6.to_owned(), "2000"),
            "inet46" => ("tun46", "v4v6", v4.replace("NET", "46") + v6, "2100"),
            _ => ("tun4", "v4", v4.to_owned(), "222"),
        };
        format!(
            " apn {apn}\n  gtpu-mode {mode}\n  tun-device {device}\n  type-support {types}\n  mtu default apply\n{}  no shutdown\n",
            lines.replace("NET", net)
        )
    };
    let apns: String = apns.iter().map(of_version).collect();
    format!(
        "!\n! saved from vty\n!!\n!\nlog stderr\n logging color 1\n logging print category-hex 0\n logging print category 1\n \
         logging timestamp 0\n logging print file basename last\n logging print level 1\n logging level ip info\n \
         logging level tun info\n logging level ggsn info\n logging level lgtp info\n{levels}!\nstats interval 5\n!\n\
         line vty\n no login\n!\nggsn ggsn0\n gtp state-dir {state}\n gtp bind-ip 127.0.0.2\n{apns} default-apn internet\n \
         no shutdown ggsn\n"
    )
}

/// They start as they are, also where the directory of the state is not there yet, and a node that runs takes each of their lines.
fn later_examples_run() {
    let (netns, directory) = (Netns::new("later-ggsn"), TempDir::new("gannet-later-ggsn"));
    let state = directory.path().join("osmo-ggsn").display().to_string();
    let all = later_example(&state, "tun", &["internet", "inet6", "inet46"]);
    let by_kernel = later_example(&state, "kernel-gtp", &["internet"]);
    for (text, devices) in [(&all, &["tun4", "tun6", "tun46"][..]), (&by_kernel, &["tun4"])] {
        let config = file(&directory, "later.cfg", text);
        let checked = succeed(&["ggsn", "-c", &config, "--check"]);
        assert!(checked.ends_with("OK\n"), "{checked}");
        let (shown, log) = ggsn(&netns, &directory, &config, &[]);
        for device in devices {
            let link = shown.lines().find(|line| line.contains(&format!(": {device}:")));
            assert!(link.is_some_and(|link| link.contains("mtu 1420 ")), "{device}: {shown}{log}");
        }
        let is_by_kernel = text.contains("kernel-gtp");
        assert_eq!(log.contains("'gtpu-mode kernel-gtp' is served by the same path"), is_by_kernel, "{log}");
        assert!(log.contains("gsn_restart") && log.contains("comes from the clock"), "{log}");
        takes_each_line(&netns, &directory, &config, text);
    }
}

/// The VTY of a node that runs with the file refuses none of its lines. Each node of the VTY is left where its block ends, which
/// neither VTY does by itself.
fn takes_each_line(netns: &Netns, directory: &TempDir, config: &str, text: &str) {
    let mut command = netns.command(GANNET);
    command.args(["ggsn", "-c", config]);
    let node = Node::spawn(directory, "", command, "pasted");
    let mut vty = netns.command("sh");
    let mut commands = "configure terminal\n".to_owned();
    let mut depth = 0;
    for line in text.lines().filter(|line| !line.starts_with('!')) {
        let its = line.len() - line.trim_start().len();
        commands.push_str(&"exit\n".repeat(usize::saturating_sub(depth, its)));
        commands.push_str(&format!("{line}\n"));
        depth = its;
    }
    let pasted = file(directory, "typed", &(commands + "end\nshow ggsn ggsn0\n"));
    vty.args(["-c", "\"$0\" vty 127.0.0.1:4260 <\"$1\"", GANNET, &pasted]);
    let shown = wait_for("the VTY", || {
        let output = vty.output().unwrap();
        (output.status.code() != Some(2)).then_some(output)
    });
    let answers = said(&shown);
    assert!(shown.status.success() && answers.contains("GGSN ggsn0"), "{answers}{}", node.log());
}

fn access_points_run() {
    let (netns, directory) = (Netns::new("apns"), TempDir::new("gannet-apns"));
    let program = file(&directory, "program", "#!/bin/sh\necho \"$@\" >> \"$0.said\"\n");
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, permissions).unwrap();
    let text = format!(
        "ggsn g\n gtp bind-ip 127.0.0.2\n max-pdp-contexts 1000\n apn a\n  gtpu-mode kernel-gtp\n  tun-device a0\n  \
         ipup-script {program}\n  ipdown-script {program}\n  type-support v4\n  type-support v6\n  \
         mtu 1300 apply\n  mss-clamp mtu\n  ip prefix dynamic 10.1.0.0/16\n  ip prefix static 10.2.0.0/16\n  \
         ip ifconfig 10.1.0.0/16\n  ipv6 prefix dynamic 2001:db8::/56\n  ipv6 link-local fe80::77/64\n  \
         client-to-client inside\n  idle-timeout 600\n  mbr-police\n  pap ignore\n  no shutdown\n no shutdown ggsn\n\
         line vty\n no login\n"
    );
    let config = file(&directory, "ggsn.cfg", &text);
    let (shown, log) = ggsn(&netns, &directory, &config, &["show echo", "show pdp-context ggsn h"]);
    for line in [
        "0 of 131066 addresses in use, 0 of 253 prefixes in use",
        "No such GGSN 'h'",
        "fe80::77/64",
        "mtu 1300 ",
    ] {
        assert!(shown.contains(line), "{line}: {shown}\n{log}");
    }
    assert!(log.contains("'gtpu-mode kernel-gtp' is served by the same path"), "{log}");
    let ran = std::fs::read_to_string(format!("{program}.said")).unwrap();
    assert_eq!(ran, "a0 10.1.0.1 255.255.0.0\n".repeat(2), "when the device is up, and when it goes");
}

fn lines_without_effect() {
    let (netns, directory) = (Netns::new("osmo-lines"), TempDir::new("gannet-osmo-lines"));
    netns.ip(&["address", "add", "192.0.2.9/32", "dev", "lo"]);
    let text = "log systemd-journal\n logging level set-all notice\ncpu-sched\ncs7 instance 0\n point-code 0.23.4\n \
                asp asp-a 2905 0 m3ua\n  remote-ip 192.0.2.20\n as as-a m3ua\n  asp asp-a\n  routing-key 3 0.23.4\n\
                sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n ggsn 0 gtp-version 1\n \
                auth-policy accept-all\n cs7-instance-iu 0\n mme test0\n  gtp remote-ip 192.0.2.30\n  gtp ran-info-relay 1 1 7\n\
                ns\n bind udp local\n  listen 127.0.0.1 23000\n  accept-ipaccess\n bind udp other\n  \
                listen 192.0.2.9 23001\n  accept-dynamic-ip-sns\nbssgp\nline vty\n no login\n";
    let config = file(&directory, "sgsn.cfg", text);
    let binds = [
        "UDP bind: 127.0.0.1:23000 DSCP: 0 Priority: 0, local",
        "UDP bind: 192.0.2.9:23001 DSCP: 0 Priority: 0, other",
    ];
    let log = runs(&netns, &directory, &config, &binds);
    for line in [1, 3, 4, 5, 7, 9, 10, 16, 17, 18, 19] {
        assert!(log.contains(&format!("sgsn.cfg:{line}: taken ")), "{line}: {log}");
    }
}
