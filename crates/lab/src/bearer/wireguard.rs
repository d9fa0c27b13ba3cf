//! WireGuard in user space as a peer: its two ends, set through its own socket (the cross-platform userspace interface of
//! <https://www.wireguard.com/xplatform/>).

use super::text;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// UDP port of both ends.
const PORT: u16 = 51820;
/// Where the program has its sockets.
const SOCKETS: &str = "/var/run/wireguard";
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Private and public keys of both ends: those of RFC 7748 clause 6.1. Nothing is secret here.
const KEYS: [[&str; 2]; 2] = [
    [
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
    ],
    [
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    ],
];

/// One end.
#[derive(Debug)]
pub struct End {
    /// Its TUN device: the name is also that of the socket, which all namespaces share.
    pub device: String,
    configuration: String,
}

/// Both ends, by their addresses on the bearer and inside. No two pairs of this process have the same names.
pub fn ends(near: (&str, &str), far: (&str, &str)) -> [End; 2] {
    static PAIRS: AtomicU32 = AtomicU32::new(0);
    let pair = PAIRS.fetch_add(1, Relaxed);
    let [own, other] = KEYS;
    let end =
        |letter, [private, _]: [&str; 2], [_, public]: [&str; 2], (address, inside): (&str, &str)| End {
            device: format!("wg{}{letter}{pair}", std::process::id()),
            configuration: format!(
                "set=1\nprivate_key={private}\nlisten_port={PORT}\nreplace_peers=true\npublic_key={public}\n\
             endpoint={address}:{PORT}\nreplace_allowed_ips=true\nallowed_ip={inside}/32\n\n"
            ),
        };
    [end('a', own, other, far), end('b', other, own, near)]
}

impl End {
    /// Tells the program its keys and its peer, once its socket is there.
    ///
    /// # Errors
    /// A sentence: it is not there in time, or the program refuses.
    pub fn configure(&self, within: Duration) -> Result<(), String> {
        let path = Path::new(SOCKETS).join(format!("{}.sock", self.device));
        let until = Instant::now() + within;
        let mut socket = loop {
            match UnixStream::connect(&path) {
                Ok(socket) => break socket,
                Err(error) if Instant::now() > until => return Err(format!("{}: {error}", path.display())),
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
        };
        socket.set_read_timeout(Some(within)).map_err(text)?;
        socket.write_all(self.configuration.as_bytes()).map_err(text)?;
        let mut said = Vec::new();
        let mut octets = [0; 256];
        while !said.ends_with(b"\n\n") {
            match socket.read(&mut octets).map_err(text)? {
                0 => break,
                len => said.extend_from_slice(octets.get(..len).unwrap_or_default()),
            }
        }
        let said = String::from_utf8_lossy(&said);
        if said.trim() == "errno=0" { Ok(()) } else { Err(format!("wireguard-go says: {}", said.trim())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_knows_the_other() {
        let [near, far] = ends(("192.0.2.1", "198.51.100.1"), ("192.0.2.2", "198.51.100.2"));
        let [another, _] = ends(("192.0.2.1", "198.51.100.1"), ("192.0.2.2", "198.51.100.2"));
        assert!(near.device != far.device && near.device != another.device);
        assert!(near.device.len() < 16, "a name of a device has at most 15 characters");
        let has = |end: &End, line: &str| end.configuration.lines().any(|other| other == line);
        assert!(has(&near, "endpoint=192.0.2.2:51820") && has(&near, "allowed_ip=198.51.100.2/32"));
        assert!(has(&far, "endpoint=192.0.2.1:51820") && has(&far, "allowed_ip=198.51.100.1/32"));
        let [[private, _], [_, public]] = KEYS;
        assert!(has(&near, &format!("private_key={private}")) && has(&near, &format!("public_key={public}")));
    }
}
