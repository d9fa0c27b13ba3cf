// @ts-check
// Draws the same picture on a canvas or into an SVG file.

/**
 * @typedef {{rect(x: number, y: number, w: number, h: number, fill: string): void,
 *   line(points: [number, number][], stroke: string, width?: number, dash?: number[]): void,
 *   text(x: number, y: number, text: string, fill: string, align?: "left" | "right" | "center", size?: number): void,
 *   clip(x: number, y: number, w: number, h: number, draw: () => void): void}} Painter
 */

/**
 * @param {CanvasRenderingContext2D} context
 * @returns {Painter}
 */
export function onCanvas(context) {
  return {
    rect(x, y, w, h, fill) {
      context.fillStyle = fill;
      context.fillRect(x, y, w, h);
    },
    line(points, stroke, width = 1, dash = []) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.beginPath();
      points.forEach(([x, y], at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
      context.stroke();
    },
    text(x, y, text, fill, align = "left", size = 12) {
      context.fillStyle = fill;
      context.font = `${size}px system-ui, sans-serif`;
      context.textAlign = align;
      context.textBaseline = "middle";
      context.fillText(text, x, y);
    },
    clip(x, y, w, h, draw) {
      context.save();
      context.beginPath();
      context.rect(x, y, w, h);
      context.clip();
      draw();
      context.restore();
    },
  };
}

/** @param {string} text */
function escaped(text) {
  const names = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" });
  return text.replace(/[&<>"']/g, (letter) => names[letter] ?? "");
}

/**
 * A picture as SVG.
 * @param {number} width
 * @param {number} height
 * @param {string} paper
 * @param {(painter: Painter) => void} draw
 */
export function asSvg(width, height, paper, draw) {
  /** @type {string[]} */
  const parts = [];
  let clips = 0;
  const short = (/** @type {number} */ number) => Number(number.toFixed(2)).toString();
  /** @type {Painter} */
  const painter = {
    rect(x, y, w, h, fill) {
      parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="${escaped(fill)}"/>`);
    },
    line(points, stroke, lineWidth = 1, dash = []) {
      const at = points.map(([x, y]) => `${short(x)},${short(y)}`).join(" ");
      const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
      parts.push(`<polyline points="${at}" fill="none" stroke="${escaped(stroke)}" stroke-width="${lineWidth}"${dashes}/>`);
    },
    text(x, y, text, fill, align = "left", size = 12) {
      const anchor = { left: "start", right: "end", center: "middle" }[align];
      parts.push(`<text x="${short(x)}" y="${short(y)}" fill="${escaped(fill)}" text-anchor="${anchor}" dominant-baseline="middle" font-family="sans-serif" font-size="${size}">${escaped(text)}</text>`);
    },
    clip(x, y, w, h, inside) {
      clips += 1;
      parts.push(`<clipPath id="c${clips}"><rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"/></clipPath><g clip-path="url(#c${clips})">`);
      inside();
      parts.push("</g>");
    },
  };
  painter.rect(0, 0, width, height, paper);
  draw(painter);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${parts.join("\n")}</svg>\n`;
}

/** Colours that differ in lightness as well, for light and dark paper. */
const COLOURS = /** @type {Record<string, [string, string]>} */ ({
  data: ["#4c86b8", "#6cb0e6"],
  needed: ["#c2410c", "#ff9a57"],
  premature: ["#b58900", "#ffd75e"],
  repeated: ["#a3124d", "#ff7eb0"],
  polling: ["#8d6e63", "#bcaaa4"],
  "needless-again": ["#6f2da8", "#d2a8ff"],
  timeout: ["#a30000", "#ff6b6b"],
  probe: ["#8a5a00", "#f0b952"],
  report: ["#2f7d4f", "#63d38c"],
  "set-up": ["#111827", "#f3f4f6"],
  control: ["#5b6470", "#aab4c0"],
  dummy: ["#c3cad2", "#444c56"],
  access: ["#0f766e", "#4fd1c5"],
  discarded: ["#d00000", "#ff5c5c"],
  "flow-control": ["#7a5195", "#c7a0e0"],
  ciphered: ["#8a8f98", "#6b7380"],
  broken: ["#ff1744", "#ff1744"],
});

export const isDark = () => document.documentElement.dataset.theme === "dark";

/** @param {string} kind */
export function colour(kind) {
  const pair = COLOURS[kind] ?? ["#888888", "#888888"];
  return pair[isDark() ? 1 : 0];
}

/** @param {"paper" | "ink" | "faint" | "rule" | "stripe" | "focus"} name */
export function tone(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
