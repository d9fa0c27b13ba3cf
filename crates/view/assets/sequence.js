// @ts-check
// Octets of a connection over time, in tcptrace's manner.

import { colour, tone } from "./painter.js";
import { place } from "./place.js";
import { GUTTER, xOf } from "./lanes.js";

/** @typedef {import("./answers.js").Sequence} Sequence */

/**
 * @param {Sequence} sequence
 * @returns {[number, number]}
 */
function bounds(sequence) {
  let low = Infinity;
  let high = 0;
  for (const [at, from, to] of sequence.sent) {
    if (at < place.from || at > place.until) continue;
    low = Math.min(low, from);
    high = Math.max(high, to);
  }
  for (const [at, number] of sequence.acknowledged) {
    if (at < place.from || at > place.until) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  if (low >= high) return [0, 1];
  return [low, high + (high - low) * 0.05];
}

/**
 * @param {import("./painter.js").Painter} painter
 * @param {Sequence | null} sequence
 * @param {number} width
 * @param {number} height
 */
export function drawSequence(painter, sequence, width, height) {
  if (!sequence) {
    painter.text(GUTTER, height / 2, "No connection of TCP is chosen, or it has no data here.", tone("faint"));
    return;
  }
  const [low, high] = bounds(sequence);
  const y = (/** @type {number} */ octet) => height - 8 - ((octet - low) / (high - low)) * (height - 16);
  for (let part = 0; part <= 4; part += 1) {
    const octet = low + ((high - low) * part) / 4;
    painter.line([[GUTTER, y(octet)], [width, y(octet)]], tone("rule"));
    painter.text(GUTTER - 6, y(octet), `${(octet / 1000).toFixed(1)} kB`, tone("faint"), "right", 11);
  }
  painter.clip(GUTTER, 0, width - GUTTER, height, () => {
    steps(painter, sequence.acknowledged.map(([at, number]) => [xOf(at, width), y(number)]), colour("report"));
    steps(painter, sequence.acknowledged.map(([at, , limit]) => [xOf(at, width), y(limit)]), colour("control"));
    for (const [at, from, to] of sequence.selective) {
      const x = xOf(at, width);
      painter.line([[x, y(from)], [x, y(to)]], colour("repeated"), 2);
    }
    for (const [at, from, to, kind] of sequence.sent) {
      const x = xOf(at, width);
      if (x < GUTTER || x > width) continue;
      painter.rect(x - 1, y(to), kind === "data" ? 2 : 4, Math.max(2, y(from) - y(to)), colour(kind));
    }
  });
}

/**
 * @param {import("./painter.js").Painter} painter
 * @param {[number, number][]} points
 * @param {string} stroke
 */
function steps(painter, points, stroke) {
  /** @type {[number, number][]} */
  const line = [];
  for (const [x, y] of points) {
    const last = line.at(-1);
    if (last) line.push([x, last[1]]);
    line.push([x, y]);
  }
  if (line.length > 1) painter.line(line, stroke, 1.2);
}
