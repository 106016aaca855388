/**
 * Overlays runs: their seconds on one time axis, their distributions on one percentile axis. Pure.
 */

export interface Series {
  readonly x: readonly number[];
  readonly values: readonly (number | null)[];
}

export interface Overlay {
  readonly x: readonly number[];
  readonly columns: readonly (readonly (number | null)[])[];
}

const pointsMax = 600;
/** Samples are not aligned to whole seconds: one may fall between two of them. */
const gapMax = 2;

/** Merges seconds until `pointsMax` remain. Gaps of up to `gapMax` seconds are bridged. */
export function overlaySeries(series: readonly Series[]): Overlay {
  const end = Math.max(0, ...series.map(({ x }) => x.at(-1) ?? 0));
  const width = Math.max(1, Math.ceil(end / pointsMax));
  const length = Math.floor(end / width) + 1;
  return {
    x: Array.from({ length }, (_, at) => at * width),
    columns: series.map((each) => bridged(averages(each, width, length))),
  };
}

function averages({ x, values }: Series, width: number, length: number): (number | null)[] {
  const sums = new Array<number>(length).fill(0);
  const counts = new Array<number>(length).fill(0);
  for (const [at, seconds] of x.entries()) {
    const value = values[at] ?? null;
    const place = Math.floor(seconds / width);
    if (value === null || place < 0 || place >= length) continue;
    sums[place] = (sums[place] ?? 0) + value;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return sums.map((sum, at) => ((counts[at] ?? 0) === 0 ? null : sum / (counts[at] ?? 1)));
}

function bridged(values: readonly (number | null)[]): readonly (number | null)[] {
  const out = [...values];
  for (let at = 1; at < out.length; at += 1) {
    if (out[at] !== null) continue;
    const next = out.slice(at, at + gapMax + 1).some((value) => value !== null);
    if (next) out[at] = out[at - 1] ?? null;
  }
  return out;
}

export interface Distribution {
  readonly total: number;
  /** Sorted by share. */
  readonly points: readonly { readonly share: number; readonly ms: number }[];
}

/** Parses HdrHistogram's text format. */
export function parseHgrm(text: string): Distribution {
  let total = 0;
  const points: { share: number; ms: number }[] = [];
  for (const line of text.split("\n")) {
    const [ms, share, count] = line.trim().split(/\s+/).map(Number);
    if (ms === undefined || share === undefined || count === undefined) continue;
    if (![ms, share, count].every(Number.isFinite)) continue;
    points.push({ share, ms });
    total = Math.max(total, count);
  }
  return { total, points };
}

const stepsPerNine = 20;

/**
 * The x axis is 1 / (1 - share), so that each further nine has the same width. A run has no values
 * beyond the resolution of its count.
 */
export function overlayDistributions(distributions: readonly Distribution[]): Overlay {
  const most = Math.max(1, ...distributions.map(({ total }) => total));
  const length = Math.floor(Math.log10(most) * stepsPerNine) + 1;
  const x = Array.from({ length }, (_, at) => 10 ** (at / stepsPerNine));
  return {
    x,
    columns: distributions.map(({ total, points }) =>
      x.map((each) => {
        if (each > Math.max(1, total)) return null;
        const share = 1 - 1 / each;
        return points.find((point) => point.share >= share - 1e-12)?.ms ?? null;
      }),
    ),
  };
}

/** Returns `p99.9` for 1,000. */
export function percentileName(oneIn: number): string {
  const percent = (1 - 1 / oneIn) * 100;
  const digits = Math.max(0, Math.ceil(Math.log10(oneIn)) - 2) + (isDecade(oneIn) ? 0 : 1);
  return `p${percent.toFixed(digits)}`;
}

/** Only whole nines have a label. */
export function percentileTick(oneIn: number): string {
  return isDecade(oneIn) ? percentileName(oneIn) : "";
}

function isDecade(value: number): boolean {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-9;
}
