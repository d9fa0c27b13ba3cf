//! The page and what it asks for, on loopback alone.
//!
//! Every answer is JSON or a file that is part of the program; a page never gets markup that comes from a capture. Requests that name
//! another host, or that another site's page makes, are refused.

use crate::connection::Window as ConnectionWindow;
use crate::index::Index;
use crate::lane::{Kind, Lane};
use crate::live::Watched;
use crate::shared::{Shared, Shown};
use crate::tile::{self, Window};
use crate::{journey, search, span};
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use gannet_analysis::record::Proof;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Mobiles and connections that the page lists by itself; others are found by the search.
const LISTED_MAX: usize = 500;
/// Rows of a table.
const TABLE_MAX: usize = 500;
/// Rows of a file for other programs.
const CSV_MAX: usize = 1_000_000;
/// What a page of this program may load: its own files.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files of the page: path, type, contents.
const ASSETS: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
    ("/main.js", "text/javascript; charset=utf-8", include_str!("../assets/main.js")),
    ("/answers.js", "text/javascript; charset=utf-8", include_str!("../assets/answers.js")),
    ("/place.js", "text/javascript; charset=utf-8", include_str!("../assets/place.js")),
    ("/painter.js", "text/javascript; charset=utf-8", include_str!("../assets/painter.js")),
    ("/lanes.js", "text/javascript; charset=utf-8", include_str!("../assets/lanes.js")),
    ("/sequence.js", "text/javascript; charset=utf-8", include_str!("../assets/sequence.js")),
    ("/panels.js", "text/javascript; charset=utf-8", include_str!("../assets/panels.js")),
];

/// A server that is bound.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
}

impl Server {
    /// Binds a port of loopback; 0 takes any that is free. With a node that is watched, its last minutes are shown.
    ///
    /// # Errors
    /// Where the port is taken.
    pub fn bind(index: Index, watched: Option<Watched>, port: u16) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let shared = Shared::new(index, watched, listener.local_addr()?)?;
        Ok(Self { listener, shared })
    }

    /// The address of the page, with the token that opens it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.shared.address(), self.shared.token())
    }

    /// Serves until SIGINT or SIGTERM.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener)?;
            let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
            let router = router(self.shared);
            let stop = async move {
                tokio::select! { _ = tokio::signal::ctrl_c() => {}, _ = term.recv() => {} }
            };
            tokio::select! {
                result = async { axum::serve(listener, router).await } => result,
                () = stop => Ok(()),
            }
        })
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new()
        .route("/api/about", get(about))
        .route("/api/live", get(live))
        .route("/api/tiles", get(tiles))
        .route("/api/way", get(way))
        .route("/api/frame", get(frame))
        .route("/api/search", get(found))
        .route("/api/connection", get(connection))
        .route("/api/rows", get(rows))
        .route("/api/rows.csv", get(csv));
    for (path, kind, contents) in ASSETS {
        let answer = ([(header::CONTENT_TYPE, *kind)], *contents);
        router = router.route(path, get(move || async move { answer }));
    }
    let guard = middleware::from_fn_with_state(Arc::clone(&shared), guarded);
    router.with_state(shared).layer(guard)
}

/// Refuses what another host's name or another site's page asks for: a name that an attacker lets point here would else read
/// captures (DNS rebinding). Another user of this machine does not know the token.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = if request.method() != Method::GET && request.method() != Method::HEAD {
        (StatusCode::METHOD_NOT_ALLOWED, "This server only reads.\n").into_response()
    } else if !is_own(shared.address(), &request) {
        (StatusCode::FORBIDDEN, "Only its own page on this machine may ask.\n").into_response()
    } else if opens(&shared, &request) {
        let cookie = format!("{}; Path=/; HttpOnly; SameSite=Strict", cookie(&shared));
        ([(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())], StatusCode::SEE_OTHER)
            .into_response()
    } else if !knows(&shared, &request) {
        (StatusCode::FORBIDDEN, "Open the address that gannet trace view has printed, with its token.\n")
            .into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn text<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers().get(name).map(|it| it.to_str().unwrap_or("?"))
}

