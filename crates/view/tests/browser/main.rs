//! The page in a browser without a screen: what a person does with it, and what a hostile capture or another site cannot.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod driver;

use driver::{Browser, http};
use gannet_analysis::{Reading, Settings};
use gannet_testkit::{Need, TempDir};
use gannet_trace::pcapng::{Direction as TraceDirection, LinkType, Recorder, Section};
use gannet_view::index::Index;
use gannet_view::lane::Lane;
use gannet_view::live::Watched;
use gannet_view::server::Server;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const BROWSER: &[Need] = &[Need::Program("chromium"), Need::Program("chromedriver")];
const CHECKED: &[Need] = &[Need::Program("chromium"), Need::Program("chromedriver"), Need::That(axe_missing)];

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("a_person_zooms_follows_searches_and_comes_back", BROWSER, person),
        ("blocks_sent_again_have_their_kinds", &[], kinds),
        ("nothing_of_a_hostile_capture_becomes_markup", BROWSER, hostile),
        ("other_hosts_and_origins_are_refused", &[], strangers),
        ("the_page_is_usable_without_eyes_and_mouse", CHECKED, accessible),
        ("three_sizes_of_window_show_all_parts", BROWSER, sizes),
        ("a_running_node_is_followed", BROWSER, followed),
        ("types_of_the_page_are_right", &[Need::That(types_missing)], types),
    ])
}

fn captures() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/captures");
    ["real-phone-um.pcapng.gz", "real-phone-core.pcapng.gz"].map(|name| directory.join(name)).to_vec()
}

fn index(files: &[PathBuf]) -> Index {
    let mut reading = Reading::open(files, Settings::default()).unwrap();
    let names = files.iter().map(|file| file.file_name().unwrap().to_string_lossy().into_owned());
    Index::of(&mut reading, names.collect()).unwrap()
}

/// A page that is served until the test program ends.
struct Page {
    address: SocketAddr,
    url: String,
}

impl Page {
    fn of(server: Server) -> Self {
        let url = server.url();
        let address = url.trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
        std::thread::spawn(move || server.run());
        Self { address, url }
    }

    fn captures(files: &[PathBuf]) -> Self {
        Self::of(Server::bind(index(files), None, 0).unwrap())
    }

    /// The address of a view.
    fn at(&self, view: &str) -> String {
        format!("{}#{view}", self.url)
    }
}

/// Where the middle of the first record of a lane stands in the window, by the page's own drawing.
fn mark(browser: &Browser, lane: &str) -> (i64, i64) {
    let script = format!(
        "const done = arguments[arguments.length - 1];
         import('/place.js').then(async ({{ place }}) => {{
            const lanes = await import('/lanes.js');
            const about = await (await fetch('api/about')).json();
            const query = new URLSearchParams({{ from: place.from, until: place.until, bins: 1000 }});
            const tiles = await (await fetch('api/tiles?' + query)).json();
            const canvas = document.getElementById('lanes');
            const box = canvas.getBoundingClientRect();
            const strip = lanes.layout(about).strips.find((one) => one.name === '{lane}');
            const tile = tiles.tiles.find((one) => one.lane === '{lane}');
            const mark = tile.marks[Math.floor(tile.marks.length / 2)];
            const x = lanes.xOf(mark[0], canvas.clientWidth);
            let y = strip.top;
            while (y < strip.top + strip.height && !lanes.hit({{ strips: [strip] }}, {{ tiles: [tile] }}, x, y, canvas.clientWidth)) y += 1;
            done([Math.round(box.left + x), Math.round(box.top + y + 2)]);
         }});"
    );
    let at = browser.run(&script, &[]);
    (at[0].as_i64().unwrap(), at[1].as_i64().unwrap())
}

fn text(browser: &Browser, id: &str) -> String {
    browser.value(&format!("document.getElementById('{id}').innerText")).as_str().unwrap().to_owned()
}

