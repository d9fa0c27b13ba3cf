//! Network namespaces for tests, with unique names, removed also when a test fails.

/// Why this machine cannot make network namespaces; `None` where it can.
#[must_use]
pub fn missing() -> Option<String> {
    let name = format!("gannet-probe-{}", std::process::id());
    let ip = crate::find_program("ip")?;
    let run = |arguments: &[&str]| {
        std::process::Command::new(&ip).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    if !run(&["netns", "add", &name]) {
        return Some("no right to make network namespaces".to_owned());
    }
    run(&["netns", "del", &name]);
    (!std::path::Path::new("/dev/net/tun").exists()).then(|| "no /dev/net/tun".to_owned())
}
