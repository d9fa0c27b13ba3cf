// @ts-check
// Findings, packet, search, table and legend. Everything from a capture is written as text, never as markup.

import { colour } from "./painter.js";
import { place } from "./place.js";

/**
 * An element with contents.
 * @param {string} name
 * @param {string | (Node | string)[]} [inside]
 * @param {string} [className]
 */
export function element(name, inside = [], className = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const part of typeof inside === "string" ? [inside] : inside) made.append(part);
  return made;
}

/**
 * @param {string} text
 * @param {() => void} action
 * @param {string} className
 */
function button(text, action, className = "go") {
  const made = /** @type {HTMLButtonElement} */ (element("button", text, className));
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

const seconds = (/** @type {number} */ ns) => (ns / 1e9).toFixed(6);
const ms = (/** @type {number} */ ns) => (ns / 1e6).toFixed(3);

/**
 * @param {import("./answers.js").About} about
 * @param {(proof: [number, number]) => void} go
 */
export function findings(about, go) {
  const list = element("ul", [], "plain");
  for (const damage of about.damages) list.append(element("li", `${damage}. What is before counts.`));
  for (const finding of about.findings) {
    const proofs = finding.proofs.map((proof) => button(`frame ${proof[0]}:${proof[1]}`, () => go(proof)));
    list.append(element("li", [
      element("span", finding.kind, "what"), " ", element("span", finding.of, "of"), element("div", finding.text),
      element("div", proofs, "proofs"),
    ]));
  }
  if (!about.findings.length) list.append(element("li", "Nothing to say: neither TCP, pings nor blocks of a radio are in it."));
  byId("findings").replaceChildren(list);
}

/**
 * @param {string[]} heads
 * @param {(string | Node)[][]} rows
 * @param {number[]} numbers columns of numbers
 */
function table(heads, rows, numbers) {
  const cell = (/** @type {string} */ name) => (/** @type {string | Node} */ inside, /** @type {number} */ at) => {
    const made = element(name, [inside], numbers.includes(at) ? "number" : "");
    if (name === "th") made.setAttribute("scope", "col");
    return made;
  };
  const head = element("thead", [element("tr", heads.map(cell("th")))]);
  return element("table", [head, element("tbody", rows.map((row) => element("tr", row.map(cell("td")))))]);
}

/**
 * The way of a packet.
 * @param {import("./answers.js").Way} way
 * @param {(lane: string, row: number, at: number) => void} go
 */
export function packet(way, go) {
  const { row } = way;
  const parts = [
    element("p", [element("span", row.text, "what")]),
    element("p", `${row.place}, frame ${row.proof[0]}:${row.proof[1]}, at ${seconds(row.at)} s`, "of"),
  ];
  if (way.stops.length) {
    parts.push(element("h3", "Its packet on its way"));
    const rows = way.stops.map((stop) => [
      button(stop.place.split(" ")[0] ?? "", () => go(stop.lane, stop.row, stop.at)), seconds(stop.at), ms(stop.within_ns),
      stop.after_ns === null ? "–" : ms(stop.after_ns), `${stop.proof[0]}:${stop.proof[1]}`,
    ]);
    parts.push(table(["place", "at s", "within ms", "after ms", "frame"], rows, [1, 2, 3, 4]));
    parts.push(element("p", "within: from its first part to its last there. after: since it was complete at the place before.", "of"));
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const [lane] of way.parts) counts.set(lane, (counts.get(lane) ?? 0) + 1);
    const words = [...counts].map(([lane, count]) => `${count} of ${lane}`);
    if (words.length) parts.push(element("p", `Meanwhile at the same place and way: ${words.join(", ")}.`, "of"));
  } else {
    parts.push(element("p", "It carries no packet, or not all parts of the packet are in the capture.", "of"));
  }
  byId("packet").replaceChildren(...parts);
}

/**
 * @param {import("./answers.js").Found} found
 * @param {(mobile: number) => void} choose
 * @param {(lane: string, row: number, at: number) => void} go
 */
export function searched(found, choose, go) {
  const list = element("ul", [], "plain");
  for (const mobile of found.mobiles) {
    list.append(element("li", [button(mobile.name, () => choose(mobile.index)), " ", mobile.names.join(", ")]));
  }
  for (const row of found.rows) {
    list.append(element("li", [button(`${seconds(row.at)} s`, () => go(row.lane, row.row, row.at)), " ", row.text]));
  }
  if (!found.mobiles.length && !found.rows.length) list.append(element("li", "Nothing fits."));
  if (found.has_more) list.append(element("li", "There is more. A later window or more letters find it.", "of"));
  byId("found").replaceChildren(list);
}

/**
 * @param {import("./answers.js").TableRow[]} rows
 * @param {(lane: string, row: number, at: number) => void} go
 * @param {string[]} lanes
 */
export function records(rows, go, lanes) {
  const lines = rows.map((row) => [
    button(seconds(row.at), () => go(lanes[row.lane_index] ?? "", row.row, row.at)), row.lane, row.kind, row.mobile ?? "", row.text,
  ]);
  const caption = element("p", `${rows.length} records of the window${rows.length >= 500 ? ", the first ones" : ""}.`);
  byId("table").replaceChildren(caption, table(["at s", "layer", "kind", "mobile", "what"], lines, [0]));
}

/**
 * What mobiles of a running node do.
 * @param {import("./answers.js").MobileNow[]} now
 * @param {(mobile: number) => void} choose
 */
export function mobiles(now, choose) {
  const kbit = (/** @type {number} */ bits) => (bits / 1000).toFixed(1);
  const rows = now.map((one) => [
    button(one.name, () => choose(one.index)), kbit(one.down_bits_per_s), kbit(one.up_bits_per_s),
    one.bucket ? `${one.bucket[0]}` : "–", one.bucket ? kbit(one.bucket[1]) : "–",
  ]);
  const note = element("p", "Rates of the last ten seconds in kbit/s; Bmax in octets and R in kbit/s as the cell said.", "of");
  byId("mobiles").replaceChildren(note, table(["mobile", "down", "up", "Bmax", "R"], rows, [1, 2, 3, 4]));
}

/** @param {import("./answers.js").About} about */
export function legend(about) {
  const list = element("ul", [], "plain");
  for (const kind of about.kinds) {
    const swatch = element("span", "", "swatch");
    swatch.style.backgroundColor = colour(kind.name);
    list.append(element("li", [swatch, kind.word]));
  }
  list.append(element("li", "Downlink stands above uplink in each lane. A bar goes from the first part to the last. Blocks stand at their timeslot."));
  byId("legend").replaceChildren(list);
}

const PANELS = ["findings", "packet", "found", "table", "legend", "mobiles"];

/** @param {string} name */
export function open(name) {
  place.panel = PANELS.includes(name) ? name : "findings";
  for (const panel of PANELS) {
    const is = panel === place.panel;
    byId(panel).hidden = !is;
    const tab = byId(`tab-${panel}`);
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
  }
}

/** @param {(panel: string) => void} opened */
export function tabs(opened) {
  for (const [at, panel] of PANELS.entries()) {
    const tab = byId(`tab-${panel}`);
    tab.addEventListener("click", () => opened(panel));
    tab.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!by) return;
      const next = PANELS[(at + by + PANELS.length) % PANELS.length] ?? "findings";
      opened(next);
      byId(`tab-${next}`).focus();
    });
  }
}
