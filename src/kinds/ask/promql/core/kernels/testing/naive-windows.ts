/**
 * A slow reference for the kernels: collects every window's points and applies the definition of
 * each function to them, with nothing carried over between windows. For tests.
 */
import {
  annotate,
  counterResetCollision,
  histogramIgnoredInMixedRange,
  invalidQuantile,
  mismatchedCustomBuckets,
  mixedExponentialCustomHistograms,
  mixedFloatsHistograms,
  type Note,
  nativeHistogramNotCounter,
  nativeHistogramNotGauge,
  possibleNonCounter,
  startTimeOverlap,
} from "../../annotations.ts";
import { HistogramAccumulator } from "../../histogram/accumulator.ts";
import { addHistograms, subHistograms } from "../../histogram/combine.ts";
import { detectReset } from "../../histogram/detect-reset.ts";
import { equalsHistogram } from "../../histogram/equality.ts";
import { customBucketsSchema, type FloatHistogram } from "../../histogram/float-histogram.ts";
import {
  compactHistogram,
  copyToSchema,
  divideHistogram,
  scaleHistogram,
} from "../../histogram/scale.ts";
import type { AnnotationSink, SampleColumns } from "../../model.ts";
import { stepCount } from "../../model.ts";
import type { WindowSpec } from "../types.ts";

export type Value = number | FloatHistogram | undefined;

interface Point {
  readonly t: number;
  readonly v: number;
  readonly h: FloatHistogram | undefined;
  readonly st: number;
}

interface Window {
  /** Includes the points that `bounds` reaches, in order of time. */
  readonly points: readonly Point[];
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly args: readonly number[];
  readonly spec: WindowSpec;
  readonly name: string;
  note(note: Note): void;
}

export function naiveWindows(
  fn: string,
  samples: SampleColumns,
  spec: WindowSpec,
  args: readonly Float64Array[],
  metricName: string,
  annotations: AnnotationSink,
): Value[] {
  const values: Value[] = [];
  const counters = ["rate", "increase", "irate", "resets"];
  for (let step = 0; step < stepCount(spec.grid); step += 1) {
    const stepMs = spec.grid.startMs + step * spec.grid.stepMs;
    const endMs = (spec.fixed ? spec.grid.startMs : stepMs) - spec.offsetMs;
    const startMs = endMs - spec.rangeMs;
    const from = spec.bounds === undefined ? startMs : startMs - spec.lookbackMs;
    const to = spec.bounds === "smoothed" ? endMs + spec.lookbackMs : endMs;
    const points = pointsWithin(samples, from, to, spec.useStartTs && counters.includes(fn));
    if (points.length === 0) {
      values.push(undefined);
      continue;
    }
    const note = (each: Note) => annotate(annotations, each, 0);
    const at = args.map((arg) => (arg.length === 1 ? arg[0] : arg[step]) as number);
    const window = { points, startMs, endMs, stepMs, args: at, spec, name: metricName, note };
    values.push((functions[fn] as (window: Window) => Value)(window));
  }
  const isCounter = fn === "rate" || fn === "increase";
  const plain = /_(total|sum|count|bucket)$/.test(metricName);
  if (isCounter && !plain && metricName !== "" && values.some((v) => typeof v === "number")) {
    annotate(annotations, possibleNonCounter(metricName), 0);
  }
  return values;
}

function pointsWithin(
  samples: SampleColumns,
  from: number,
  to: number,
  withStarts: boolean,
): Point[] {
  const points: Point[] = [];
  for (let index = 0; index < samples.count; index += 1) {
    const t = samples.ts[index] as number;
    if (t <= from || t > to || samples.stale?.[index] === 1) continue;
    points.push({
      t,
      v: samples.values[index] as number,
      h: samples.histograms?.[index],
      st: withStarts ? (samples.startTs?.[index] ?? 0) : 0,
    });
  }
  return points;
}

