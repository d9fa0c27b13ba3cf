// @ts-check
// The page: what is asked for, when it is drawn, and what hands do.

import { address, ask } from "./answers.js";
import { draw, GUTTER, hit, layout, spanAt, timeAt } from "./lanes.js";
import { asSvg, isDark, onCanvas, tone } from "./painter.js";
import * as panels from "./panels.js";
import { byId } from "./panels.js";
import { keep, place, restore, show, time, zoom } from "./place.js";
import { drawSequence } from "./sequence.js";

/** @type {import("./answers.js").About} */
let about;
/** @type {ReturnType<typeof layout>} */
let where;
/** @type {import("./answers.js").Tiles | null} */
let tiles = null;
let tilesWindow = { from: 0, until: 1, bins: 1 };
/** @type {import("./answers.js").Sequence | null} */
let sequence = null;
/** @type {import("./answers.js").Way | null} */
let way = null;

const canvas = /** @type {HTMLCanvasElement} */ (byId("lanes"));
const sequenceCanvas = /** @type {HTMLCanvasElement} */ (byId("sequence"));
const mobileSelect = /** @type {HTMLSelectElement} */ (byId("mobile"));
const connectionSelect = /** @type {HTMLSelectElement} */ (byId("connection"));
const exportSelect = /** @type {HTMLSelectElement} */ (byId("export"));
const wanted = /** @type {HTMLInputElement} */ (byId("wanted"));

/** @param {string} text */
const say = (text) => { byId("status").textContent = text; };
/** @param {unknown} error */
const failed = (error) => say(error instanceof Error ? error.message : String(error));

/**
 * @param {HTMLCanvasElement} of
 * @param {number} height
 */
function prepared(of, height) {
  const scale = window.devicePixelRatio || 1;
  const width = of.clientWidth;
  if (of.width !== Math.round(width * scale) || of.height !== Math.round(height * scale)) {
    of.width = Math.round(width * scale);
    of.height = Math.round(height * scale);
    of.style.height = `${height}px`;
  }
  const context = of.getContext("2d");
  if (!context) throw new Error("this browser has no canvas");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = tone("paper");
  context.fillRect(0, 0, width, height);
  return { painter: onCanvas(context), width };
}

const SEQUENCE_HEIGHT = 260;
let isDrawing = false;

/** Draws before the next picture of the screen. */
function redraw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    const begun = performance.now();
    const lanes = prepared(canvas, where.height);
    draw(lanes.painter, where, tiles, tilesWindow, way, lanes.width);
    const below = prepared(sequenceCanvas, SEQUENCE_HEIGHT);
    drawSequence(below.painter, sequence, below.width, SEQUENCE_HEIGHT);
    frames.push(performance.now() - begun);
    if (frames.length > 1000) frames.splice(0, 500);
  });
}

/** How long pictures took, in milliseconds: for benchmarks. @type {number[]} */
const frames = [];
Object.assign(window, { frames });

let asked = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

/** Asks for what the window shows, once it rests. */
function refresh() {
  clearTimeout(waiting);
  waiting = setTimeout(() => { fetchAll().catch(failed); }, 40);
}

async function fetchAll() {
  const number = ++asked;
  const width = place.until - place.from;
  const margin = Math.round(width / 4);
  const bins = Math.min(4000, Math.max(200, Math.round((canvas.clientWidth - GUTTER) * 1.5)));
  const wide = { from: Math.max(0, place.from - margin), until: place.until + margin, bins, mobile: place.mobile };
  const [nextTiles, nextSequence] = await Promise.all([ask("tiles", wide), askSequence(wide)]);
  if (number !== asked) return;
  tiles = nextTiles;
  tilesWindow = wide;
  sequence = nextSequence;
  const rows = tiles?.tiles.reduce((sum, tile) => sum + tile.rows, 0) ?? 0;
  canvas.setAttribute("aria-label", `Layers from ${time(place.from, width)} to ${time(place.until, width)}; the panel Table lists the records`);
  say(`${time(place.from, width)} to ${time(place.until, width)}, about ${rows} records in and beside it`);
  document.documentElement.dataset.drawn = String(number);
  redraw();
  if (place.panel === "table") await fillTable();
}

