//! What is recorded of what crosses the interfaces of the process.

use gannet_ops::config::trace::{FILES_DEFAULT, TraceWords};
use gannet_rt::{Access, TraceConfig, TraceRing as Ring};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

const MB: u64 = 1_000_000;

/// What the words of a configuration mean.
pub fn config_of(words: &TraceWords) -> TraceConfig {
    let ring = words.file.as_ref().filter(|file| file.is_ring()).map(|file| Ring {
        size: file.size_mb.map(|size| u64::from(size) * MB),
        seconds: file.seconds.map(u64::from),
        files: file.files.unwrap_or(FILES_DEFAULT).try_into().unwrap_or(usize::MAX),
    });
    let file = words.file.as_ref().map(|file| PathBuf::from(&file.name));
    let socket = words.socket.as_ref().map(PathBuf::from);
    TraceConfig { file, ring, socket, headers: words.headers, one_in: words.one_in }
}

/// `HOST[:PORT]` of `--gsmtap`.
///
/// # Errors
/// A sentence: there is no such host.
pub fn listener(text: &str) -> Result<SocketAddr, String> {
    const PORT: u16 = gannet_wire::gsmtap::UDP_PORT;
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok((address, PORT).into());
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => match port.parse() {
            Ok(port) => (host, port),
            Err(_) => return Err(format!("'{port}' is no port")),
        },
        None => (text, PORT),
    };
    let found = (host, port).to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
    found.into_iter().next().ok_or_else(|| format!("{host} has no address"))
}

/// `show trace`.
pub fn show(access: &Access<'_>, out: &mut String) {
    let reports = access.recorder().map(gannet_rt::Tracer::reports).unwrap_or_default();
    if reports.is_empty() {
        out.push_str("Nothing is recorded.\n");
    }
    for report in reports {
        let _ = writeln!(out, "{}", report.name);
        for (value, what) in [
            (report.recorded, "records"),
            (report.lost, "records are missing, since the writer was too slow"),
            (report.left_out, "packets are of subscribers who are not sampled"),
        ] {
            let _ = writeln!(out, "  {value} {what}");
        }
        if let Some(why) = report.failure {
            let _ = writeln!(out, "  takes nothing: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_ops::config::trace::TraceFile;

    #[test]
    fn a_listener_has_a_port() {
        let at = |text: &str| listener(text).map(|address| address.to_string());
        assert_eq!(at("192.0.2.1"), Ok("192.0.2.1:4729".to_owned()));
        assert_eq!(at("192.0.2.1:5000"), Ok("192.0.2.1:5000".to_owned()));
        assert_eq!(at("2001:db8::1"), Ok("[2001:db8::1]:4729".to_owned()));
        assert_eq!(at("[2001:db8::1]:5000"), Ok("[2001:db8::1]:5000".to_owned()));
        assert!(at("localhost").is_ok_and(|at| at.ends_with(":4729")));
        assert!(at("192.0.2.1:x").is_err());
    }

    #[test]
    fn files_follow_each_other_where_one_has_a_limit() {
        let words = |size_mb, seconds, files| {
            let file = TraceFile { name: "x".to_owned(), size_mb, seconds, files };
            config_of(&TraceWords { file: Some(file), ..TraceWords::default() }).ring
        };
        assert_eq!(words(None, None, None), None);
        let ring = |size, seconds, files| Some(Ring { size, seconds, files });
        assert_eq!(words(Some(3), None, None), ring(Some(3_000_000), None, 10));
        assert_eq!(words(None, Some(60), Some(2)), ring(None, Some(60), 2));
    }
}
