/** Records by start time and latency, as latency bars and as colours of a heat map. Pure. */
import type { HeatCell, HeatMap } from "../../../api/gen/types.ts";

/**
 * Shifts the times to those of the run's other charts, which begin with the load, including the
 * warm-up.
 */
export function sinceLoad(map: HeatMap, loadStartMs: number | undefined): HeatMap {
  if (map.start_ms === null || loadStartMs === undefined) return map;
  const shift = Math.max(0, (map.start_ms - loadStartMs) / 1000);
  const cells = map.cells.map((cell) => ({ ...cell, at_seconds: cell.at_seconds + shift }));
  return { ...map, cells };
}

export interface Bar {
  readonly lowMs: number;
  readonly highMs: number;
  readonly count: number;
}

/** The number of records by latency, over the whole run, including empty bars between others. */
export function barsOf({ cells }: HeatMap): readonly Bar[] {
  const counts = new Map<number, number>();
  for (const cell of cells) {
    const place = placeOf(cell);
    counts.set(place, (counts.get(place) ?? 0) + cell.count);
  }
  if (counts.size === 0) return [];
  const places = [...counts.keys()];
  const first = Math.min(...places);
  return Array.from({ length: Math.max(...places) - first + 1 }, (_, at) => ({
    lowMs: 2 ** ((first + at) / 4),
    highMs: 2 ** ((first + at + 1) / 4),
    count: counts.get(first + at) ?? 0,
  }));
}

/** Bounds are a quarter of an octave apart. */
function placeOf({ low_ms: lowMs }: HeatCell): number {
  return Math.round(4 * Math.log2(lowMs));
}

export interface HeatExtent {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly lowMs: number;
  readonly highMs: number;
  readonly countMax: number;
}

/** Undefined when there is nothing to draw. */
export function extentOf({ cells, bucket_seconds: width }: HeatMap): HeatExtent | undefined {
  if (cells.length === 0) return undefined;
  const extent = { startSeconds: Infinity, endSeconds: 0, lowMs: Infinity, highMs: 0, countMax: 0 };
  for (const cell of cells) {
    extent.startSeconds = Math.min(extent.startSeconds, cell.at_seconds);
    extent.endSeconds = Math.max(extent.endSeconds, cell.at_seconds + width);
    extent.lowMs = Math.min(extent.lowMs, cell.low_ms);
    extent.highMs = Math.max(extent.highMs, cell.high_ms);
    extent.countMax = Math.max(extent.countMax, cell.count);
  }
  return extent;
}

export function cellAt(
  { cells, bucket_seconds: width }: HeatMap,
  seconds: number,
  ms: number,
): HeatCell | undefined {
  return cells.find(
    (cell) =>
      seconds >= cell.at_seconds &&
      seconds < cell.at_seconds + width &&
      ms >= cell.low_ms &&
      ms < cell.high_ms,
  );
}

type Colour = readonly [red: number, green: number, blue: number];

/**
 * From the background towards its opposite. Lightness alone shows the count, so the map needs no
 * hue; a single record is a few shades from the background.
 */
const ramps: Readonly<Record<"light" | "dark", readonly Colour[]>> = {
  light: [
    [205, 232, 236],
    [111, 188, 202],
    [17, 138, 157],
    [8, 88, 110],
    [10, 38, 62],
  ],
  dark: [
    [24, 62, 74],
    [14, 104, 122],
    [46, 158, 170],
    [148, 214, 196],
    [250, 247, 200],
  ],
};

/** Logarithmic, so that a few slow records among thousands of fast ones are visible. */
export function heatColour(count: number, countMax: number, scheme: "light" | "dark"): string {
  const share = countMax <= 1 ? 1 : Math.log(Math.max(1, count)) / Math.log(countMax);
  return rampColour(share, scheme);
}

export function rampColour(share: number, scheme: "light" | "dark"): string {
  const ramp = ramps[scheme];
  const place = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const at = Math.min(ramp.length - 2, Math.floor(place));
  const [from, to] = [ramp[at], ramp[at + 1]];
  if (from === undefined || to === undefined) return "transparent";
  const mixed = from.map((each, index) =>
    Math.round(each + ((to[index] ?? each) - each) * (place - at)),
  );
  return `rgb(${mixed.join(" ")})`;
}