/** @param {{from: number, until: number, bins: number}} wide */
function askSequence(wide) {
  if (place.connection === null || place.place === null) return null;
  const { connection, place: at, forward } = place;
  return ask("connection", { connection, place: at, forward, from: wide.from, until: wide.until, columns: wide.bins });
}

async function fillTable() {
  const { from, until, mobile } = place;
  panels.records((await ask("rows", { from, until, mobile })) ?? [], go, about.lanes.map((lane) => lane.name));
}

/** Something of the place has changed. */
function moved() {
  keep();
  redraw();
  refresh();
}

/**
 * Shows a row and follows its packet.
 * @param {string} lane
 * @param {number} row
 * @param {number | null} at where to go; null where it is in sight
 */
function go(lane, row, at) {
  const index = about.lanes.findIndex((one) => one.name === lane);
  if (index < 0) return;
  place.lane = index;
  place.row = row;
  if (at !== null) {
    const width = Math.min(place.until - place.from, 4e9);
    show(at - width / 2, at + width / 2, about.length);
  }
  panels.open("packet");
  followRow().catch(failed);
  moved();
}

async function followRow() {
  way = null;
  if (place.lane === null || place.row === null) return redraw();
  way = await ask("way", { lane: place.lane, row: place.row });
  if (way) panels.packet(way, go);
  redraw();
}

/** @param {[number, number]} proof */
async function goToFrame([file, frame]) {
  const rows = /** @type {{lane: string, row: number, at: number}[] | null} */ (await ask("frame", { file, frame }));
  const first = rows?.at(-1);
  if (first) go(first.lane, first.row, first.at);
  else say(`Frame ${file}:${frame} has no record.`);
}

/** @param {number | null} mobile */
function choose(mobile) {
  place.mobile = mobile;
  if (mobile !== null && ![...mobileSelect.options].some((option) => option.value === String(mobile))) {
    mobileSelect.append(new Option(`mobile ${mobile}`, String(mobile)));
  }
  mobileSelect.value = mobile === null ? "" : String(mobile);
  moved();
}

/** @param {string} panel */
function opened(panel) {
  panels.open(panel);
  keep();
  if (panel === "table") fillTable().catch(failed);
}

function chooseTheme() {
  const prefers = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = place.theme || prefers;
}

/** @param {string} name @param {Blob | string} contents */
function save(name, contents) {
  const link = document.createElement("a");
  const url = typeof contents === "string" ? contents : URL.createObjectURL(contents);
  link.href = url;
  link.download = name;
  link.click();
  if (typeof contents !== "string") setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param {string} how */
function exported(how) {
  const width = canvas.clientWidth;
  const height = where.height + SEQUENCE_HEIGHT;
  const picture = (/** @type {import("./painter.js").Painter} */ painter) => {
    draw(painter, where, tiles, tilesWindow, way, width);
  };
  if (how === "csv") {
    const { from, until, mobile } = place;
    save("trace.csv", address("rows.csv", { from, until, mobile }));
  } else if (how === "svg") {
    save("trace.svg", new Blob([asSvg(width, where.height, tone("paper"), picture)], { type: "image/svg+xml" }));
  } else if (how === "png") {
    const whole = document.createElement("canvas");
    whole.width = canvas.width;
    whole.height = canvas.height + sequenceCanvas.height;
    const context = whole.getContext("2d");
    context?.drawImage(canvas, 0, 0);
    context?.drawImage(sequenceCanvas, 0, canvas.height);
    whole.toBlob((blob) => { if (blob) save("trace.png", blob); });
  }
  say(`Saved ${width} × ${height}.`);
}

/** The next or previous mark of the chosen lane. @param {number} by */
function stepMark(by) {
  const lane = place.lane === null ? null : about.lanes[place.lane]?.name;
  const tile = tiles?.tiles.find((one) => one.lane === lane) ?? tiles?.tiles.find((one) => one.marks.length);
  if (!tile?.marks.length) return say("Zoom in: records stand one by one where there are few enough.");
  const at = tile.marks.findIndex((mark) => mark[5] === place.row);
  const next = at < 0
    ? tile.marks.find((mark) => mark[0] >= place.from)
    : tile.marks[Math.min(Math.max(at + by, 0), tile.marks.length - 1)];
  if (!next) return;
  const isSeen = next[0] >= place.from && next[0] <= place.until;
  go(tile.lane, next[5], isSeen ? null : next[0]);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = event.target;
  if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLButtonElement && (event.key === "ArrowLeft" || event.key === "ArrowRight")) return;
  const width = place.until - place.from;
  const middle = (place.from + place.until) / 2;
  /** @type {Record<string, () => void>} */
  const keys = {
    "+": () => zoom(1 / 1.5, middle, about.length), "=": () => zoom(1 / 1.5, middle, about.length),
    "-": () => zoom(1.5, middle, about.length),
    ArrowLeft: () => show(place.from - width / 5, place.until - width / 5, about.length),
    ArrowRight: () => show(place.from + width / 5, place.until + width / 5, about.length),
    Home: () => show(0, about.length, about.length),
    n: () => stepMark(1), p: () => stepMark(-1),
    t: () => toggleTheme(),
    "/": () => wanted.focus(),
    Escape: () => { place.lane = null; place.row = null; way = null; },
  };
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
  moved();
}

