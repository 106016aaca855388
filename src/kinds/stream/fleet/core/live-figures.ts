/**
 * The newest figures of every fragment, as workers tell them each second, and how fast they grow
 * between two reports. In memory of the coordinator that leads, and nowhere else: a new one knows
 * them after two seconds. Rules: SD60, SD61. Pure.
 */
import type { EdgeStatistics, FragmentStatistics, StreamReport } from "./commands.ts";

export interface LiveFragment {
  readonly workerId: string;
  /** When it arrived, by the coordinator's clock. */
  readonly heardMs: number;
  readonly figures: FragmentStatistics;
  /** Absent until there are two reports. */
  readonly rates: FragmentRates | undefined;
  /** For how long its watermark has been what it is. */
  readonly stillMs: number;
}

/** Rates are per second; ratios are shares of the time. */
export interface FragmentRates {
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly busyRatio: number | undefined;
  readonly backpressureRatio: number | undefined;
  readonly edges: readonly EdgeRates[];
}

export interface EdgeRates extends Pick<EdgeStatistics, "exchange" | "to"> {
  readonly rows: number;
  readonly backpressureRatio: number;
}

interface Known extends LiveFragment {
  readonly epoch: number;
  /** By the worker's clock, if the worker sent it. */
  readonly atMs: number;
  /** When its watermark changed, by the same clock. */
  readonly movedMs: number;
}

type Statistics = Extract<StreamReport, { readonly kind: "statistics" }>;

/** Figures older than this are not shown as current. */
export const figuresMsMax = 5_000;
/** Figures that were not renewed for this long are forgotten. */
const keptMsMax = 60_000;

export class LiveFigures {
  /** The key is the query's id, then the fragment's name. */
  readonly #queries = new Map<string, Map<string, Known>>();
  #sweptMs = Number.NEGATIVE_INFINITY;

  told(workerId: string, { atMs, queries }: Statistics, nowMs: number): void {
    for (const { query, epoch, fragments } of queries) {
      const known = this.#fragmentsOf(query);
      for (const figures of fragments) {
        const before = known.get(figures.fragment);
        // What is left of an older epoch says nothing about the query.
        if (before !== undefined && before.epoch > epoch) continue;
        const at = atMs ?? nowMs;
        const isSameRun = before?.epoch === epoch && before.workerId === workerId;
        const rates = isSameRun ? ratesOf(before.figures, figures, at - before.atMs) : undefined;
        const isStill = isSameRun && before.figures.watermarkMs === figures.watermarkMs;
        const movedMs = isStill ? before.movedMs : at;
        const times = { heardMs: nowMs, atMs: at, movedMs, stillMs: at - movedMs };
        known.set(figures.fragment, { workerId, epoch, ...times, figures, rates });
      }
    }
    this.#sweep(nowMs);
  }

  /** `undefined`: no worker has reported it in this epoch, or not recently. */
  of(query: string, epoch: number, fragment: string, nowMs: number): LiveFragment | undefined {
    const known = this.#queries.get(query)?.get(fragment);
    const isNew = known?.epoch === epoch && nowMs - known.heardMs <= figuresMsMax;
    return isNew ? known : undefined;
  }

  /** The fragments with figures, new or old. */
  get queryCount(): number {
    return this.#queries.size;
  }

  #fragmentsOf(query: string): Map<string, Known> {
    const found = this.#queries.get(query);
    if (found !== undefined) return found;
    const made = new Map<string, Known>();
    this.#queries.set(query, made);
    return made;
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < keptMsMax) return;
    this.#sweptMs = nowMs;
    for (const [query, fragments] of this.#queries) {
      for (const [fragment, { heardMs }] of fragments) {
        if (nowMs - heardMs > keptMsMax) fragments.delete(fragment);
      }
      if (fragments.size === 0) this.#queries.delete(query);
    }
  }
}

/** Rows that entered the fragment, from sources and from other fragments. */
export function rowsInOf({ rowsIn, rowsReceived }: FragmentStatistics): number {
  return rowsIn + rowsReceived;
}

/** Rows that left it, to sinks and to other fragments. */
export function rowsOutOf({ rowsOut, edges }: FragmentStatistics): number {
  return edges.reduce((sum, { rows }) => sum + rows, rowsOut);
}

/** `undefined`: the two are not of one process, since its clock or a count went back. */
function ratesOf(
  before: FragmentStatistics,
  after: FragmentStatistics,
  elapsedMs: number,
): FragmentRates | undefined {
  if (elapsedMs <= 0 || rowsInOf(after) < rowsInOf(before)) return undefined;
  const perSecond = (of: (figures: FragmentStatistics) => number): number =>
    (Math.max(0, of(after) - of(before)) * 1_000) / elapsedMs;
  const ratio = (of: (figures: FragmentStatistics) => number | undefined): number | undefined => {
    const [earlier, later] = [of(before), of(after)];
    if (earlier === undefined || later === undefined) return undefined;
    return share(later - earlier, elapsedMs);
  };
  return {
    rowsIn: perSecond(rowsInOf),
    rowsOut: perSecond(rowsOutOf),
    bytesIn: perSecond(({ bytesIn }) => bytesIn),
    bytesOut: perSecond(({ bytesOut }) => bytesOut),
    busyRatio: ratio(({ busyMs }) => busyMs),
    backpressureRatio: ratio(({ waitedMs }) => waitedMs),
    edges: after.edges.map(({ exchange, to, rows, waitedMs }) => {
      const old = before.edges.find((edge) => edge.exchange === exchange && edge.to === to);
      return {
        ...{ exchange, to },
        rows: (Math.max(0, rows - (old?.rows ?? 0)) * 1_000) / elapsedMs,
        backpressureRatio: share(waitedMs - (old?.waitedMs ?? 0), elapsedMs),
      };
    }),
  };
}

/** Both times are measured, so their ratio may pass its bounds a little. */
function share(partMs: number, wholeMs: number): number {
  return Math.min(1, Math.max(0, partMs / wholeMs));
}
