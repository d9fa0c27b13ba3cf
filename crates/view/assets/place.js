// @ts-check
// Where the page is: window of time, mobile, chosen row, connection, theme. All of it stands in the address.

/**
 * @typedef {{from: number, until: number, mobile: number | null, lane: number | null, row: number | null, connection: number | null,
 *   place: number | null, forward: boolean, panel: string, theme: string}} Place
 */

/** The shortest window, in nanoseconds. */
const SHORTEST = 1000;

/** @type {Place} */
export const place = {
  from: 0, until: 1, mobile: null, lane: null, row: null, connection: null, place: null, forward: true,
  panel: "findings", theme: "",
};

const NUMBERS = /** @type {const} */ (["from", "until", "mobile", "lane", "row", "connection", "place"]);

/**
 * Takes the place out of the address.
 * @param {number} length of the captures
 */
export function restore(length) {
  const query = new URLSearchParams(location.hash.slice(1));
  place.from = 0;
  place.until = Math.max(length, 1);
  for (const name of NUMBERS) {
    const value = query.get(name);
    const number = value === null || value === "" ? null : Number(value);
    if (name === "from" || name === "until") {
      if (number !== null && Number.isFinite(number) && number >= 0) place[name] = Math.round(number);
    } else {
      place[name] = number !== null && Number.isInteger(number) && number >= 0 ? number : null;
    }
  }
  place.forward = query.get("forward") !== "0";
  place.panel = query.get("panel") ?? "findings";
  place.theme = query.get("theme") ?? "";
  if (!(place.until > place.from)) {
    place.from = 0;
    place.until = Math.max(length, 1);
  }
}

/** Writes the place into the address. */
export function keep() {
  const query = new URLSearchParams();
  for (const name of NUMBERS) {
    const value = place[name];
    if (value !== null) query.set(name, String(Math.round(value)));
  }
  if (!place.forward) query.set("forward", "0");
  if (place.panel !== "findings") query.set("panel", place.panel);
  if (place.theme) query.set("theme", place.theme);
  history.replaceState(null, "", `#${query}`);
}

/**
 * Shows another window. It stays within the captures, with a margin.
 * @param {number} from
 * @param {number} until
 * @param {number} length
 */
export function show(from, until, length) {
  let width = Math.max(until - from, SHORTEST);
  width = Math.min(width, Math.max(length * 1.1, SHORTEST));
  const middle = (from + until) / 2;
  const start = Math.min(Math.max(middle - width / 2, -width / 2), length - width / 2);
  place.from = Math.max(0, Math.round(start));
  place.until = Math.round(place.from + width);
}

/**
 * Enlarges or shrinks the window around a time.
 * @param {number} factor
 * @param {number} at
 * @param {number} length
 */
export function zoom(factor, at, length) {
  const width = place.until - place.from;
  const next = Math.max(width * factor, SHORTEST);
  const part = (at - place.from) / width;
  show(at - next * part, at + next * (1 - part), length);
}

/**
 * A time in words.
 * @param {number} ns
 * @param {number} width the window, which says how fine
 */
export function time(ns, width) {
  const seconds = ns / 1e9;
  if (width >= 2e10) return `${seconds.toFixed(0)} s`;
  if (width >= 2e9) return `${seconds.toFixed(1)} s`;
  if (width >= 2e7) return `${seconds.toFixed(3)} s`;
  return `${seconds.toFixed(6)} s`;
}
