/** Charts as SVG, with classes for the page's colours, so that they follow light and dark. */
import { linearTicks, logTicks } from "./chart-scale.ts";
import { html, type Markup } from "./markup.ts";

const width = 540;
const height = 200;
const left = 56;
const right = width - 12;
const top = 10;
const bottom = height - 26;

export interface Line {
  readonly name: string;
  /** `c1` to `c4`, `bad`. */
  readonly color: string;
  /** Null leaves a gap. */
  readonly values: readonly (number | null)[];
  readonly isFilled?: boolean;
}

export interface LineChart {
  readonly label: string;
  /** Seconds, one for each value. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** For values whose peak would flatten all others. */
  readonly isLogarithmic?: boolean;
  /** The end of the warm-up, which is shaded. */
  readonly warmupEnd: number;
  /** A line across, with its name. */
  readonly mark?: { readonly value: number; readonly name: string } | undefined;
}

export function lineChart(chart: LineChart): Markup {
  const { times, lines, format } = chart;
  const end = times.at(-1) ?? 1;
  const known = lines.flatMap(({ values }) => values.flatMap((value) => value ?? []));
  const { ticks, share, most } = valueScale(known, chart.isLogarithmic ?? false);
  const x = (time: number): number => left + (time / end) * (right - left);
  const y = (value: number): number => bottom - share(value) * (bottom - top);
  const points = (values: readonly (number | null)[]): readonly (readonly [number, number])[][] => {
    const runs: [number, number][][] = [[]];
    for (const [at, value] of values.entries()) {
      if (value === null) runs.push([]);
      else runs.at(-1)?.push([x(times[at] ?? 0), y(value)]);
    }
    return runs.filter((run) => run.length > 0);
  };
  const mark = chart.mark !== undefined && chart.mark.value <= most ? chart.mark : undefined;
  return html`${legend(lines)}<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${chart.label}">
${warmup(x(chart.warmupEnd))}${ticks.map(
  (tick) =>
    html`<line class="grid" x1="${left}" x2="${right}" y1="${y(tick)}" y2="${y(tick)}"/><text class="tick end" x="${left - 6}" y="${y(tick) + 3.5}">${format(tick)}</text>`,
)}${timeAxis(end, x)}
${lines.flatMap(({ color, values, isFilled = false }) =>
  points(values).map((run) => {
    const path = `M${run.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L")}`;
    const [first, last] = [run[0]?.[0] ?? 0, run.at(-1)?.[0] ?? 0];
    const area = html`<path class="area ${color}" d="${path}L${last.toFixed(1)} ${bottom}L${first.toFixed(1)} ${bottom}Z"/>`;
    return html`${isFilled ? area : ""}<path class="line ${color}" d="${path}"/>`;
  }),
)}${mark === undefined ? "" : html`<line class="mark" x1="${left}" x2="${right}" y1="${y(mark.value)}" y2="${y(mark.value)}"/><text class="tick end" x="${right - 4}" y="${y(mark.value) - 4}">${mark.name}</text>`}
${hovers(chart, x)}</svg>`;
}

interface ValueScale {
  readonly ticks: readonly number[];
  readonly most: number;
  /** How high a value is, from 0 to 1. */
  readonly share: (value: number) => number;
}

function valueScale(values: readonly number[], isLogarithmic: boolean): ValueScale {
  const greatest = values.reduce((most, value) => Math.max(most, value), 0);
  const least = values.reduce((low, value) => Math.min(low, value), Infinity);
  if (!isLogarithmic || !(least > 0) || values.length === 0) {
    const ticks = linearTicks(greatest);
    const most = ticks.at(-1) ?? 1;
    return { ticks, most, share: (value) => value / most };
  }
  const [low, most] = [least / 1.5, greatest * 1.2];
  const span = Math.log(most / low);
  return {
    ticks: logTicks(low, most),
    most,
    share: (value) => Math.max(0, Math.log(value / low) / span),
  };
}

/** The tooltips of the moments. */
function hovers({ times, lines, format }: LineChart, x: (time: number) => number): Markup[] {
  const half = (right - left) / Math.max(1, times.length) / 2;
  return times.map((time, at) => {
    const told = lines.map(({ name, values }) => {
      const value = values[at] ?? null;
      return `${name} ${value === null ? "–" : format(value)}`;
    });
    return html`<rect class="hover" x="${x(time) - half}" y="${top}" width="${half * 2}" height="${bottom - top}"><title>${Math.round(time)} s: ${told.join(", ")}</title></rect>`;
  });
}

function legend(lines: readonly Line[]): Markup | "" {
  if (lines.length < 2) return "";
  return html`<p class="legend">${lines.map(
    ({ name, color }) => html`<span><i class="${color}"></i>${name}</span>`,
  )}</p>`;
}

function warmup(until: number): Markup | "" {
  if (until <= left) return "";
  return html`<rect class="warmup" x="${left}" y="${top}" width="${until - left}" height="${bottom - top}"/><text class="tick" x="${left + 4}" y="${top + 11}">warm-up</text>`;
}

function timeAxis(end: number, x: (time: number) => number): Markup[] {
  return linearTicks(end, 5)
    .filter((tick) => tick <= end)
    .map(
      (tick) => html`<text class="tick middle" x="${x(tick)}" y="${bottom + 17}">${tick} s</text>`,
    );
}

export interface Bar {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** Bars over a logarithmic axis, and lines at named values. */
export function histogramChart(
  label: string,
  bars: readonly Bar[],
  marks: readonly { readonly name: string; readonly value: number }[],
  format: (value: number) => string,
): Markup {
  const [low, high] = [bars[0]?.low ?? 1, bars.at(-1)?.high ?? 10];
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const x = logScale(low, high);
  const y = (count: number): number => bottom - (count / most) * (bottom - top - 18);
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
<line class="grid" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>
${bars
  .filter(({ count }) => count > 0)
  .map(
    (bar) =>
      html`<rect class="bar" x="${x(bar.low)}" y="${y(bar.count)}" width="${Math.max(0.5, x(bar.high) - x(bar.low) - 1)}" height="${bottom - y(bar.count)}"><title>${format(bar.low)} to ${format(bar.high)}: ${bar.count} (${((bar.count / total) * 100).toFixed(2)} %)</title></rect>`,
  )}
${logTicks(low, high).map((tick) => html`<text class="tick middle" x="${x(tick)}" y="${bottom + 17}">${format(tick)}</text>`)}
${marks.map(
  ({ name, value }, at) =>
    html`<line class="mark" x1="${x(value)}" x2="${x(value)}" y1="${top + 8}" y2="${bottom}"/><text class="tick ${at === marks.length - 1 ? "end" : ""}" x="${x(value) + (at === marks.length - 1 ? -3 : 3)}" y="${top + 4 + (at % 2) * 11}">${name}</text>`,
)}</svg>`;
}