const floats = (points: readonly Point[]) => points.filter(({ h }) => h === undefined);
const histograms = (points: readonly Point[]) =>
  points.filter((p): p is Point & { h: FloatHistogram } => p.h !== undefined);
const first = (points: readonly Point[]) => points[0] as Point;
const last = (points: readonly Point[]) => points[points.length - 1] as Point;

/** A compensated sum whose two parts are accessible. */
class Kahan {
  sum = 0;
  lost = 0;
  constructor(sum = 0, lost = 0) {
    this.sum = sum;
    this.lost = lost;
  }
  plus(value: number): Kahan {
    const total = this.sum + value;
    if (total === Infinity || total === -Infinity) return new Kahan(total, 0);
    const part =
      Math.abs(this.sum) >= Math.abs(value) ? this.sum - total + value : value - total + this.sum;
    return new Kahan(total, this.lost + part);
  }
}

/** A function of floats; histograms beside them are ignored. */
const ofFloats =
  (least: number, body: (values: number[], window: Window) => number) =>
  (window: Window): Value => {
    const points = floats(window.points);
    if (points.length === 0) return undefined;
    if (histograms(window.points).length > 0) {
      window.note(histogramIgnoredInMixedRange(window.name));
    }
    if (points.length < least) return undefined;
    return body(
      points.map(({ v }) => v),
      { ...window, points },
    );
  };

function bestIndex(values: number[], isBetter: (value: number, best: number) => boolean): number {
  let best = 0;
  values.forEach((value, index) => {
    if (isBetter(value, values[best] as number) || Number.isNaN(values[best])) best = index;
  });
  return best;
}

const pick = (isBetter: (value: number, best: number) => boolean) =>
  ofFloats(1, (values) => values[bestIndex(values, isBetter)] as number);
const pickTime = (isBetter: (value: number, best: number) => boolean) =>
  ofFloats(1, (values, { points }) => (points[bestIndex(values, isBetter)] as Point).t / 1000);

