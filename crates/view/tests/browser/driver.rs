//! A browser without a screen, told what to do by the protocol of the W3C (WebDriver), over HTTP on loopback.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a page may take for what a test waits for: a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(120);

/// An answer of HTTP: status and body.
pub fn http(to: SocketAddr, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(stream, "{head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").unwrap();
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut octets = None;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        if let Some(length) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            octets = length.trim().parse().ok();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut text = Vec::new();
    match octets {
        Some(octets) => {
            text.resize(octets, 0);
            answer.read_exact(&mut text).unwrap();
        }
        None => {
            answer.read_to_end(&mut text).unwrap();
        }
    }
    (status, String::from_utf8_lossy(&text).into_owned())
}

/// A browser of one test.
pub struct Browser {
    driver: Child,
    /// Kept open: the driver ends where nobody reads what it prints.
    _says: BufReader<ChildStdout>,
    address: SocketAddr,
    session: String,
}

impl Browser {
    /// Starts a browser of this size.
    pub fn start(width: u32, height: u32) -> Self {
        let program = gannet_testkit::find_program("chromedriver").unwrap();
        let mut driver = Command::new(program)
            .args(["--port=0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // One of its lines says the port: "ChromeDriver was started successfully on port 40001."
        let mut says = BufReader::new(driver.stdout.take().unwrap());
        let port = says.by_ref().lines().map_while(Result::ok).find_map(|line| {
            let port = line.split("successfully on port ").nth(1)?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let address = SocketAddr::from(([127, 0, 0, 1], port.expect("chromedriver says its port")));
        let size = format!("--window-size={width},{height}");
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            &size,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}}}});
        let mut browser = Self { driver, _says: says, address, session: String::new() };
        let made = browser.tell("POST", "/session", &wanted);
        made["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        browser
    }

    fn tell(&self, method: &str, path: &str, body: &Value) -> Value {
        let host = self.address;
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json");
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let (status, text) = http(host, &head, &body);
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(status, 200, "{path}: {text}");
        answer["value"].clone()
    }

    fn of_session(&self, method: &str, what: &str, body: &Value) -> Value {
        self.tell(method, &format!("/session/{}/{what}", self.session), body)
    }

    /// Opens a page and waits until its pictures are drawn.
    pub fn open(&self, url: &str) {
        self.of_session("POST", "url", &json!({"url": "about:blank"}));
        self.of_session("POST", "url", &json!({"url": url}));
        self.wait("document.documentElement.dataset.drawn !== undefined");
    }

    /// The value of an expression of the page.
    pub fn value(&self, expression: &str) -> Value {
        let script = format!("return ({expression});");
        self.of_session("POST", "execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs a script of the page; `args` stand in `arguments`.
    pub fn run(&self, script: &str, args: &[&str]) -> Value {
        self.of_session("POST", "execute/async", &json!({"script": script, "args": args}))
    }

    /// Waits until an expression is true.
    pub fn wait(&self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression) != Value::Bool(true) {
            assert!(begun.elapsed() < PATIENCE, "{expression} does not become true");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Clicks at a point of the window.
    pub fn click(&self, x: i64, y: i64) {
        let step = |kind: &str| json!({"type": kind, "button": 0});
        let moves = json!({"type": "pointerMove", "x": x, "y": y, "duration": 0, "origin": "viewport"});
        let steps = [moves, step("pointerDown"), step("pointerUp")];
        let hand = json!({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps});
        self.of_session("POST", "actions", &json!({"actions": [hand]}));
    }

    /// Turns the wheel at a point of the window: below 0 zooms in.
    pub fn wheel(&self, x: i64, y: i64, by: i64) {
        let step = json!({"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0, "origin": "viewport"});
        let wheel = json!({"type": "wheel", "id": "wheel", "actions": [step]});
        self.of_session("POST", "actions", &json!({"actions": [wheel]}));
    }

    /// Presses keys, one after another.
    pub fn keys(&self, keys: &str) {
        let steps: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()})))
            .collect();
        let keyboard = json!({"type": "key", "id": "keys", "actions": steps});
        self.of_session("POST", "actions", &json!({"actions": [keyboard]}));
    }

    /// Resizes the window.
    pub fn resize(&self, width: u32, height: u32) {
        self.of_session("POST", "window/rect", &json!({"width": width, "height": height}));
    }

    /// What the page looks like: a PNG, in base 64.
    pub fn picture(&self) -> String {
        self.of_session("GET", "screenshot", &Value::Null).as_str().unwrap().to_owned()
    }

    /// Errors and warnings of the page's console.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.of_session("POST", "se/log", &json!({"type": "browser"}));
        let entries = log.as_array().cloned().unwrap_or_default();
        let is_bad = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        entries.iter().filter(is_bad).map(|entry| entry["message"].to_string()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let host = self.address;
            let head = format!("DELETE /session/{} HTTP/1.1\r\nHost: {host}", self.session);
            let _ = std::panic::catch_unwind(|| http(host, &head, ""));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
