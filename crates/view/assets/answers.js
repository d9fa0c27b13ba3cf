// @ts-check
// What the server answers. All times are nanoseconds since the start of the captures.

/**
 * @typedef {{name: string, title: string, rows: number}} LaneAbout
 * @typedef {{name: string, word: string}} KindAbout
 * @typedef {{index: number, name: string, names: string[]}} Mobile
 * @typedef {{connection: number, place: number, at: string, from: number, until: number, ends: [string, string], octets: [number, number]}} Connection
 * @typedef {{kind: string, of: string, text: string, numbers: [string, number][], proofs: [number, number][]}} Finding
 * @typedef {{files: string[], start_ns: string, length: number, rows: number, lanes: LaneAbout[], kinds: KindAbout[], places: string[],
 *   mobiles: Mobile[], mobiles_in_all: number, connections: Connection[], connections_in_all: number, findings: Finding[],
 *   damages: string[], is_live: boolean, strips: string[]}} About
 * @typedef {{index: number, name: string, down_bits_per_s: number, up_bits_per_s: number, bucket: [number, number] | null}} MobileNow
 * @typedef {{generation: number, ended: string | null, mobiles: MobileNow[]}} Pulse
 * @typedef {[at: number, began: number, kind: string, way: number, height: number, row: number]} Mark
 * @typedef {{lane: string, rows: number, marks: Mark[], sums: [bin: number, kind: string, count: number][], most: number}} Tile
 * @typedef {{strip: string, from: number, middle: number, until: number, kind: string, text: string, proof: [number, number]}} Span
 * @typedef {[at: number, mobile: number | null, bvci: number, bmax: number, leak: number]} Bucket
 * @typedef {{tiles: Tile[], spans: Span[], buckets: Bucket[]}} Tiles
 * @typedef {{lane: string, row: number, place: string, began: number, at: number, proof: [number, number], first: number, text: string,
 *   within_ns: number, after_ns: number | null}} Stop
 * @typedef {{row: Stop, stops: Stop[], parts: [string, number][]}} Way
 * @typedef {{lane: string, row: number, at: number, text: string}} FoundRow
 * @typedef {{mobiles: Mobile[], rows: FoundRow[], has_more: boolean}} Found
 * @typedef {{is_exact: boolean, sent: [number, number, number, string, number, number][], acknowledged: [number, number, number][],
 *   selective: [number, number, number][]}} Sequence
 * @typedef {{lane: string, lane_index: number, row: number, at: number, mobile: string | null, place: string, proof: [number, number],
 *   kind: string, text: string}} TableRow
 */

/**
 * Asks the server.
 * @param {string} what
 * @param {Record<string, string | number | boolean | null>} [how]
 * @returns {Promise<any>}
 */
export async function ask(what, how = {}) {
  const response = await fetch(address(what, how));
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${what}: ${response.status} ${await response.text()}`);
  return response.json();
}

/**
 * @param {string} what
 * @param {Record<string, string | number | boolean | null>} how
 */
export function address(what, how) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(how)) if (value !== null) query.set(name, String(value));
  return `api/${what}?${query}`;
}