function toggleTheme() {
  place.theme = isDark() ? "light" : "dark";
  chooseTheme();
  panels.legend(about);
  moved();
}

/** Pointers that are down: one moves the window, two also zoom. @type {Map<number, number>} */
const fingers = new Map();

function hands() {
  const at = (/** @type {PointerEvent | WheelEvent} */ event) => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const width = place.until - place.from;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / canvas.clientWidth) * width;
      show(place.from + by, place.until + by, about.length);
    } else {
      zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeAt(at(event), canvas.clientWidth), about.length);
    }
    moved();
  }, { passive: false });
  let travelled = 0;
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, at(event));
    travelled = 0;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    const x = at(event);
    if (before === undefined) return hover(event);
    travelled += Math.abs(x - before);
    const others = [...fingers].filter(([id]) => id !== event.pointerId);
    const perPixel = (place.until - place.from) / (canvas.clientWidth - GUTTER);
    const other = others[0]?.[1];
    if (other === undefined) {
      const by = (before - x) * perPixel;
      show(place.from + by, place.until + by, about.length);
    } else if (Math.abs(x - other) > 10) {
      zoom(Math.abs(before - other) / Math.abs(x - other), timeAt(other, canvas.clientWidth), about.length);
    }
    fingers.set(event.pointerId, x);
    moved();
  });
  const up = (/** @type {PointerEvent} */ event) => {
    const was = fingers.delete(event.pointerId);
    if (was && travelled < 5 && event.type === "pointerup") clicked(event);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => { byId("hint").hidden = true; });
}

/** @param {PointerEvent} event */
function clicked(event) {
  const found = hit(where, tiles, event.offsetX, event.offsetY, canvas.clientWidth);
  if (found) return go(found.strip.name, found.mark[5], null);
  const span = spanAt(where, tiles, event.offsetX, event.offsetY, canvas.clientWidth);
  if (span) {
    say(span.text);
    goToFrame(span.proof).catch(failed);
    return;
  }
  const at = timeAt(event.offsetX, canvas.clientWidth);
  const has = where.strips.some((strip) => tiles?.tiles.some((tile) => tile.lane === strip.name && tile.sums.length));
  if (has) {
    zoom(0.25, at, about.length);
    moved();
  }
}

/** @param {PointerEvent} event */
function hover(event) {
  const hint = byId("hint");
  const found = hit(where, tiles, event.offsetX, event.offsetY, canvas.clientWidth);
  const span = spanAt(where, tiles, event.offsetX, event.offsetY, canvas.clientWidth);
  hint.hidden = !found && !span;
  if (found) {
    const kind = about.kinds.find((one) => one.name === found.mark[2]);
    const way = ["uplink", "downlink", ""][found.mark[3]] ?? "";
    hint.textContent = `${found.strip.title}: ${kind?.word ?? ""} ${way} at ${(found.mark[0] / 1e9).toFixed(6)} s`;
  } else if (span) {
    hint.textContent = span.text;
  }
  hint.style.left = `${Math.max(0, Math.min(event.offsetX + 12, canvas.clientWidth - hint.offsetWidth))}px`;
  hint.style.top = `${event.offsetY + 12}px`;
}

