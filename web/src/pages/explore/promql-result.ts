/**
 * A query's result as it arrives: parts in time order, each with the series that have points in it.
 */
export interface HistogramValue {
  readonly count: string;
  readonly sum: string;
}

export type Point = readonly [seconds: number, value: string];
type HistogramPoint = readonly [seconds: number, value: HistogramValue];

export interface PartSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Point;
  readonly values?: readonly Point[];
  readonly histogram?: HistogramPoint;
  readonly histograms?: readonly HistogramPoint[];
}

export interface ResultPart {
  readonly resultType: "vector" | "matrix" | "scalar" | "string";
  readonly result: readonly PartSeries[] | Point;
}

export interface ResultSeries {
  /** The same for the same labels in every part. */
  readonly key: string;
  readonly metric: Readonly<Record<string, string>>;
  readonly values: Point[];
  readonly histograms: HistogramPoint[];
}

/** The time of an instant query, or the range of a range query. */
export type QueryTime =
  | { readonly kind: "instant"; readonly timeMs: number }
  | {
      readonly kind: "range";
      readonly startMs: number;
      readonly endMs: number;
      readonly stepMs: number;
    };

export interface PromqlResult {
  /** The requested time. The page may ask for another one before this result is drawn. */
  readonly at: QueryTime;
  readonly resultType: ResultPart["resultType"];
  readonly series: readonly ResultSeries[];
}

/** A scalar becomes a series without labels, and a string becomes its value. */
export class ResultReader {
  #resultType: ResultPart["resultType"] = "matrix";
  readonly #series = new Map<string, ResultSeries>();
  readonly #at: QueryTime;

  constructor(at: QueryTime) {
    this.#at = at;
  }

  push(part: ResultPart): void {
    this.#resultType = part.resultType;
    if (part.resultType === "scalar" || part.resultType === "string") {
      this.#seriesOf({}).values.push(part.result as Point);
      return;
    }
    for (const arrived of part.result as readonly PartSeries[]) {
      const series = this.#seriesOf(arrived.metric);
      if (arrived.value !== undefined) series.values.push(arrived.value);
      if (arrived.histogram !== undefined) series.histograms.push(arrived.histogram);
      for (const point of arrived.values ?? []) series.values.push(point);
      for (const point of arrived.histograms ?? []) series.histograms.push(point);
    }
  }

  result(): PromqlResult {
    return { at: this.#at, resultType: this.#resultType, series: [...this.#series.values()] };
  }

  #seriesOf(metric: Readonly<Record<string, string>>): ResultSeries {
    const key = JSON.stringify(Object.entries(metric).sort(([a], [b]) => (a < b ? -1 : 1)));
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const series: ResultSeries = { key, metric, values: [], histograms: [] };
    this.#series.set(key, series);
    return series;
  }
}

/** Prometheus's format: the name, then the other labels in braces. */
export function seriesText(metric: Readonly<Record<string, string>>): string {
  const { __name__: name = "", ...labels } = metric;
  const plain = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name);
  const pairs = Object.entries(labels).map(([label, value]) => {
    const shown = /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) ? label : JSON.stringify(label);
    return `${shown}=${JSON.stringify(value)}`;
  });
  if (plain && pairs.length === 0) return name;
  if (!plain && name !== "") pairs.unshift(JSON.stringify(name));
  return `${plain ? name : ""}{${pairs.join(", ")}}`;
}

/**
 * The chart's columns: the times of all series, then each series' values at those times, `null`
 * when absent.
 */
export function chartColumns(
  series: readonly ResultSeries[],
  stepMs: number,
): { readonly times: number[]; readonly columns: (number | null)[][] } {
  const first = Math.min(...series.map(({ values }) => values[0]?.[0] ?? Number.POSITIVE_INFINITY));
  const last = Math.max(
    ...series.map(({ values }) => values.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY),
  );
  if (!Number.isFinite(first) || !Number.isFinite(last)) return { times: [], columns: [] };
  const step = stepMs / 1000;
  const count = Math.round((last - first) / step) + 1;
  const times = Array.from({ length: count }, (_, index) => first + index * step);
  const columns = series.map(({ values }) => {
    const column: (number | null)[] = Array.from({ length: count }, () => null);
    for (const [seconds, text] of values) {
      const value = Number(text); // "+Inf" and "NaN" cannot be drawn.
      if (Number.isFinite(value)) column[Math.round((seconds - first) / step)] = value;
    }
    return column;
  });
  return { times, columns };
}
