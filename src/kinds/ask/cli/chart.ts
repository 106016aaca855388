/**
 * Draws lines in a terminal with Braille characters. Each is a cell of two by four dots, so a chart
 * of 80 columns has 160 dots across.
 */
import type { Paint } from "../../../ground/command/index.ts";
import { pad, truncate } from "../../../ground/command/index.ts";

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [timeMs: number, value: number])[];
}

const rows = 10;
const linesMax = 6;
const brailleStart = 0x2800;
/** The dots of a cell, by column and row from the top. */
const dots = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;

/** Returns an empty result when nothing can be drawn. */
export function drawChart(lines: readonly Line[], columns: number, paint: Paint): string {
  const drawn = lines.slice(0, linesMax);
  const bounds = boundsOf(drawn);
  if (bounds === undefined) return "";
  const axisWidth = Math.max(axisText(bounds.max).length, axisText(bounds.min).length);
  const width = Math.max(10, Math.min(columns, 120) - axisWidth - 2);
  const canvas = new Canvas(width);
  for (const [index, line] of drawn.entries()) canvas.draw(line, bounds, index);
  const colours = [paint.cyan, paint.green, paint.yellow, paint.red, paint.bold, paint.dim];
  let text = "";
  for (let row = 0; row < rows; row += 1) {
    const label = row === 0 ? axisText(bounds.max) : row === rows - 1 ? axisText(bounds.min) : "";
    text += `${paint.dim(`${pad(label, axisWidth, "right")} ┤`)}${canvas.row(row, colours)}\n`;
  }
  const [from, to] = [timeText(bounds.startMs), timeText(bounds.endMs)];
  const gap = Math.max(1, width - from.length - to.length);
  text += paint.dim(`${" ".repeat(axisWidth + 2)}${from}${" ".repeat(gap)}${to}\n`);
  if (lines.length > 1) {
    for (const [index, { name }] of drawn.entries()) {
      text += `  ${(colours[index] ?? paint.dim)("──")} ${truncate(name, Math.max(20, columns - 6))}\n`;
    }
    const hidden = lines.length - drawn.length;
    if (hidden > 0) text += paint.dim(`  and ${hidden} more, in the table only\n`);
  }
  return `${text}\n`;
}

interface Bounds {
  readonly startMs: number;
  readonly endMs: number;
  readonly min: number;
  readonly max: number;
}

function boundsOf(lines: readonly Line[]): Bounds | undefined {
  let startMs = Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const { points } of lines) {
    for (const [timeMs, value] of points) {
      if (!Number.isFinite(value)) continue;
      startMs = Math.min(startMs, timeMs);
      endMs = Math.max(endMs, timeMs);
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  }
  if (endMs <= startMs) return undefined;
  return max === min
    ? { startMs, endMs, min: min - 1, max: max + 1 }
    : { startMs, endMs, min, max };
}

class Canvas {
  readonly #width: number;
  readonly #cells: Uint8Array;
  /** The line that drew last in each cell, which gives the cell its colour. */
  readonly #owners: Uint8Array;

  constructor(width: number) {
    this.#width = width;
    this.#cells = new Uint8Array(width * rows);
    this.#owners = new Uint8Array(width * rows);
  }

  draw({ points }: Line, { startMs, endMs, min, max }: Bounds, owner: number): void {
    let before: readonly [x: number, y: number] | undefined;
    for (const [timeMs, value] of points) {
      if (!Number.isFinite(value)) {
        before = undefined;
        continue;
      }
      const x = Math.round(((timeMs - startMs) / (endMs - startMs)) * (this.#width * 2 - 1));
      const y = Math.round((1 - (value - min) / (max - min)) * (rows * 4 - 1));
      this.#line(before ?? [x, y], [x, y], owner);
      before = [x, y];
    }
  }

  #line(from: readonly [number, number], to: readonly [number, number], owner: number): void {
    const length = Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]), 1);
    for (let step = 0; step <= length; step += 1) {
      const x = Math.round(from[0] + ((to[0] - from[0]) * step) / length);
      const y = Math.round(from[1] + ((to[1] - from[1]) * step) / length);
      const cell = Math.floor(y / 4) * this.#width + Math.floor(x / 2);
      const bit = dots[x % 2 === 0 ? 0 : 1][(y % 4) as 0 | 1 | 2 | 3];
      this.#cells[cell] = (this.#cells[cell] ?? 0) | bit;
      this.#owners[cell] = owner;
    }
  }

  row(row: number, colours: readonly ((text: string) => string)[]): string {
    let text = "";
    for (let column = 0; column < this.#width; column += 1) {
      const cell = row * this.#width + column;
      const bits = this.#cells[cell] ?? 0;
      const colour = colours[this.#owners[cell] ?? 0];
      const char = bits === 0 ? " " : String.fromCharCode(brailleStart + bits);
      text += bits === 0 || colour === undefined ? char : colour(char);
    }
    return text;
  }
}

function axisText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(1);
  return String(Number(value.toPrecision(4)));
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19).replace("T", " ");
}
