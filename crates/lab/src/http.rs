//! A host behind the GGSN: an HTTP server for one file of octets that both ends can compute from a seed.

use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// `len` octets that depend on `seed` alone.
#[must_use]
pub fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = gannet_machine::rng::Rng::seeded(seed);
    let mut octets = Vec::with_capacity(len + 8);
    while octets.len() < len {
        octets.extend_from_slice(&rng.u64().to_be_bytes());
    }
    octets.truncate(len);
    octets
}

/// SHA-256 in lower-case hexadecimal, as `sha256sum` prints it.
#[must_use]
pub fn sha256(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().map(|octet| format!("{octet:02x}")).collect()
}

/// What `curl` is told: this URL through a device into a file, quietly, without a proxy and within two minutes; `format` is
/// what it prints at the end.
#[must_use]
pub fn curl_arguments<'a>(device: &'a str, file: &'a str, format: &'a str, url: &'a str) -> [&'a str; 13] {
    let max = "--max-time";
    ["-sS", "--fail", max, "120", "--noproxy", "*", "--interface", device, "-o", file, "-w", format, url]
}

fn answer(mut stream: TcpStream, body: &[u8]) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.set_write_timeout(Some(Duration::from_secs(120)))?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for header in lines.by_ref() {
        if header?.is_empty() {
            break;
        }
    }
    if !request.starts_with("GET ") {
        return stream.write_all(b"HTTP/1.0 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n");
    }
    let head = format!(
        "HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Connections at one time, each with a thread of its own; more wait until one has ended.
const CONNECTIONS_MAX: usize = 64;

/// Serves [`content`] on `address` for as long as the process lives, [`CONNECTIONS_MAX`] connections at one time.
///
/// # Errors
/// Where the address cannot be bound. A connection that fails is only reported.
pub fn serve(address: SocketAddr, seed: u64, len: usize) -> io::Result<()> {
    let body = content(seed, len);
    let listener = TcpListener::bind(address)?;
    gannet_rt::outln!("serving {len} octets on {}, sha256 {}", listener.local_addr()?, sha256(&body));
    serve_all(listener.incoming(), &body);
    Ok(())
}

fn serve_all(incoming: impl Iterator<Item = io::Result<TcpStream>>, body: &[u8]) {
    let (open, closed) = (Mutex::new(0_usize), Condvar::new());
    let count = || open.lock().unwrap_or_else(PoisonError::into_inner);
    let serve_one = |stream: io::Result<TcpStream>| {
        if let Err(error) = stream.and_then(|stream| answer(stream, body)) {
            eprintln!("http: {error}");
        }
        *count() -= 1;
        closed.notify_one();
    };
    std::thread::scope(|scope| {
        for stream in incoming {
            let places = closed.wait_while(count(), |open| *open >= CONNECTIONS_MAX);
            *places.unwrap_or_else(PoisonError::into_inner) += 1;
            scope.spawn(|| serve_one(stream));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn content_and_digest_are_the_same_at_both_ends() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(content(7, 1000), content(7, 1000));
        assert_ne!(content(7, 1000), content(8, 1000));
        assert_eq!(content(1, 13).len(), 13);
    }

    /// As many as there are places for are connected and say nothing; one more waits, and is served when one of them has gone.
    #[test]
    fn silent_clients_hold_nobody_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let body = content(3, 1000);
        let get = || {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
            client
        };
        let whole = |mut client: TcpStream| {
            let mut reply = Vec::new();
            client.read_to_end(&mut reply).unwrap();
            assert!(reply.ends_with(&body));
        };
        std::thread::scope(|scope| {
            scope.spawn(|| serve_all(listener.incoming().take(CONNECTIONS_MAX + 2), &body));
            let mut silent: Vec<TcpStream> =
                (1..CONNECTIONS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
            whole(get());
            silent.push(TcpStream::connect(address).unwrap());
            let last = get();
            silent.pop();
            whole(last);
            silent.clear();
        });
    }

    #[test]
    fn a_client_gets_the_octets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || answer(listener.accept().unwrap().0, &content(3, 50_000)));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut reply = Vec::new();
        client.read_to_end(&mut reply).unwrap();
        server.join().unwrap().unwrap();
        assert!(reply.ends_with(&content(3, 50_000)));
        assert!(reply.starts_with(b"HTTP/1.0 200"));
    }
}