fn is_own(address: SocketAddr, request: &Request) -> bool {
    let own = [format!("127.0.0.1:{}", address.port()), format!("localhost:{}", address.port())];
    let is_mine = |host: &str| own.iter().any(|it| it == host);
    text(request, "host").is_some_and(is_mine)
        && text(request, "origin").is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_mine))
        && text(request, "sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none")
}

/// The cookie by which a browser is known again; each port has its own.
fn cookie(shared: &Shared) -> String {
    format!("gannet-view-{}={}", shared.address().port(), shared.token())
}

/// The first request of a browser has the token in its address.
fn opens(shared: &Shared, request: &Request) -> bool {
    request.uri().path() == "/" && request.uri().query() == Some(&format!("token={}", shared.token()))
}

fn knows(shared: &Shared, request: &Request) -> bool {
    let mine = cookie(shared);
    text(request, "cookie").is_some_and(|all| all.split(';').any(|one| one.trim() == mine))
}

/// Lets another thread work, so that a long search holds up nobody.
async fn work<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> Result<T, StatusCode> {
    tokio::task::spawn_blocking(what).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

type Held = State<Shown>;
type Answer<T> = Result<Json<T>, StatusCode>;

async fn about(State(shared): State<Arc<Shared>>, State(index): Held) -> Answer<Value> {
    let is_live = shared.is_live();
    let about = work(move || {
        let mut about = about_json(&index);
        if let Some(about) = about.as_object_mut() {
            about.insert("is_live".to_owned(), is_live.into());
        }
        about
    });
    Ok(Json(about.await?))
}

#[derive(Debug, Deserialize)]
struct AskLive {
    hold: Option<bool>,
}

/// What is new of a node that is followed, and a row for each mobile.
async fn live(
    State(shared): State<Arc<Shared>>,
    State(index): Held,
    Query(ask): Query<AskLive>,
) -> Answer<Value> {
    const LAST_NS: u64 = 10_000_000_000;
    let pulse = shared.pulse(ask.hold.unwrap_or(false));
    let mobiles = work(move || {
        let one = |mobile: &crate::index::MobileNames| {
            let traffic = index.traffic(mobile.index, LAST_NS);
            let rate = |octets: u64| octets * 8 / (LAST_NS / 1_000_000_000);
            let bucket = traffic.bucket.map(|it| (it.bmax_octets, it.leak_bits_per_s));
            json!({"index": mobile.index, "name": mobile.name, "down_bits_per_s": rate(traffic.down_octets),
                "up_bits_per_s": rate(traffic.up_octets), "bucket": bucket})
        };
        index.mobiles.iter().take(LISTED_MAX).map(one).collect::<Vec<_>>()
    });
    let (generation, ended) = (pulse.generation, pulse.ended);
    Ok(Json(json!({"generation": generation, "ended": ended, "mobiles": mobiles.await?})))
}

fn about_json(index: &Index) -> Value {
    let lanes: Vec<_> = Lane::ALL
        .into_iter()
        .map(|lane| json!({"name": lane, "title": lane.title(), "rows": index.lane(lane).len()}))
        .collect();
    let kinds: Vec<_> =
        Kind::ALL.into_iter().map(|kind| json!({"name": kind, "word": kind.word()})).collect();
    let mobiles: Vec<_> = index
        .mobiles
        .iter()
        .take(LISTED_MAX)
        .map(|it| json!({"index": it.index, "name": it.name, "names": it.names}))
        .collect();
    let since = |at: u64| at.saturating_sub(index.start);
    let report = &index.report;
    let strips = [
        ("cells", report.mobility.reselections.len()),
        ("procedures", report.procedures.procedures.len()),
        ("tbfs", report.radio.tbfs.len()),
    ];
    let strips: Vec<_> = strips.into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect();
    let connections: Vec<_> = index
        .report
        .connections
        .iter()
        .take(LISTED_MAX)
        .map(|it| {
            let place = index.place_names.get(usize::from(it.place));
            json!({"connection": it.connection, "place": it.place, "at": place, "from": since(it.first.0.0),
                "until": since(it.last.0.0), "ends": index.ends.get(it.connection as usize),
                "octets": [it.forward.octets, it.backward.octets]})
        })
        .collect();
    let findings: Vec<_> = index
        .report
        .findings
        .iter()
        .map(|it| {
            let proofs: Vec<_> = it.proofs.iter().map(|proof| (proof.file + 1, proof.frame)).collect();
            json!({"kind": it.kind, "of": it.of, "text": it.text, "numbers": it.numbers, "proofs": proofs})
        })
        .collect();
    json!({
        "files": index.files, "start_ns": index.start.to_string(), "length": index.end() - index.start,
        "rows": index.len(), "lanes": lanes, "kinds": kinds, "places": index.place_names, "mobiles": mobiles,
        "mobiles_in_all": index.mobiles.len(), "connections": connections,
        "strips": strips, "connections_in_all": index.report.connections.len(), "findings": findings, "damages": index.damages,
    })
}

#[derive(Debug, Deserialize)]
struct Ask {
    from: u64,
    until: u64,
    bins: Option<u64>,
    mobile: Option<u32>,
}

impl Ask {
    /// Times of the page begin with the captures.
    fn window(&self, index: &Index) -> Result<Window, StatusCode> {
        if self.until <= self.from {
            return Err(StatusCode::BAD_REQUEST);
        }
        let at = |time: u64| index.start.saturating_add(time);
        let (from, until) = (at(self.from), at(self.until));
        Ok(Window { from, until, bins: self.bins.unwrap_or(1000), mobile: self.mobile })
    }
}

#[derive(Debug, Serialize)]
struct Tiles {
    tiles: Vec<tile::Tile>,
    spans: Vec<span::Span>,
    buckets: Vec<(u64, Option<u32>, u16, u64, u64)>,
}

async fn tiles(State(index): Held, Query(ask): Query<Ask>) -> Answer<Tiles> {
    let window = ask.window(&index)?;
    let tiles = work(move || Tiles {
        tiles: Lane::ALL.into_iter().filter_map(|lane| tile::tile(&index, lane, window)).collect(),
        spans: span::spans(&index, window),
        buckets: tile::buckets(&index, window),
    });
    Ok(Json(tiles.await?))
}

#[derive(Debug, Deserialize)]
struct AskWay {
    lane: usize,
    row: usize,
}

async fn way(State(index): Held, Query(ask): Query<AskWay>) -> Answer<journey::Way> {
    let lane = Lane::at(ask.lane).ok_or(StatusCode::NOT_FOUND)?;
    let way = work(move || journey::way(&index, lane, ask.row)).await?;
    way.map(Json).ok_or(StatusCode::NOT_FOUND)
}

#[derive(Debug, Deserialize)]
struct AskFrame {
    file: u16,
    frame: u64,
}

async fn frame(State(index): Held, Query(ask): Query<AskFrame>) -> Answer<Vec<Value>> {
    let file = ask.file.checked_sub(1).ok_or(StatusCode::NOT_FOUND)?;
    let proof = Proof { file, frame: ask.frame };
    let rows = work(move || {
        let one = |(lane, number): (Lane, usize)| {
            let row = index.lane(lane).get(number)?;
            Some(json!({"lane": lane, "row": number, "at": row.at - index.start}))
        };
        index.of_frame(proof).into_iter().filter_map(one).collect::<Vec<_>>()
    });
    let rows = rows.await?;
    if rows.is_empty() { Err(StatusCode::NOT_FOUND) } else { Ok(Json(rows)) }
}

#[derive(Debug, Deserialize)]
struct AskSearch {
    text: String,
    from: Option<u64>,
}

async fn found(State(index): Held, Query(ask): Query<AskSearch>) -> Answer<search::Found> {
    let from = index.start.saturating_add(ask.from.unwrap_or(0));
    Ok(Json(work(move || search::search(&index, &ask.text, from)).await?))
}

#[derive(Debug, Deserialize)]
struct AskConnection {
    connection: u32,
    place: u16,
    forward: bool,
    from: u64,
    until: u64,
    columns: Option<u64>,
}

async fn connection(State(index): Held, Query(ask): Query<AskConnection>) -> Answer<ConnectionWindow> {
    if ask.until <= ask.from {
        return Err(StatusCode::BAD_REQUEST);
    }
    let start = index.start;
    let span = (start.saturating_add(ask.from), start.saturating_add(ask.until));
    let columns = ask.columns.unwrap_or(1000).clamp(1, tile::BINS_MAX);
    let of = (ask.connection, ask.place);
    let window = work(move || {
        let mut window = index.streams.window(of, ask.forward, span, columns)?;
        window.since(start);
        Some(window)
    });
    window.await?.map(Json).ok_or(StatusCode::NOT_FOUND)
}

#[derive(Debug, Serialize)]
struct TableRow {
    lane: &'static str,
    lane_index: usize,
    row: usize,
    at: u64,
    mobile: Option<String>,
    place: String,
    proof: (u16, u64),
    kind: &'static str,
    text: String,
}

/// Rows of a window in the order of time, at most so many.
fn table(index: &Index, window: Window, most: usize) -> Vec<TableRow> {
    let mut picked = Vec::new();
    for lane in Lane::ALL {
        let Some(rows) = index.lanes.get(lane.index()) else { continue };
        let (first, rows) = rows.within(window.from, window.until);
        let wanted = rows.iter().enumerate();
        let wanted = wanted.filter(|(_, row)| window.mobile.is_none_or(|mobile| row.mobile == mobile));
        picked.extend(wanted.take(most).map(|(number, row)| (row.at, lane, first + number)));
    }
    picked.sort_by_key(|(at, ..)| *at);
    picked.truncate(most);
    let one = |(at, lane, number): (u64, Lane, usize)| {
        let row = index.lane(lane).get(number)?;
        Some(TableRow {
            lane: lane.title(),
            lane_index: lane.index(),
            row: number,
            at: at - index.start,
            mobile: index.mobile(row.mobile).map(|it| it.name.clone()),
            place: index.place_names.get(usize::from(row.place)).cloned().unwrap_or_default(),
            proof: (row.proof.file + 1, row.proof.frame),
            kind: row.kind.word(),
            text: index.texts.get(row.text).ok()?,
        })
    };
    picked.into_iter().filter_map(one).collect()
}

async fn rows(State(index): Held, Query(ask): Query<Ask>) -> Answer<Vec<TableRow>> {
    let window = ask.window(&index)?;
    Ok(Json(work(move || table(&index, window, TABLE_MAX)).await?))
}

async fn csv(State(index): Held, Query(ask): Query<Ask>) -> Result<Response, StatusCode> {
    let window = ask.window(&index)?;
    let text = work(move || {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut csv = "seconds,layer,kind,mobile,place,file,frame,what\n".to_owned();
        for row in table(&index, window, CSV_MAX) {
            let seconds = gannet_analysis::series::seconds(row.at);
            let (file, frame) = row.proof;
            let mobile = quoted(row.mobile.as_deref().unwrap_or(""));
            let (place, what) = (quoted(&row.place), quoted(&row.text));
            let (lane, kind) = (quoted(row.lane), quoted(row.kind));
            csv += &format!("{seconds:.9},{lane},{kind},{mobile},{place},{file},{frame},{what}\n");
        }
        csv
    });
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"trace.csv\""),
    ];
    Ok((headers, text.await?).into_response())
}