function quantile(q: number, values: number[]): number {
  if (Number.isNaN(q)) return Number.NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  const sorted = values.toSorted((a, b) =>
    Number.isNaN(a) ? (Number.isNaN(b) ? 0 : -1) : Number.isNaN(b) ? 1 : a < b ? -1 : a > b ? 1 : 0,
  );
  const rank = q * (sorted.length - 1);
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(sorted.length - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  return (sorted[lower] as number) * (1 - weight) + (sorted[upper] as number) * weight;
}

function variance(values: number[]): number {
  let mean = new Kahan();
  let squares = new Kahan();
  values.forEach((value, index) => {
    const delta = value - (mean.sum + mean.lost);
    mean = mean.plus(delta / (index + 1));
    squares = squares.plus(delta * (value - (mean.sum + mean.lost)));
  });
  return (squares.sum + squares.lost) / values.length;
}

function mean(values: number[]): number {
  let sum = new Kahan(values[0]);
  let running: Kahan | undefined;
  for (let index = 1; index < values.length; index += 1) {
    const value = values[index] as number;
    const count = index + 1;
    if (running === undefined) {
      const next = sum.plus(value);
      if (Math.abs(next.sum) !== Infinity) {
        sum = next;
        continue;
      }
      running = new Kahan(sum.sum / index, sum.lost / index);
    }
    const share = (count - 1) / count;
    running = new Kahan(share * running.sum, share * running.lost).plus(value / count);
  }
  if (running !== undefined) return running.sum + running.lost;
  return sum.sum / values.length + sum.lost / values.length;
}

function line(points: readonly Point[], zeroMs: number): { slope: number; intercept: number } {
  const initial = first(points).v;
  if (points.every(({ v }, index) => index === 0 || v === initial)) {
    return Math.abs(initial) === Infinity
      ? { slope: Number.NaN, intercept: Number.NaN }
      : { slope: 0, intercept: initial };
  }
  const total = (of: (x: number, y: number) => number): number => {
    const sum = points.reduce((s, { t, v }) => s.plus(of((t - zeroMs) / 1e3, v)), new Kahan());
    return sum.sum + sum.lost;
  };
  const n = points.length;
  const x = total((a) => a);
  const y = total((_, b) => b);
  const xy = total((a, b) => a * b);
  const xx = total((a) => a * a);
  const slope = (xy - (x * y) / n) / (xx - (x * x) / n);
  return { slope, intercept: y / n - (slope * x) / n };
}

function smooth(values: number[], [sf, tf]: readonly number[]): number {
  const s = sf as number;
  const t = tf as number;
  let before = 0;
  let level = values[0] as number;
  let trend = (values[1] as number) - level;
  for (let index = 1; index < values.length; index += 1) {
    if (index > 1) trend = t * (level - before) + (1 - t) * trend;
    const next = s * (values[index] as number) + (1 - s) * (level + trend);
    before = level;
    level = next;
  }
  return level;
}

/** A function of floats or histograms, but not both. */
const ofEither =
  (ofFloat: (points: readonly Point[], w: Window) => Value, ofHistogram: typeof ofFloat) =>
  (window: Window): Value => {
    const h = histograms(window.points);
    const f = floats(window.points);
    if (h.length > 0 && f.length > 0) {
      window.note(mixedFloatsHistograms(window.name));
      return undefined;
    }
    return h.length > 0 ? ofHistogram(h, window) : ofFloat(f, window);
  };

const accumulated =
  (kind: "sum" | "mean") =>
  (points: readonly Point[], window: Window): Value => {
    const accumulator = new HistogramAccumulator(kind);
    for (const { h } of points) {
      if (h !== undefined && !accumulator.add(h)) {
        window.note(mixedExponentialCustomHistograms(window.name));
        return undefined;
      }
    }
    if (accumulator.counterResetCollision) window.note(counterResetCollision("aggregation"));
    if (accumulator.boundsReconciled) window.note(mismatchedCustomBuckets("aggregation"));
    return accumulator.finish();
  };

function startReset(previous: Point, current: Point): boolean {
  if (current.st === 0 || current.st >= current.t || current.st < previous.t) return false;
  if (current.st > previous.t) return true;
  if (previous.st > previous.t) return false;
  return previous.st !== 0 && previous.st !== previous.t;
}

const overlaps = (previous: Point, current: Point) =>
  current.st !== 0 && current.st < previous.t && current.st !== previous.st;
const isCustom = (h: FloatHistogram) => h.schema === customBucketsSchema;
const gauge = (h: FloatHistogram) => h.counterResetHint === "gauge";

const pairs = (points: readonly Point[]) =>
  points.slice(1).map((current, index) => ({ previous: points[index] as Point, current }));

interface RateKind {
  readonly isCounter: boolean;
  readonly isRate: boolean;
}

function factorOf(
  points: readonly Point[],
  window: Window,
  { isCounter, isRate }: RateKind,
  firstValue: number,
  increase: number,
  startMs: number | undefined,
): number {
  const gaps = points.length - 1;
  let sampled = (last(points).t - first(points).t) / 1000;
  const average = gaps > 0 ? sampled / gaps : 0;
  const threshold = average * 1.1;
  let toStart = (first(points).t - window.startMs) / 1000;
  let toEnd = (window.endMs - last(points).t) / 1000;
  if (startMs !== undefined) {
    toStart = 0;
    sampled = (last(points).t - startMs) / 1000;
  } else {
    if (toStart >= threshold) toStart = average / 2;
    if (isCounter && increase > 0 && firstValue >= 0) {
      toStart = Math.min(toStart, sampled * (firstValue / increase));
    }
  }
  if (toEnd >= threshold) toEnd = average / 2;
  const factor = sampled === 0 ? 1 : (sampled + toStart + toEnd) / sampled;
  const whole = Math.trunc(window.spec.rangeMs / 1000);
  return isRate ? factor / (whole + ((window.spec.rangeMs % 1000) * 1e6) / 1e9) : factor;
}

function startOf(points: readonly Point[], window: Window, kind: RateKind): number | undefined {
  const { st, t } = first(points);
  return kind.isCounter && st !== 0 && st > window.startMs && st < t ? st : undefined;
}

const floatRate =
  (kind: RateKind) =>
  (points: readonly Point[], window: Window): Value => {
    let increase = last(points).v - first(points).v;
    if (kind.isCounter) {
      for (const { previous, current } of pairs(points)) {
        if (current.v < previous.v || startReset(previous, current)) increase += previous.v;
      }
      if (pairs(points).some(({ previous, current }) => overlaps(previous, current))) {
        window.note(startTimeOverlap(window.name));
      }
    }
    const startMs = startOf(points, window, kind);
    if (points.length === 1 && startMs === undefined) return undefined;
    if (startMs !== undefined) increase += first(points).v;
    return increase * factorOf(points, window, kind, first(points).v, increase, startMs);
  };

const empty: FloatHistogram = {
  counterResetHint: "unknown",
  schema: 0,
  zeroThreshold: 0,
  zeroCount: 0,
  count: 0,
  sum: 0,
  positiveSpans: [],
  positiveBuckets: [],
  negativeSpans: [],
  negativeBuckets: [],
  customValues: [],
};

function combined(
  a: FloatHistogram,
  b: FloatHistogram,
  op: "addition" | "subtraction",
  notes: Note[],
): FloatHistogram | undefined {
  const result = op === "addition" ? addHistograms(a, b) : subHistograms(a, b);
  if (result === "incompatible") return undefined;
  if (result.boundsReconciled) notes.push(mismatchedCustomBuckets(op));
  return result.result;
}

function histogramChange(points: readonly Point[], window: Window, isCounter: boolean): Value {
  const all = histograms(points);
  const mixed = mixedExponentialCustomHistograms(window.name);
  const notes: Note[] = [];
  const done = (result: FloatHistogram | undefined, kept: Note[]) => {
    for (const note of kept) window.note(note);
    return result;
  };
  let previous = (all[0] as (typeof all)[0]).h;
  const final = (all[all.length - 1] as (typeof all)[0]).h;
  if (isCounter && (gauge(previous) || gauge(final))) {
    notes.push(nativeHistogramNotCounter(window.name));
  }
  const second = (all[1] as (typeof all)[0]).h;
  if (
    isCounter &&
    (startReset(points[0] as Point, points[1] as Point) || detectReset(second, previous))
  ) {
    previous = { ...empty, schema: second.schema, customValues: second.customValues };
  }
  if (isCustom(previous) !== isCustom(final)) return done(undefined, [...notes, mixed]);
  let schema = Math.min(final.schema, previous.schema);
  for (const { h } of isCounter ? all.slice(1, -1) : []) {
    if (gauge(h)) notes.push(nativeHistogramNotCounter(window.name));
    schema = Math.min(schema, h.schema);
    if (isCustom(h) !== isCustom(final)) return done(undefined, [mixed]);
  }
  let change = combined(copyToSchema(final, schema), previous, "subtraction", notes);
  if (change === undefined) return done(undefined, [mixed]);
  if (isCounter) {
    for (const [index, { h }] of all.slice(1).entries()) {
      const reset = startReset(all[index] as Point, all[index + 1] as Point);
      if (reset || detectReset(h, previous)) {
        change = combined(change, previous, "addition", notes);
        if (change === undefined) return done(undefined, [mixed]);
      }
      previous = h;
    }
    if (pairs(points).some((pair) => overlaps(pair.previous, pair.current))) {
      notes.push(startTimeOverlap(window.name));
    }
  } else if (!gauge((all[0] as (typeof all)[0]).h) || !gauge(final)) {
    notes.push(nativeHistogramNotGauge(window.name));
  }
  return done(compactHistogram({ ...change, counterResetHint: "gauge" }), notes);
}

const histogramRate =
  (kind: RateKind) =>
  (points: readonly Point[], window: Window): Value => {
    const firstHistogram = first(points).h as FloatHistogram;
    let change: Value;
    if (points.length > 1) {
      change = histogramChange(points, window, kind.isCounter);
      if (change === undefined) return undefined;
    }
    const startMs = startOf(points, window, kind);
    if (startMs === undefined && points.length === 1) return undefined;
    const increase = (change as FloatHistogram | undefined)?.count ?? 0;
    if (startMs !== undefined) {
      const notes: Note[] = [];
      change =
        change === undefined
          ? firstHistogram
          : combined(change as FloatHistogram, firstHistogram, "addition", notes);
      for (const note of notes) window.note(note);
      if (change === undefined) {
        window.note(mixedExponentialCustomHistograms(window.name));
        return undefined;
      }
    }
    const factor = factorOf(points, window, kind, firstHistogram.count, increase, startMs);
    return scaleHistogram(change as FloatHistogram, factor);
  };

/** Interpolates between two points; a counter that fell rises from zero. */
function between(a: Point, b: Point, t: number, isCounter: boolean): number {
  const from = isCounter && b.v < a.v ? 0 : a.v;
  return from + ((b.v - from) * (t - a.t)) / (b.t - a.t);
}

const extendedFloatRate =
  (kind: RateKind) =>
  (points: readonly Point[], window: Window): Value => {
    const { startMs, endMs, spec } = window;
    const smoothed = spec.bounds === "smoothed";
    const before = points.findLastIndex(({ t }) => t <= startMs);
    // The last sample is never used as the one before the window, unless it is the only one.
    const from = Math.max(0, Math.min(before, points.length - 2));
    const after = points.findIndex(({ t }) => t >= endMs);
    const to = smoothed && after !== -1 ? after : points.length - 1;
    const a = points[from] as Point;
    const b = points[to] as Point;
    if (b.t <= startMs || (smoothed && a.t > endMs)) return undefined;
    const left =
      smoothed && a.t < startMs
        ? between(a, points[from + 1] as Point, startMs, kind.isCounter)
        : a.v;
    const right =
      smoothed && to > 0 && b.t > endMs
        ? between(points[to - 1] as Point, b, endMs, kind.isCounter)
        : b.v;
    let change = right - left;
    if (kind.isCounter) {
      const inner = points.slice(from, to + 1).filter(({ t }) => t > startMs && t < endMs);
      const values = [left, ...inner.map(({ v }) => v), right];
      let correction = 0;
      values.slice(1).forEach((value, index) => {
        if (value < (values[index] as number)) correction += values[index] as number;
      });
      change += correction;
    }
    return kind.isRate ? change / (spec.rangeMs / 1000) : change;
  };

/** Interpolates between two histograms; a counter that was reset in between rises from zero. */
function histogramBetween(
  a: Point,
  b: Point,
  t: number,
  isCounter: boolean,
  notes: Note[],
): FloatHistogram | undefined {
  const from = a.h as FloatHistogram;
  const to = b.h as FloatHistogram;
  if (t === a.t || t === b.t) return t === a.t ? from : to;
  const fraction = (t - a.t) / (b.t - a.t);
  if (isCounter && detectReset(to, from)) return scaleHistogram(to, fraction);
  const change = combined(to, from, "subtraction", notes);
  return change && combined(scaleHistogram(change, fraction), from, "addition", notes);
}

const extendedHistogramRate =
  (kind: RateKind) =>
  (points: readonly Point[], window: Window): Value => {
    const { startMs, endMs, spec, name } = window;
    const smoothed = spec.bounds === "smoothed";
    const before = points.findLastIndex(({ t }) => t <= startMs);
    const from = Math.max(0, Math.min(before, points.length - 2));
    const after = points.findIndex(({ t }) => t >= endMs);
    const to = smoothed && after !== -1 ? after : points.length - 1;
    const a = points[from] as Point;
    const b = points[to] as Point;
    if (b.t <= startMs || (smoothed && a.t > endMs)) return undefined;
    const reached = histograms(points.slice(from, to + 1));
    const notes: Note[] = [];
    const done = (result: FloatHistogram | undefined) => {
      for (const note of notes) window.note(note);
      if (result === undefined) window.note(mixedExponentialCustomHistograms(name));
      return result;
    };
    for (const { h } of reached) {
      if (isCustom(h) !== isCustom(a.h as FloatHistogram)) return done(undefined);
      if (kind.isCounter && gauge(h)) notes.push(nativeHistogramNotCounter(name));
    }
    const leftBetween = smoothed && a.t < startMs;
    const left = leftBetween
      ? histogramBetween(a, points[from + 1] as Point, startMs, kind.isCounter, notes)
      : a.h;
    const right =
      smoothed && to > 0 && b.t > endMs
        ? histogramBetween(points[to - 1] as Point, b, endMs, kind.isCounter, notes)
        : b.h;
    if (left === undefined || right === undefined) return done(undefined);
    if (!kind.isCounter && !(gauge(left) && gauge(right)))
      notes.push(nativeHistogramNotGauge(name));
    let change = combined(right, left, "subtraction", notes);
    if (kind.isCounter && change !== undefined) {
      let row: FloatHistogram[] = [left, ...reached.slice(1, -1).map(({ h }) => h), right];
      if (from === to) row = [left];
      const second = points[from + 1]?.h;
      if (leftBetween && second !== undefined && detectReset(second, a.h as FloatHistogram)) {
        // `left` has the reset of the first gap; the next sample is compared with the one after it.
        row = to > from + 1 ? [second, ...row.slice(2)] : [];
      }
      let correction: FloatHistogram | undefined;
      for (const [index, current] of row.slice(1).entries()) {
        const previous = row[index] as FloatHistogram;
        if (!detectReset(current, previous)) continue;
        correction =
          correction === undefined ? previous : combined(correction, previous, "addition", notes);
        if (correction === undefined) return done(undefined);
      }
      if (correction !== undefined) change = combined(change, correction, "addition", notes);
    }
    if (change === undefined) return done(undefined);
    if (kind.isRate) change = divideHistogram(change, spec.rangeMs / 1000);
    return done(compactHistogram({ ...change, counterResetHint: "gauge" }));
  };

const rateOf =
  (kind: RateKind) =>
  (window: Window): Value =>
    window.spec.bounds === undefined
      ? ofEither(floatRate(kind), histogramRate(kind))(window)
      : ofEither(extendedFloatRate(kind), extendedHistogramRate(kind))(window);

const instantRate =
  (isRate: boolean) =>
  (window: Window): Value => {
    const [previous, current] = window.points.slice(-2);
    if (previous === undefined || current === undefined) return undefined;
    const seconds = (current.t - previous.t) / 1000;
    const reset = isRate && startReset(previous, current);
    if (previous.h === undefined && current.h === undefined) {
      const change =
        isRate && (reset || current.v < previous.v) ? current.v : current.v - previous.v;
      return isRate ? change / seconds : change;
    }
    if (previous.h === undefined || current.h === undefined) {
      window.note(mixedFloatsHistograms(window.name));
      return undefined;
    }
    if (isRate && (gauge(previous.h) || gauge(current.h))) {
      window.note(nativeHistogramNotCounter(window.name));
    }
    if (!isRate && !(gauge(previous.h) && gauge(current.h))) {
      window.note(nativeHistogramNotGauge(window.name));
    }
    let change: FloatHistogram | undefined = current.h;
    if (!(isRate && (reset || detectReset(current.h, previous.h)))) {
      const notes: Note[] = [];
      change = combined(current.h, previous.h, "subtraction", notes);
      for (const note of notes) window.note(note);
    }
    if (change === undefined) {
      window.note(mixedExponentialCustomHistograms(window.name));
      return undefined;
    }
    const result = compactHistogram({ ...change, counterResetHint: "gauge" });
    return isRate ? divideHistogram(result, seconds) : result;
  };

/** Starts at the anchor, if there is one. */
const countPairs =
  (standsOut: (previous: Point, current: Point) => boolean) =>
  (window: Window): Value => {
    let { points } = window;
    if (window.spec.bounds === "anchored") {
      const anchor = points.findLastIndex(({ t }) => t <= window.startMs);
      if (anchor === points.length - 1) return undefined;
      points = points.slice(Math.max(0, anchor));
    }
    return pairs(points).filter(({ previous, current }) => standsOut(previous, current)).length;
  };

const functions: Readonly<Record<string, (window: Window) => Value>> = {
  avg_over_time: ofEither((points) => mean(points.map(({ v }) => v)), accumulated("mean")),
  changes: countPairs(({ v, h }, current) => {
    if (h !== undefined && current.h !== undefined) return !equalsHistogram(current.h, h);
    if (h !== undefined || current.h !== undefined) return true;
    return v !== current.v && !(Number.isNaN(v) && Number.isNaN(current.v));
  }),
  count_over_time: ({ points }) => points.length,
  delta: rateOf({ isCounter: false, isRate: false }),
  deriv: ofFloats(2, (_values, { points }) => line(points, first(points).t).slope),
  double_exponential_smoothing: ofFloats(2, (values, { args }) => smooth(values, args)),
  first_over_time: ({ points }) => first(points).h ?? first(points).v,
  idelta: instantRate(false),
  increase: rateOf({ isCounter: true, isRate: false }),
  irate: instantRate(true),
  last_over_time: ({ points }) => last(points).h ?? last(points).v,
  mad_over_time: ofFloats(1, (values) => {
    if (values.some(Number.isNaN)) return Number.NaN;
    const median = quantile(0.5, values);
    return quantile(
      0.5,
      values.map((value) => Math.abs(value - median)),
    );
  }),
  max_over_time: pick((value, best) => value > best),
  min_over_time: pick((value, best) => value < best),
  predict_linear: ofFloats(2, (_values, { points, stepMs, args }) => {
    const { slope, intercept } = line(points, stepMs);
    return slope * (args[0] as number) + intercept;
  }),
  present_over_time: () => 1,
  quantile_over_time: ofFloats(1, (values, { args, note }) => {
    const q = args[0] as number;
    if (!(q >= 0 && q <= 1)) note(invalidQuantile(q));
    return quantile(q, values);
  }),
  rate: rateOf({ isCounter: true, isRate: true }),
  resets: countPairs((previous, current) => {
    if ((previous.h === undefined) !== (current.h === undefined)) return true;
    if (startReset(previous, current)) return true;
    if (previous.h !== undefined && current.h !== undefined) {
      return detectReset(current.h, previous.h);
    }
    return current.v < previous.v;
  }),
  stddev_over_time: ofFloats(1, (values) => Math.sqrt(variance(values))),
  stdvar_over_time: ofFloats(1, variance),
  sum_over_time: ofEither((points) => {
    const sum = points.reduce((s, { v }) => s.plus(v), new Kahan());
    return Math.abs(sum.sum) === Infinity ? sum.sum : sum.sum + sum.lost;
  }, accumulated("sum")),
  ts_of_first_over_time: ({ points }) => first(points).t / 1000,
  ts_of_last_over_time: ({ points }) => last(points).t / 1000,
  ts_of_max_over_time: pickTime((value, best) => value >= best),
  ts_of_min_over_time: pickTime((value, best) => value <= best),
};