function fill() {
  byId("files").textContent = about.files.join(", ");
  byId("files").title = about.files.join("\n");
  refill();
}

/** Mobiles and connections to choose from. */
function refill() {
  mobileSelect.replaceChildren(new Option("all", ""));
  connectionSelect.replaceChildren();
  for (const mobile of about.mobiles) mobileSelect.append(new Option(mobile.name, String(mobile.index)));
  for (const one of about.connections) {
    for (const forward of [true, false]) {
      const octets = one.octets[forward ? 0 : 1];
      if (!octets) continue;
      const [opener, other] = one.ends ?? ["?", "?"];
      const text = `${forward ? `${opener} → ${other}` : `${other} → ${opener}`}, ${octets} octets, ${one.at}`;
      connectionSelect.append(new Option(text, `${one.connection} ${one.place} ${forward ? 1 : 0}`));
    }
  }
  if (!connectionSelect.options.length) connectionSelect.append(new Option("none", ""));
  mobileSelect.value = place.mobile === null ? "" : String(place.mobile);
  chooseConnection();
}

/** The connection with the most data, where none is chosen. */
function chooseConnection() {
  if (place.connection === null) {
    const all = about.connections.flatMap((one) => one.octets.map((octets, way) => ({ one, octets, forward: way === 0 })));
    const most = all.sort((a, b) => b.octets - a.octets)[0];
    if (most?.octets) Object.assign(place, { connection: most.one.connection, place: most.one.place, forward: most.forward });
  }
  connectionSelect.value = place.connection === null ? "" : `${place.connection} ${place.place} ${place.forward ? 1 : 0}`;
}

function listen() {
  byId("all").addEventListener("click", () => { show(0, about.length, about.length); moved(); });
  byId("theme").addEventListener("click", toggleTheme);
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    ask("search", { text: wanted.value }).then((found) => {
      panels.searched(found, choose, go);
      opened("found");
    }).catch(failed);
  });
  mobileSelect.addEventListener("change", () => choose(mobileSelect.value === "" ? null : Number(mobileSelect.value)));
  connectionSelect.addEventListener("change", () => {
    const [connection, at, forward] = connectionSelect.value.split(" ").map(Number);
    Object.assign(place, { connection: connection ?? null, place: at ?? null, forward: forward === 1 });
    moved();
  });
  exportSelect.addEventListener("change", () => { exported(exportSelect.value); exportSelect.value = ""; });
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", () => { settle().catch(failed); });
  new ResizeObserver(moved).observe(canvas);
  panels.tabs(opened);
  hands();
}

/** Goes where the address says. */
async function settle() {
  restore(about.length);
  chooseTheme();
  chooseConnection();
  choose(place.mobile);
  panels.legend(about);
  panels.open(place.panel);
  await followRow();
}

/** A node that is followed: what came is asked for each second, and the window stays at the end. */
function follow() {
  let generation = 0;
  const pulse = async () => {
    const isHeld = /** @type {HTMLInputElement} */ (byId("hold")).checked;
    const now = /** @type {import("./answers.js").Pulse} */ (await ask("live", { hold: isHeld }));
    panels.mobiles(now.mobiles, choose);
    if (now.ended) say(`Nothing more comes: ${now.ended}.`);
    if (now.generation === generation || isHeld) return;
    generation = now.generation;
    const width = place.until - place.from;
    const wasAtEnd = place.until >= about.length - width / 10;
    about = await ask("about");
    where = layout(about);
    panels.findings(about, (proof) => { goToFrame(proof).catch(failed); });
    refill();
    // Rows have other numbers now.
    place.lane = place.row = way = null;
    if (wasAtEnd) show(about.length - Math.min(Math.max(width, 1e9), 6e10), about.length, about.length);
    moved();
  };
  byId("live").hidden = false;
  byId("tab-mobiles").hidden = false;
  const again = () => pulse().catch(failed).finally(() => setTimeout(again, 1000));
  again();
}

async function begin() {
  about = await ask("about");
  where = layout(about);
  fill();
  panels.findings(about, (proof) => { goToFrame(proof).catch(failed); });
  await settle();
  listen();
  moved();
  if (about.is_live) follow();
}

begin().catch(failed);
