//! The manual's chapter "A mobile station for Linux": its commands are run as they stand there, on a machine that has its own
//! devices, processes and directories `/run`, `/var/tmp` and `/etc/netns`.

use crate::common::{GANNET, blocks, repository, said};
use gannet_testkit::{Case, Need, TempDir};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const NEEDS: &[Need] = &[
    Need::NetAdmin,
    Need::Program("unshare"),
    Need::Program("mount"),
    Need::Program("timeout"),
    Need::Program("ping"),
];

/// All of them.
pub const CASES: &[Case] =
    &[("the_chapter_about_a_mobile_station_runs_as_it_stands_there", NEEDS, the_chapter)];

/// What the machine is before a reader comes.
const MACHINE: &str = "mkdir -p /etc/netns
for place in /run /var/tmp /etc/netns; do mount -t tmpfs none $place; done
ip link set lo up
";
/// A reader looks when there is something to see, and no longer than this many tenths of a second.
const UNTIL_ACTIVE: &str = "tries=0
until gannet ms ctl status 2>&1 | grep -q pdp-active; do
 tries=$((tries + 1)); test $tries -lt 900; sleep 0.1
done
";
/// The mobile with cells of its own ends before another one begins.
const END: &str = "kill %3; wait %3 || test $? = 143
";

fn the_chapter() {
    let chapter = std::fs::read_to_string(repository().join("docs/ms.md")).unwrap();
    assert!(chapter.contains("`kill %3` ends the mobile"));
    let [nodes, look, access_point, look_again] = &blocks(&chapter, "sh")[..] else {
        panic!("the commands of the chapter are those of a mobile, and of one behind an access point")
    };
    let mut script = MACHINE.to_owned();
    let _ = write!(script, "{nodes}{UNTIL_ACTIVE}{look}{END}{access_point}{UNTIL_ACTIVE}{look_again}");
    let directory = TempDir::new("gannet-ms-chapter");
    // The chapter names files of the repository, and writes one.
    std::os::unix::fs::symlink(repository().join("docs"), directory.path().join("docs")).unwrap();
    let programs = Path::new(GANNET).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new("timeout");
    command
        .args(["180", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["bash", "-m", "-e", "-c", &script])
        .env("PATH", path)
        .current_dir(directory.path())
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("3 packets transmitted, 3 received, 0% packet loss").count(), 2, "{text}");
    let shown = |cell: &str| text.lines().any(|line| line.contains("pdp-active") && line.contains(cell));
    assert!(shown("device gprs0"), "{text}");
    assert!(text.contains("cell 001-01-1-0-1: an access point is there"), "the cell is learned: {text}");
}
