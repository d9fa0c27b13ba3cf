// @ts-check
// The layers above each other on one time axis.

import { colour, tone } from "./painter.js";
import { place, time } from "./place.js";

/** @typedef {import("./answers.js").Tiles} Tiles */
/** @typedef {import("./answers.js").Tile} Tile */
/** @typedef {import("./answers.js").Mark} Mark */
/** @typedef {import("./painter.js").Painter} Painter */

export const GUTTER = 138;
const AXIS = 26;
const SPAN_ROW = 7;
/** Strips of what lasts: name, title, the lane below, height. @type {[string, string, string, number][]} */
const STRIPS = [["cells", "Changes of cell", "layer3", 20], ["procedures", "Procedures", "layer3", 34], ["tbfs", "TBFs", "radio-down", 48]];

/**
 * @typedef {{name: string, title: string, index: number, top: number, height: number}} Strip
 * @typedef {{strip: Strip, mark: Mark, x: number, y: number}} Hit
 */

/**
 * Where each lane stands. Lanes without rows are left out.
 * @param {import("./answers.js").About} about
 * @returns {{strips: Strip[], height: number}}
 */
export function layout(about) {
  let top = AXIS;
  /** @type {Strip[]} */
  const strips = [];
  const push = (/** @type {string} */ name, /** @type {string} */ title, /** @type {number} */ index, /** @type {number} */ height) => {
    strips.push({ name, title, index, top, height });
    top += height + 4;
  };
  about.lanes.forEach((lane, index) => {
    const spans = STRIPS.filter(([name, , before]) => before === lane.name && about.strips.includes(name));
    for (const [name, title, , height] of spans) push(name, title, -1, height);
    if (lane.rows === 0) return;
    push(lane.name, lane.title, index, lane.name.startsWith("radio") ? 62 : 36);
    if (lane.name === "bssgp") push("buckets", "Flow control, R", -1, 40);
  });
  return { strips, height: top + 2 };
}

/**
 * @param {number} at
 * @param {number} width
 */
export function xOf(at, width) {
  return GUTTER + ((at - place.from) / (place.until - place.from)) * (width - GUTTER);
}

/**
 * @param {number} x
 * @param {number} width
 */
export function timeAt(x, width) {
  return place.from + ((x - GUTTER) / (width - GUTTER)) * (place.until - place.from);
}

/** @param {number} span */
function step(span) {
  const rough = span / 8;
  const ten = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * ten >= rough) ?? 10) * ten;
}

/**
 * @param {Painter} painter
 * @param {number} width
 * @param {number} height
 */
function axis(painter, width, height) {
  const span = place.until - place.from;
  const by = step(span);
  for (let at = Math.ceil(place.from / by) * by; at <= place.until; at += by) {
    const x = xOf(at, width);
    painter.line([[x, AXIS - 6], [x, height]], tone("rule"));
    if (x < width - 40 && x > GUTTER + 20) painter.text(x, 11, time(at, span), tone("faint"), "center", 11);
  }
}

/**
 * Height of a mark in its lane: timeslots and directions stand apart.
 * @param {Strip} strip
 * @param {Mark} mark
 * @returns {[y: number, h: number]}
 */
function box(strip, mark) {
  const [, , , way, height] = mark;
  if (strip.name.startsWith("radio")) {
    const row = (strip.height - 4) / 8;
    return [strip.top + 2 + (height & 7) * row, row - 1];
  }
  const half = (strip.height - 4) / 2;
  if (way === 1) return [strip.top + 2, half - 1];
  if (way === 0) return [strip.top + 2 + half, half - 1];
  return [strip.top + 2 + half / 2, half - 1];
}

/**
 * @param {Painter} painter
 * @param {Strip} strip
 * @param {Tile} tile
 * @param {{from: number, until: number, bins: number}} window
 * @param {number} width
 */
function lane(painter, strip, tile, window, width) {
  const bin = (window.until - window.from) / window.bins;
  const most = Math.max(tile.most, 1);
  /** @type {Map<number, number>} */
  const filled = new Map();
  for (const [at, kind, count] of tile.sums) {
    const x = xOf(window.from + at * bin, width);
    const w = Math.max(1, xOf(window.from + (at + 1) * bin, width) - x);
    const h = (count / most) * (strip.height - 4);
    const below = filled.get(at) ?? 0;
    if (x + w > GUTTER && x < width) painter.rect(x, strip.top + strip.height - 2 - below - h, w, h, colour(kind));
    filled.set(at, below + h);
  }
  for (const mark of tile.marks) {
    const [at, began, kind] = mark;
    const end = xOf(at, width);
    const x = Math.min(xOf(began, width), end);
    if (end < GUTTER - 3 || x > width) continue;
    const [y, h] = box(strip, mark);
    painter.rect(x, y, Math.max(2, end - x), h, colour(kind));
  }
}

/**
 * @param {Painter} painter
 * @param {Strip} strip
 * @param {import("./answers.js").Span[]} spans
 * @param {number} width
 */
function lasting(painter, strip, spans, width) {
  /** @type {number[]} */
  const ends = [];
  for (const span of spans) {
    const x = xOf(span.from, width);
    const end = Math.max(x + 2, xOf(span.until, width));
    let row = ends.findIndex((last) => last < x);
    if (row < 0) row = ends.length;
    ends[row] = end;
    const y = strip.top + 2 + (row % Math.floor(strip.height / SPAN_ROW)) * SPAN_ROW;
    const middle = Math.min(Math.max(xOf(span.middle, width), x), end);
    painter.rect(x, y, middle - x, SPAN_ROW - 2, colour("set-up"));
    painter.rect(middle, y, Math.max(1, end - middle), SPAN_ROW - 2, colour(span.kind));
  }
}

