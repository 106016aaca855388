/** What two answers of Prometheus's API say differently. */
type ApiPoint = readonly [time: number, value: string];
interface ApiHistogram {
  readonly count: string;
  readonly sum: string;
  readonly buckets?: readonly (readonly [rule: number, low: string, high: string, count: string])[];
}
type HistogramPoint = readonly [time: number, histogram: ApiHistogram];
interface ApiSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: ApiPoint;
  readonly values?: readonly ApiPoint[];
  readonly histogram?: HistogramPoint;
  readonly histograms?: readonly HistogramPoint[];
}
export interface ApiAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly resultType: string; readonly result: unknown };
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

const toleranceMax = 1e-9;

export function differenceOf(ours: ApiAnswer, theirs: ApiAnswer): string | undefined {
  if (ours.status === "broken") return `the engine broke: ${ours.error}`;
  if (ours.status === "error" || theirs.status === "error") return errorDifference(ours, theirs);
  return (
    dataDifference(ours, theirs) ??
    textDifference("warnings", ours.warnings, theirs.warnings) ??
    textDifference("infos", ours.infos, theirs.infos)
  );
}

function errorDifference(ours: ApiAnswer, theirs: ApiAnswer): string | undefined {
  const plain = ({ error = "no error" }: ApiAnswer) =>
    error
      .replace(/^invalid parameter "query": /, "")
      // Which two of the series are named depends on the order of the storage.
      .replace(/(found duplicate series for the match group).*/s, "$1");
  return plain(ours) === plain(theirs)
    ? undefined
    : `error "${ours.error ?? "none"}", Prometheus: "${theirs.error ?? "none"}"`;
}

function dataDifference(ours: ApiAnswer, theirs: ApiAnswer): string | undefined {
  if (ours.data?.resultType !== theirs.data?.resultType) {
    return `a ${ours.data?.resultType}, Prometheus: a ${theirs.data?.resultType}`;
  }
  if (ours.data?.resultType === "scalar" || ours.data?.resultType === "string") {
    const [a, b] = [ours.data.result as ApiPoint, theirs.data?.result as ApiPoint];
    return same(a[1], b[1]) ? undefined : `${a[1]}, Prometheus: ${b[1]}`;
  }
  const ourSeries = byLabels(ours);
  for (const [labels, series] of byLabels(theirs)) {
    const other = ourSeries.get(labels);
    if (other === undefined) return `missing: ${labels} ${JSON.stringify(series).slice(0, 300)}`;
    ourSeries.delete(labels);
    const difference =
      pointsDifference(floatsOf(other), floatsOf(series), same) ??
      pointsDifference(histogramsOf(other), histogramsOf(series), sameHistogram);
    if (difference !== undefined) return `${labels} ${difference}`;
  }
  for (const [labels, series] of ourSeries) {
    return `surplus: ${labels} ${JSON.stringify(series).slice(0, 300)}`;
  }
  return undefined;
}

function byLabels(answer: ApiAnswer): Map<string, ApiSeries> {
  const series = answer.data?.result as readonly ApiSeries[];
  return new Map(series.map((each) => [JSON.stringify(Object.entries(each.metric).sort()), each]));
}

function floatsOf({ value, values }: ApiSeries): readonly ApiPoint[] {
  return values ?? (value === undefined ? [] : [value]);
}

function histogramsOf({ histogram, histograms }: ApiSeries): readonly HistogramPoint[] {
  return histograms ?? (histogram === undefined ? [] : [histogram]);
}

function pointsDifference<Value>(
  ours: readonly (readonly [number, Value])[],
  theirs: readonly (readonly [number, Value])[],
  equal: (a: Value, b: Value) => boolean,
): string | undefined {
  const bad = theirs.findIndex(([time, value], index) => {
    const other = ours[index];
    return other === undefined || other[0] !== time || !equal(other[1], value);
  });
  const text = (point: unknown) => JSON.stringify(point) ?? "nothing";
  if (bad >= 0) return `${text(ours[bad])}, Prometheus: ${text(theirs[bad])}`;
  return ours.length > theirs.length ? `surplus ${text(ours[theirs.length])}` : undefined;
}

function same(a: string, b: string): boolean {
  if (a === b) return true;
  const [x, y] = [Number(a.replace("Inf", "Infinity")), Number(b.replace("Inf", "Infinity"))];
  return Math.abs(x - y) <= toleranceMax * Math.max(Math.abs(x), Math.abs(y)) + 1e-12;
}

function sameHistogram(a: ApiHistogram, b: ApiHistogram): boolean {
  const [x, y] = [a.buckets ?? [], b.buckets ?? []];
  return (
    same(a.count, b.count) &&
    same(a.sum, b.sum) &&
    x.length === y.length &&
    x.every((bucket, index) =>
      bucket.every((field, at) => same(String(field), String(y[index]?.[at]))),
    )
  );
}

/** Prometheus tells ten, in any order. */
function textDifference(
  what: string,
  ours: readonly string[] = [],
  theirs: readonly string[] = [],
): string | undefined {
  if (ours.length > 10 || theirs.length > 10) return undefined;
  // Prometheus merges that count with itself now and then, and forgets the place of what stands in
  // parentheses and does not depend on the step.
  const placeless = theirs.some((text) => text.endsWith("(1:1)"));
  const list = (texts: readonly string[]) =>
    texts
      .map((text) => text.replace(/over \d+ samples/, "over some samples"))
      .map((text) => (placeless ? text.replace(/ \(\d+:\d+\)$/, "") : text))
      .sort(byText)
      .join(" | ");
  const [a, b] = [list(ours), list(theirs)];
  return a === b ? undefined : `${what}: ${a || "none"}, Prometheus: ${b || "none"}`;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
