/** The dependencies and limits of a PromQL service. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { ApiWorkManager } from "../../../ground/work/core/index.ts";
import type { HeadSnapshot, SegmentInfo } from "../metrics/core/index.ts";
import { defaultEngineOptions, type EngineOptions } from "../promql/core/index.ts";
import { type CutLimits, defaultCutLimits } from "./core/decide-cut.ts";
import type { QuerySummary } from "./promql-service.ts";

/**
 * Lists the segments that may have samples from `minTs` to `maxTs`. Implemented by
 * `SegmentCatalog`.
 */
export interface SegmentSource {
  list(range: { readonly minTs: number; readonly maxTs: number }): Promise<readonly SegmentInfo[]>;
}

export interface PromqlServiceDeps {
  readonly manager: Pick<ApiWorkManager, "open" | "workers">;
  readonly segments: SegmentSource;
  /**
   * The head's current snapshot; `undefined` when there is no head. It is taken before the segments
   * are listed, so that samples sealed in between are in both rather than in neither. `lastMs`
   * resolves to the newest time of the query: an unreachable head is not needed for times that it
   * cannot have.
   */
  readonly head: (lastMs?: Promise<number>) => Promise<HeadSnapshot | undefined>;
  /** Why the head's samples cannot be read now. Answers lack them and warn about it. */
  readonly headMissing?: () => string | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly limits?: Partial<PromqlLimits>;
  readonly engine?: Partial<EngineOptions>;
  readonly observer?: PromqlObserver;
  /** Whether the threads warm up with queries of their own, so that the first real one is fast. */
  readonly warmUp?: boolean;
  /** The compute threads of all workers together; defaults to 2 for each worker. */
  readonly computeUnits?: () => number;
  /**
   * `evaluate` returns the results themselves, because JSON omits parts of histograms. For the
   * conformance suite.
   */
  readonly keepResults?: boolean;
  /** Forces this cut on every query, for tests and the conformance suite. */
  readonly forcedCut?: { readonly shardCount?: number; readonly spanCount?: number };
}

export interface PromqlLimits {
  readonly timeoutMs: number;
  readonly concurrencyMax: number;
  readonly queueMax: number;
  readonly pointsPerSeriesMax: number;
  readonly answerBytesMax: number;
  /** The streamed results that wait for their readers, of all streams together. */
  readonly waitingBytesMax: number;
  /** All artifacts of a query that are decoded and held at a time. */
  readonly artifactBytesMax: number;
  /** A query that takes at least this long is logged. */
  readonly slowMs: number;
  readonly evalThreads: number;
  readonly evalHeapBytesMax: number;
  /** The memory of all queries together: columns, artifacts being read, answers being sent. */
  readonly memoryBytesMax: number;
  readonly cut: CutLimits;
}

export const defaultPromqlLimits: PromqlLimits = {
  timeoutMs: 120_000,
  concurrencyMax: 20,
  queueMax: 200,
  pointsPerSeriesMax: 11_000,
  answerBytesMax: 512 * 1024 ** 2,
  waitingBytesMax: 512 * 1024 ** 2,
  artifactBytesMax: 1024 ** 3,
  slowMs: 5_000,
  evalThreads: 2,
  evalHeapBytesMax: 2 * 1024 ** 3,
  memoryBytesMax: Number.MAX_SAFE_INTEGER,
  cut: defaultCutLimits,
};

export const promqlEngineDefaults: EngineOptions = defaultEngineOptions;

/** Receives two calls for each query: one at its start and one at its end. */
export interface PromqlObserver {
  queryStarted(
    queryId: QueryId,
    op: "query" | "stream" | "series" | "names" | "values",
    traceparent: string | undefined,
  ): void;
  queryEnded(ended: {
    readonly queryId: QueryId;
    readonly op: "query" | "stream" | "series" | "names" | "values";
    readonly durationMs: number;
    /** Absent when the query succeeded. */
    readonly error: string | undefined;
    readonly summary: QuerySummary | undefined;
  }): void;
}

/** The warnings of answers while the head cannot be read. */
export function headWarnings({ headMissing }: Pick<PromqlServiceDeps, "headMissing">): string[] {
  const reason = headMissing?.();
  return reason === undefined ? [] : [`the newest samples are missing: ${reason}`];
}
