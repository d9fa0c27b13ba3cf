//! The control socket of `gannet ms`, asked without another process, which would have to wait for a core beside nodes that preempt.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The answer to a request: its format (`text`, `json`), the mobile (from 1, or `-`) and the command.
///
/// # Errors
/// A sentence: nobody is there, nobody answers in time, or what the mobile station says against it.
pub fn ask(socket: &Path, request: &str, within: Duration) -> Result<String, String> {
    let describe = |error: std::io::Error| format!("{}: {error}", socket.display());
    let mut stream = UnixStream::connect(socket).map_err(describe)?;
    stream.set_read_timeout(Some(within)).map_err(describe)?;
    stream.write_all(format!("{request}\n").as_bytes()).map_err(describe)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(describe)?;
    match answer.strip_prefix("ok\n") {
        Some(said) => Ok(said.to_owned()),
        None => Err(format!("gannet ms, asked '{request}': {}", answer.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_testkit::TempDir;
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_answer_is_told_from_a_refusal() {
        let directory = TempDir::new("gannet-control");
        let socket = directory.path().join("ms.sock");
        let within = Duration::from_secs(10);
        assert!(ask(&socket, "json - status", within).unwrap_err().contains("ms.sock"));
        let listener = UnixListener::bind(&socket).unwrap();
        let serving = std::thread::spawn(move || {
            ["ok\n[]\n", "error\nno such command\n"].map(|answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 64];
                let len = stream.read(&mut request).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8_lossy(&request[..len]).into_owned()
            })
        });
        assert_eq!(ask(&socket, "json - status", within).unwrap(), "[]\n");
        assert!(ask(&socket, "text - jump", within).unwrap_err().ends_with("no such command"));
        assert_eq!(serving.join().unwrap(), ["json - status\n", "text - jump\n"]);
    }
}