export interface HeatMap {
  readonly times: readonly number[];
  /** The edges of the rows, ascending: one more than rows. */
  readonly edges: readonly number[];
  /** Counts by time, then by row. */
  readonly counts: readonly (readonly number[])[];
}

const shades = 9;

/**
 * Darker means more, on a logarithmic scale, so that a few slow operations show beside many fast
 * ones.
 */
export function heatMapChart(
  label: string,
  { times, edges, counts }: HeatMap,
  format: (value: number) => string,
): Markup {
  const [low, high] = [edges[0] ?? 1, edges.at(-1) ?? 10];
  const scale = logScale(low, high);
  const y = (value: number): number =>
    bottom - ((scale(value) - left) / (right - left)) * (bottom - top);
  const end = times.at(-1) ?? 1;
  const x = (at: number): number => left + (at / Math.max(1, times.length)) * (right - left);
  const most = Math.max(1, ...counts.flat());
  const paths: string[] = Array.from({ length: shades }, () => "");
  for (const [at, rows] of counts.entries()) {
    for (const [row, count] of rows.entries()) {
      if (count === 0) continue;
      const shade = Math.min(
        shades - 1,
        Math.floor((Math.log1p(count) / Math.log1p(most)) * shades),
      );
      const [from, to] = [y(edges[row] ?? low), y(edges[row + 1] ?? high)];
      const wide = (x(at + 1) - x(at) + 0.3).toFixed(1);
      paths[shade] +=
        `M${x(at).toFixed(1)} ${to.toFixed(1)}h${wide}v${(from - to + 0.3).toFixed(1)}h-${wide}z`;
    }
  }
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
<rect class="heat-ground" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/>
${paths.map((path, shade) => (path === "" ? "" : html`<path class="heat" fill-opacity="${((shade + 1.5) / (shades + 0.5)).toFixed(2)}" d="${path}"/>`))}
${logTicks(low, high).map((tick) => html`<text class="tick end" x="${left - 6}" y="${y(tick) + 3.5}">${format(tick)}</text>`)}
${timeAxis(end, (time) => left + (time / end) * (right - left))}</svg>`;
}

function logScale(low: number, high: number): (value: number) => number {
  const [from, to] = [Math.log(low), Math.log(Math.max(high, low * 1.01))];
  return (value) => left + ((Math.log(Math.max(value, low)) - from) / (to - from)) * (right - left);
}
