//! A host behind the GGSN: an HTTP server for one file of octets that both ends can compute from a seed. What is PUT is answered with
//! its SHA-256 and forgotten.

use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, Read, Write};
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
    hexadecimal(&Sha256::digest(octets))
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
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
    let mut reader = BufReader::new(stream.try_clone()?);
    let (request, length) = head(&mut reader)?;
    if request.starts_with("PUT ") {
        return match length {
            Some(length) => reply(&mut stream, "200 OK", format!("{}\n", taken(reader, length)?).as_bytes()),
            None => reply(&mut stream, "411 Length Required", &[]),
        };
    }
    if !request.starts_with("GET ") {
        return reply(&mut stream, "405 Method Not Allowed", &[]);
    }
    reply(&mut stream, "200 OK", body)
}

/// The first line of a request, and how many octets follow its head, where that is said.
fn head(reader: &mut impl BufRead) -> io::Result<(String, Option<u64>)> {
    let mut lines = reader.lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut length = None;
    for header in lines {
        let header = header?;
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    Ok((request, length))
}

/// SHA-256 of so many octets.
fn taken(mut reader: impl Read, length: u64) -> io::Result<String> {
    let mut digest = Sha256::new();
    let (mut left, mut octets) = (length, [0; 4096]);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(octets.len());
        let part = octets.get_mut(..most).unwrap_or_default();
        let read = reader.read(part)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        digest.update(part.get(..read).unwrap_or_default());
        left -= read as u64;
    }
    Ok(hexadecimal(&digest.finalize()))
}

fn reply(stream: &mut TcpStream, status: &str, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.0 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Connections at one time, each with a thread of its own; more wait until one has ended.
const CONNECTIONS_MAX: usize = 64;

/// Serves [`content`], and takes what is PUT, on `address` for as long as the process lives, [`CONNECTIONS_MAX`] connections at one time.
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

    /// What a server of 50,000 octets replies to a request, and how it ends.
    fn asked(request: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || answer(listener.accept().unwrap().0, &content(3, 50_000)));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reply = Vec::new();
        client.read_to_end(&mut reply).unwrap();
        (reply, server.join().unwrap())
    }

    #[test]
    fn a_client_gets_the_octets() {
        let (reply, ended) = asked(b"GET / HTTP/1.0\r\n\r\n");
        ended.unwrap();
        assert!(reply.ends_with(&content(3, 50_000)));
        assert!(reply.starts_with(b"HTTP/1.0 200"));
    }

    #[test]
    fn what_is_put_is_answered_with_its_digest_and_less_than_was_said_is_an_error() {
        let put = |length: &str| {
            let head = format!("PUT /x HTTP/1.1\r\n{length}Host: y\r\n\r\n");
            asked(&[head.as_bytes(), &content(5, 20_000)].concat())
        };
        let (reply, ended) = put("content-length: 20000\r\n");
        ended.unwrap();
        let digest = format!("\r\n\r\n{}\n", sha256(&content(5, 20_000)));
        assert!(reply.starts_with(b"HTTP/1.0 200") && reply.ends_with(digest.as_bytes()));
        let (reply, ended) = put("Content-Length: 20001\r\n");
        assert_eq!((reply, ended.unwrap_err().kind()), (Vec::new(), io::ErrorKind::UnexpectedEof));
        let (reply, _) = asked(b"PUT /x HTTP/1.1\r\n\r\n");
        assert!(reply.starts_with(b"HTTP/1.0 411"));
    }
}
