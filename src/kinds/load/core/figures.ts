/** Figures of a run, merged from the workers' series. Rules: FG1 to FG3. */
import { assert } from "../../../ground/kernel/errors.ts";
import { Histogram, mergeHistograms } from "./histogram.ts";
import { isRead } from "./operation.ts";
import type { SeriesSnapshot } from "./worker-snapshot.ts";

export interface Figures {
  readonly ops: number;
  readonly rows: number;
  readonly reads: number;
  readonly writes: number;
  readonly errors: number;
  readonly errorsByKind: Readonly<Record<string, number>>;
  /** Response times of successful operations. */
  readonly response: Histogram;
  readonly service: Histogram;
  /** Response times of failed operations. */
  readonly failed: Histogram;
  /** Arrivals without an answer, and how long they have waited so far. */
  readonly unserved: number;
  readonly censored: Histogram;
}

export function figuresOf(series: Iterable<SeriesSnapshot>): Figures {
  const response = new Histogram();
  const service = new Histogram();
  const failed = new Histogram();
  const censored = new Histogram();
  const errorsByKind: Record<string, number> = {};
  let [ops, rows, reads, errors, unserved] = [0, 0, 0, 0, 0];
  for (const each of series) {
    response.merge(decoded(each.response));
    service.merge(decoded(each.service));
    failed.merge(decoded(each.failed ?? ""));
    censored.merge(decoded(each.censored));
    unserved += each.unserved;
    ops += each.ops;
    rows += each.rows;
    if (isRead(each.kind)) reads += each.ops;
    for (const [kind, count] of Object.entries(each.errors)) {
      errorsByKind[kind] = (errorsByKind[kind] ?? 0) + count;
      errors += count;
    }
  }
  const counts = { ops, rows, reads, writes: ops - reads, errors, errorsByKind, unserved };
  return { ...counts, response, service, failed, censored };
}

/** `of` is an operation's name, a query kind, or `ALL`. */
export function figuresFor(series: Iterable<SeriesSnapshot>, of: string): Figures {
  const isOf = ({ operation, kind }: SeriesSnapshot): boolean =>
    of === "ALL" || of === operation || of === kind;
  return figuresOf(Array.from(series).filter(isOf));
}

/**
 * The figures between two states of the same series. Arrivals that still wait are those of `now`.
 */
export function figuresSince(now: Figures, before: Figures): Figures {
  const errorsByKind = Object.fromEntries(
    Object.entries(now.errorsByKind).map(([kind, count]) => [
      kind,
      Math.max(0, count - (before.errorsByKind[kind] ?? 0)),
    ]),
  );
  return {
    ops: Math.max(0, now.ops - before.ops),
    rows: Math.max(0, now.rows - before.rows),
    reads: Math.max(0, now.reads - before.reads),
    writes: Math.max(0, now.writes - before.writes),
    errors: Math.max(0, now.errors - before.errors),
    errorsByKind,
    response: now.response.since(before.response),
    service: now.service.since(before.service),
    failed: now.failed.since(before.failed),
    unserved: now.unserved,
    censored: now.censored,
  };
}

/** The percentiles of the slowest worker (FG2). Workers without a series are ignored. */
export function slowestWorker(workers: Iterable<readonly SeriesSnapshot[]>): {
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
} {
  let p95: number | undefined;
  let p99: number | undefined;
  for (const series of workers) {
    const { response, censored } = figuresOf(series);
    const all = mergeHistograms([response, censored]);
    p95 = laterOf(p95, all.percentileUs(0.95));
    p99 = laterOf(p99, all.percentileUs(0.99));
  }
  return { p95_latency_ms: toMs(p95), p99_latency_ms: toMs(p99) };
}

export function toMs(us: number | undefined): number | null {
  return us === undefined ? null : us / 1000;
}

/** Our workers encoded the text; text from HTTP was checked on arrival. */
function decoded(text: string): Histogram {
  const histogram = Histogram.decode(text);
  assert(histogram !== undefined, "a stored histogram is one");
  return histogram;
}

function laterOf(left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return Math.max(left, right);
}