fn person() {
    let page = Page::captures(&captures());
    let browser = Browser::start(1400, 1000);
    browser.open(&page.at(""));
    assert!(text(&browser, "findings").contains("tcp-throughput"), "{}", text(&browser, "findings"));
    // From all to a part of a second, where blocks stand one by one.
    browser.open(&page.at("from=10000000000&until=30000000000"));
    for _ in 0..5 {
        browser.wheel(500, 300, -300);
    }
    browser.wait("location.hash.includes('from=') && !location.hash.includes('from=10000000000&')");
    browser.wait("/^\\d+\\.\\d{3} s to/.test(document.getElementById('status').textContent)");
    // A click on an N-PDU follows it from the radio to Gn.
    browser.open(&page.at("from=58500000000&until=59500000000"));
    let (x, y) = mark(&browser, "n-pdu");
    browser.click(x, y);
    browser.wait("document.querySelectorAll('#packet table tbody tr').length >= 2");
    let way = text(&browser, "packet");
    assert!(way.contains("Gn") && way.contains("Gb") && way.contains("within ms"), "{way}");
    // The address alone brings the same view back.
    let view = browser.value("location.hash").as_str().unwrap().trim_start_matches('#').to_owned();
    browser.open(&page.at(&view));
    browser.wait("document.querySelectorAll('#packet table tbody tr').length >= 2");
    assert_eq!(text(&browser, "packet"), way);
    // A search by address, and the mobile's rows alone.
    browser.value("document.getElementById('wanted').focus()");
    browser.keys("172.16.222.1\u{e007}");
    browser.wait("document.querySelector('#found button') !== null");
    browser.value("document.querySelector('#found button').click()");
    browser.wait("location.hash.includes('mobile=')");
    // A change of theme.
    let was = browser.value("document.documentElement.dataset.theme");
    browser.value("document.getElementById('theme').click()");
    assert_ne!(browser.value("document.documentElement.dataset.theme"), was);
    // Keys alone: forward, all, next record.
    browser.value("document.getElementById('lanes').focus()");
    browser.keys("\u{e014}n");
    browser.wait("location.hash.includes('row=')");
    browser.keys("\u{e011}");
    browser.wait("location.hash.includes('from=0&')");
    // The table of the picture.
    browser.value("document.getElementById('tab-table').click()");
    browser.wait("document.querySelectorAll('#table tbody tr').length > 100");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn kinds() {
    let index = index(&captures());
    let count = |kind: gannet_view::lane::Kind| {
        let lanes = [Lane::RadioDown, Lane::RadioUp].into_iter();
        lanes.flat_map(|lane| index.lane(lane)).filter(|row| row.kind == kind).count() as u64
    };
    let total = |of: fn(&gannet_analysis::radio::report::Counts) -> u64| -> u64 {
        index.report.radio.tbfs.iter().map(|tbf| of(&tbf.again)).sum()
    };
    use gannet_view::lane::Kind::{Needed, NeedlessAgain, Premature, Repeated};
    assert_eq!(count(Needed), total(|counts| counts.needed));
    assert_eq!(count(Premature), total(|counts| counts.premature));
    assert_eq!(count(Repeated), total(|counts| counts.repeated));
    assert_eq!(count(NeedlessAgain), total(|counts| counts.acknowledged));
    assert!(count(Premature) > 0, "the phone's network repeats what nobody asked for");
}

/// A capture whose interface has markup as its name, with a frame of HTTP that carries some as well.
fn hostile_capture(path: &Path) {
    const NAME: &str = "<img src=x onerror=\"window.broken=1\">";
    let block = |kind: u32, body: &[u8]| {
        let mut padded = body.to_vec();
        padded.resize(body.len().next_multiple_of(4), 0);
        let total = u32::try_from(padded.len() + 12).unwrap().to_le_bytes();
        [&kind.to_le_bytes()[..], &total, &padded, &total].concat()
    };
    let option = |code: u16, value: &[u8]| {
        let mut padded = value.to_vec();
        padded.resize(value.len().next_multiple_of(4), 0);
        let length = u16::try_from(value.len()).unwrap();
        [&code.to_le_bytes()[..], &length.to_le_bytes(), &padded].concat()
    };
    let payload = b"GET /<script>window.broken=2</script> HTTP/1.1\r\nHost: <b>x</b>\r\n\r\n";
    let total = u16::try_from(40 + payload.len()).unwrap().to_be_bytes();
    let mut packet = vec![0x45, 0, total[0], total[1], 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(payload);
    let length = u32::try_from(packet.len()).unwrap().to_le_bytes();
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let interface = [
        &101_u16.to_le_bytes()[..],
        &[0; 6],
        &option(2, NAME.as_bytes()),
        &option(3, NAME.as_bytes()),
        &[0; 4],
    ]
    .concat();
    let comment = option(1, b"</td><script>window.broken=3</script>");
    let mut padded = packet.clone();
    padded.resize(packet.len().next_multiple_of(4), 0);
    let frame = [&[0; 4][..], &[0, 0, 5, 0], &[0; 4], &length, &length, &padded, &comment, &[0; 4]].concat();
    let file = [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &frame)].concat();
    std::fs::write(path, file).unwrap();
}

fn hostile() {
    let directory = TempDir::new("gannet-view-hostile");
    let file = directory.path().join("<svg onload=window.broken=4>.pcapng");
    hostile_capture(&file);
    let page = Page::captures(&[file]);
    let browser = Browser::start(1200, 800);
    browser.open(&page.at("panel=table"));
    browser.wait("document.querySelectorAll('#table tbody tr').length > 0");
    browser.keys("n");
    browser.wait("document.querySelector('#packet .of') !== null");
    // The name stands there as text, and nothing of it became an element.
    assert!(text(&browser, "packet").contains("<img src=x onerror="), "{}", text(&browser, "packet"));
    browser.value("document.getElementById('wanted').focus()");
    browser.keys("<script>\u{e007}");
    browser.wait("document.querySelector('#found li') !== null");
    assert_eq!(
        browser.value("document.querySelectorAll('body img, body script, body svg, body b').length"),
        0
    );
    assert_eq!(browser.value("window.broken === undefined"), true);
    assert!(browser.value("document.getElementById('files').textContent").as_str().unwrap().contains("<svg"));
    // What is saved as SVG is escaped as well.
    let saved = browser.run(
        "const done = arguments[arguments.length - 1];
         import('/painter.js').then(({ asSvg }) => done(asSvg(9, 9, '#fff', (painter) => painter.text(1, 1, arguments[0], '#000'))));",
        &["<script>window.broken=5</script>"],
    );
    assert!(!saved.as_str().unwrap().contains("<script"), "{saved}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn strangers() {
    let page = Page::captures(&captures());
    let address = page.address;
    let status = |head: String| http(address, &head, "").0;
    let token = page.url.split("token=").nth(1).unwrap();
    let cookie = format!("Cookie: other=1; gannet-view-{}={token}", address.port());
    let get = |headers: &str| status(format!("GET /api/about HTTP/1.1\r\n{cookie}\r\n{headers}"));
    assert_eq!(get(&format!("Host: {address}")), 200);
    assert_eq!(get(&format!("Host: localhost:{}", address.port())), 200);
    assert_eq!(get("Host: attacker.example"), 403);
    assert_eq!(get(&format!("Host: attacker.example:{}", address.port())), 403);
    assert_eq!(get(&format!("Host: {address}\r\nOrigin: http://attacker.example")), 403);
    assert_eq!(get(&format!("Host: {address}\r\nOrigin: null")), 403);
    assert_eq!(get(&format!("Host: {address}\r\nOrigin: http://{address}")), 200);
    assert_eq!(get(&format!("Host: {address}\r\nSec-Fetch-Site: cross-site")), 403);
    // Another user of the machine, who does not know the token.
    let host = format!("Host: {address}");
    for path in ["/", "/api/about", "/main.js", "/?token=", "/?token=0123456789abcdef0123456789abcdef"] {
        assert_eq!(status(format!("GET {path} HTTP/1.1\r\n{host}")), 403, "{path}");
    }
    assert_eq!(
        status(format!("GET /api/about?token={token} HTTP/1.1\r\n{host}")),
        403,
        "in one address alone"
    );
    assert_eq!(status(format!("GET /?token={token} HTTP/1.1\r\n{host}")), 303);
    let asked = |what: &str| status(format!("{what} HTTP/1.1\r\n{host}\r\n{cookie}"));
    assert_eq!(asked("POST /api/about"), 405);
    assert_eq!(asked("GET /../../etc/passwd"), 404);
    assert_eq!(asked("GET /api/tiles?from=9&until=3"), 400);
    assert_eq!(asked("GET /api/way?lane=99&row=0"), 404);
    assert_eq!(asked("GET /api/way?lane=1&row=999999999"), 404);
    assert_eq!(asked("GET /api/frame?file=0&frame=1"), 404);
    assert_eq!(asked(&format!("GET /api/tiles?from=0&until={0}&bins={0}", u64::MAX)), 200);
    assert!(address.ip().is_loopback());
}

fn followed() {
    let directory = TempDir::new("gannet-view-live");
    let socket = directory.path().join("node.trace");
    let mut recorder = Recorder::to_socket(&socket, &Section::default()).unwrap();
    let device = recorder.add_interface("tun0", LinkType::Raw, "", "");
    let watched = Watched::connect(&socket).unwrap();
    let page = Page::of(Server::bind(watched.index(None).unwrap(), Some(watched), 0).unwrap());
    let browser = Browser::start(1200, 800);
    browser.open(&page.at("panel=table"));
    let mut number = 0_u16;
    let mut ping = |recorder: &mut Recorder| {
        number += 1;
        let [high, low] = number.to_be_bytes();
        let mut packet = vec![0x45, 0, 0, 60, high, low, 0, 0, 64, 1, 0, 0, 10, 0, 0, 9, 10, 0, 0, 2];
        packet.extend([8, 0, 0, 0, 0, 1, high, low]);
        packet.resize(60, 0);
        let at_ns = 1_700_000_000_000_000_000 + u64::from(number) * 100_000_000;
        recorder.ip(device, at_ns, TraceDirection::In, &packet);
    };
    // What a node sends is seen by those who watch when it is sent: they may come late.
    let rows = "document.querySelectorAll('#table tbody tr').length";
    let begun = std::time::Instant::now();
    while browser.value(rows) == 0 {
        assert!(begun.elapsed().as_secs() < 120, "nothing comes");
        ping(&mut recorder);
        recorder.flush().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(
        text(&browser, "table").contains("10.0.0.9 to 10.0.0.2, echo request"),
        "{}",
        text(&browser, "table")
    );
    // More comes, and the window stays at the end.
    let before = browser.value("Number(new URLSearchParams(location.hash.slice(1)).get('until'))");
    for _ in 0..100 {
        ping(&mut recorder);
    }
    recorder.flush().unwrap();
    browser.wait(&format!("Number(new URLSearchParams(location.hash.slice(1)).get('until')) > {before}"));
    browser.value("document.getElementById('tab-mobiles').click()");
    browser.wait("document.querySelector('#mobiles table') !== null");
    // The node ends, and the page says so.
    drop(recorder);
    browser.wait("document.getElementById('status').textContent.includes('Nothing more comes')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A package of the npm registry, in a directory that stays for the next run.
fn package(name: &str, file: &str) -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("npm-{name}"));
    let wanted = directory.join("node_modules").join(name).join(file);
    if wanted.is_file() {
        return Ok(wanted);
    }
    let npm = gannet_testkit::find_program("npm").ok_or_else(|| "npm is not installed".to_owned())?;
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let done = Command::new(npm)
        .args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"])
        .arg(&directory)
        .arg(name)
        .stdin(Stdio::null())
        .output();
    match done {
        Ok(output) if output.status.success() && wanted.is_file() => Ok(wanted),
        _ => Err(format!("{name} cannot be had from the npm registry")),
    }
}

fn axe() -> Result<PathBuf, String> {
    package("axe-core", "axe.min.js")
}

fn axe_missing() -> Option<String> {
    axe().err()
}

fn typescript() -> Result<PathBuf, String> {
    package("typescript", "bin/tsc")
}

fn types_missing() -> Option<String> {
    typescript().err()
}

fn accessible() {
    let page = Page::captures(&captures());
    let browser = Browser::start(1400, 1000);
    let axe = std::fs::read_to_string(axe().unwrap()).unwrap();
    for panel in ["findings", "packet", "table", "legend"] {
        for theme in ["light", "dark"] {
            let view =
                format!("from=58500000000&until=59500000000&theme={theme}&panel={panel}&lane=4&row=20");
            browser.open(&page.at(&view));
            browser.wait("document.querySelector('#packet table') !== null");
            browser.run(&format!("{axe}; arguments[arguments.length - 1](true);"), &[]);
            let found = browser.run(
                "const done = arguments[arguments.length - 1];
                 axe.run(document).then(({ violations }) => done(violations.map((one) => [one.impact, one.id,
                    one.nodes.map((node) => node.html).slice(0, 3)])));",
                &[],
            );
            let serious = |one: &&Value| one[0] == "serious" || one[0] == "critical";
            let serious: Vec<_> = found.as_array().unwrap().iter().filter(serious).collect();
            assert!(serious.is_empty(), "{panel}, {theme}: {serious:?}");
        }
    }
}

fn sizes() {
    let page = Page::captures(&captures());
    let browser = Browser::start(1600, 1000);
    for (width, height) in [(1600, 1000), (1024, 768), (480, 900)] {
        browser.resize(width, height);
        browser.open(&page.at("from=11000000000&until=13000000000"));
        // Nothing stands beside the window, and both pictures have room.
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= window.innerWidth"),
            true,
            "{width}"
        );
        for canvas in ["lanes", "sequence"] {
            let room = format!("document.getElementById('{canvas}').clientWidth > 250");
            assert_eq!(browser.value(&room), true, "{canvas} at {width}");
        }
        let picture = browser.picture();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("view-{width}.png.base64"));
        std::fs::write(path, picture).unwrap();
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    if std::env::var_os("GANNET_BLESS").is_some() {
        picture_of_the_manual(&page, &browser);
    }
}

/// The picture of `docs/trace-view.md`.
fn picture_of_the_manual(page: &Page, browser: &Browser) {
    browser.resize(1280, 940);
    browser.open(&page.at("from=12150000000&until=12500000000&theme=light"));
    let (x, y) = mark(browser, "n-pdu");
    browser.click(x, y);
    browser.wait("document.querySelectorAll('#packet table tbody tr').length >= 2");
    std::thread::sleep(std::time::Duration::from_secs(1));
    let encoded = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace-view.base64");
    std::fs::write(&encoded, browser.picture()).unwrap();
    let decoded = Command::new("base64").arg("-d").arg(&encoded).output().unwrap().stdout;
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures/trace-view.png"), decoded)
        .unwrap();
}

fn types() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let scripts = std::fs::read_dir(&assets).unwrap().map(|entry| entry.unwrap().path());
    let scripts: Vec<PathBuf> =
        scripts.filter(|path| path.extension().is_some_and(|it| it == "js")).collect();
    assert!(scripts.len() > 5);
    let output = Command::new("node")
        .arg(typescript().unwrap())
        .args(["--noEmit", "--allowJs", "--checkJs", "--strict", "--noUncheckedIndexedAccess"])
        .args(["--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"])
        .args(["--lib", "es2023,dom,dom.iterable"])
        .args(scripts)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
