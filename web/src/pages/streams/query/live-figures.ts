/** A query's figures, summed over its fragments. Unknown ones stay unknown. Pure. */
import type { LiveEdge, LiveFragment, LiveQuery } from "../../../api/gen/types.ts";

type Figure = number | undefined;

export interface QueryTotals {
  /** From sources, and to sinks. */
  readonly rowsInPerSecond: Figure;
  readonly rowsOutPerSecond: Figure;
  readonly rowsIn: Figure;
  readonly rowsOut: Figure;
  readonly lateRows: Figure;
  readonly malformedRows: Figure;
  readonly stateBytes: Figure;
  /** Of the fragments with sinks, the one that is most behind. */
  readonly watermarkLagMs: Figure;
  /** The worst one, and whose it is. */
  readonly backpressure: { readonly ratio: number; readonly fragment: string } | undefined;
}

export function totalsOf({ fragments, edges }: LiveQuery): QueryTotals {
  const readers = fragments.filter(({ sources }) => sources.length > 0);
  const writers = fragments.filter(({ sinks }) => sinks.length > 0);
  // Where one fragment does it all, what it gives to its sinks is what it gives.
  const pure = (list: readonly LiveFragment[], end: "from" | "to") =>
    list.every(({ fragment }) => edges.every((edge) => edge[end] !== fragment));
  const front = frontOf(fragments);
  const lags = writers.map((each) => lagOf(each, front));
  return {
    rowsInPerSecond: pure(readers, "to") ? sum(readers, "rows_in_per_second") : undefined,
    rowsOutPerSecond: pure(writers, "from") ? sum(writers, "rows_out_per_second") : undefined,
    rowsIn: pure(readers, "to") ? sum(readers, "rows_in") : undefined,
    rowsOut: pure(writers, "from") ? sum(writers, "rows_out") : undefined,
    lateRows: sum(fragments, "late_rows"),
    malformedRows: sum(fragments, "malformed_rows"),
    stateBytes: sum(fragments, "state_bytes"),
    watermarkLagMs:
      lags.some(isUnknown) || lags.length === 0 ? undefined : Math.max(...lags.map(Number)),
    backpressure: worstBackpressure(fragments),
  };
}

type Summed = "rows_in" | "rows_out" | "late_rows" | "malformed_rows" | "state_bytes";

/** Unknown when one of them is: a part would look like the whole. */
function sum(
  fragments: readonly LiveFragment[],
  name: Summed | "rows_in_per_second" | "rows_out_per_second",
): Figure {
  const values = fragments.map((fragment) => fragment[name]);
  if (values.length === 0 || values.includes(null)) return undefined;
  return values.reduce((total: number, value) => total + Number(value), 0);
}

function worstBackpressure(fragments: readonly LiveFragment[]): QueryTotals["backpressure"] {
  let worst: QueryTotals["backpressure"];
  for (const { fragment, backpressure_ratio: ratio } of fragments) {
    if (ratio !== null && ratio > (worst?.ratio ?? -1)) worst = { ratio, fragment };
  }
  return worst;
}

/** How far event time has come at most; undefined without event time. */
export function frontOf(fragments: readonly Pick<LiveFragment, "watermark_ms">[]): Figure {
  const known = fragments.flatMap(({ watermark_ms: at }) => at ?? []);
  return known.length === 0 ? undefined : Math.max(...known);
}

/**
 * How far behind the clock event time is; where it is no time of a clock, how far behind the
 * fragment that is furthest.
 */
export function lagOf(
  { watermark_lag_ms: lag, watermark_ms: at }: Pick<LiveEdge, "watermark_lag_ms" | "watermark_ms">,
  front: Figure,
): Figure {
  if (lag !== null) return lag;
  return at === null || front === undefined ? undefined : Math.max(0, front - at);
}

/** Waiting for room behind it for more than this share of the time is worth a sign. */
export const backpressureMin = 0.1;
const backpressureBad = 0.5;

export function backpressureTone(ratio: number | null | undefined): "good" | "warn" | "bad" {
  const known = ratio ?? 0;
  return known >= backpressureBad ? "bad" : known >= backpressureMin ? "warn" : "good";
}

function isUnknown(value: Figure): value is undefined {
  return value === undefined;
}