/**
 * @param {Painter} painter
 * @param {Strip} strip
 * @param {import("./answers.js").Bucket[]} buckets
 * @param {number} width
 */
function rates(painter, strip, buckets, width) {
  const most = Math.max(1, ...buckets.map((bucket) => bucket[4]));
  /** @type {Map<string, [number, number][]>} */
  const lines = new Map();
  for (const [at, mobile, bvci, , leak] of buckets) {
    const key = `${mobile ?? "cell"} ${bvci}`;
    const points = lines.get(key) ?? [];
    const y = strip.top + strip.height - 3 - (leak / most) * (strip.height - 8);
    const last = points.at(-1);
    const x = Math.max(GUTTER, xOf(at, width));
    if (last) points.push([x, last[1]]);
    points.push([x, y]);
    lines.set(key, points);
  }
  for (const [key, points] of lines) {
    const last = points.at(-1);
    if (last) points.push([width, last[1]]);
    painter.line(points, colour(key.startsWith("cell") ? "control" : "flow-control"), 1.5);
  }
  if (buckets.length) painter.text(width - 4, strip.top + 8, `at most ${(most / 1000).toFixed(1)} kbit/s`, tone("faint"), "right", 10);
}

/**
 * Draws all.
 * @param {Painter} painter
 * @param {{strips: Strip[], height: number}} where
 * @param {Tiles | null} tiles
 * @param {{from: number, until: number, bins: number}} window
 * @param {import("./answers.js").Way | null} way
 * @param {number} width
 */
export function draw(painter, where, tiles, window, way, width) {
  where.strips.forEach((strip, number) => {
    if (number % 2 === 0) painter.rect(GUTTER, strip.top - 2, width - GUTTER, strip.height + 4, tone("stripe"));
  });
  painter.clip(GUTTER, 0, width - GUTTER, where.height, () => axis(painter, width, where.height));
  painter.clip(GUTTER, AXIS, width - GUTTER, where.height - AXIS, () => {
    if (!tiles) return;
    for (const strip of where.strips) {
      const tile = tiles.tiles.find((one) => one.lane === strip.name);
      if (tile) lane(painter, strip, tile, window, width);
      const spans = tiles.spans.filter((span) => span.strip === strip.name);
      if (spans.length) lasting(painter, strip, spans, width);
      if (strip.name === "buckets") rates(painter, strip, tiles.buckets, width);
    }
    if (way) follow(painter, where.strips, tiles, way, width);
  });
  for (const strip of where.strips) {
    painter.text(8, strip.top + strip.height / 2, strip.title, tone("ink"));
    if (strip.name.startsWith("radio")) {
      painter.text(GUTTER - 4, strip.top + 6, "TS 0", tone("faint"), "right", 9);
      painter.text(GUTTER - 4, strip.top + strip.height - 6, "7", tone("faint"), "right", 9);
    }
  }
}

/**
 * The way of a packet: a line through its stops, and a frame around its parts.
 * @param {Painter} painter
 * @param {Strip[]} strips
 * @param {Tiles} tiles
 * @param {import("./answers.js").Way} way
 * @param {number} width
 */
function follow(painter, strips, tiles, way, width) {
  const focus = tone("focus");
  const strip = (/** @type {string} */ name) => strips.find((one) => one.name === name);
  /** @type {[number, number][]} */
  const points = [];
  for (const stop of way.stops) {
    const at = strip(stop.lane);
    if (!at) continue;
    const middle = at.top + at.height / 2;
    points.push([xOf(stop.began, width), middle], [xOf(stop.at, width), middle]);
  }
  if (points.length) painter.line(points, focus, 2);
  const parts = new Set(way.parts.map(([name, row]) => `${name} ${row}`));
  parts.add(`${way.row.lane} ${way.row.row}`);
  for (const tile of tiles.tiles) {
    const at = strip(tile.lane);
    if (!at) continue;
    for (const mark of tile.marks.filter((mark) => parts.has(`${tile.lane} ${mark[5]}`))) {
      const [y, h] = box(at, mark);
      const x = xOf(mark[1], width) - 1;
      const end = Math.max(xOf(mark[0], width), x + 3) + 1;
      painter.line([[x, y - 1], [end, y - 1], [end, y + h + 1], [x, y + h + 1], [x, y - 1]], focus, 1.5);
    }
  }
}

/**
 * The mark under a point.
 * @param {{strips: Strip[]}} where
 * @param {Tiles | null} tiles
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @returns {Hit | null}
 */
export function hit(where, tiles, x, y, width) {
  const strip = where.strips.find((one) => y >= one.top && y <= one.top + one.height);
  const tile = strip && tiles?.tiles.find((one) => one.lane === strip.name);
  if (!strip || !tile) return null;
  let best = null;
  let nearest = 8;
  for (const mark of tile.marks) {
    const [top, h] = box(strip, mark);
    const end = xOf(mark[0], width);
    const start = Math.min(xOf(mark[1], width), end);
    const aside = Math.max(start - x, x - Math.max(end, start + 2), 0);
    const above = Math.max(top - y, y - top - h, 0);
    const far = aside + above;
    if (far < nearest) {
      nearest = far;
      best = { strip, mark, x: end, y: top };
    }
  }
  return best;
}

/**
 * What lasts under a point.
 * @param {{strips: Strip[]}} where
 * @param {Tiles | null} tiles
 * @param {number} x
 * @param {number} y
 * @param {number} width
 */
export function spanAt(where, tiles, x, y, width) {
  const strip = where.strips.find((one) => y >= one.top && y <= one.top + one.height);
  const spans = strip && tiles?.spans.filter((span) => span.strip === strip.name);
  return spans?.find((span) => xOf(span.from, width) <= x + 2 && xOf(span.until, width) >= x - 2) ?? null;
}
