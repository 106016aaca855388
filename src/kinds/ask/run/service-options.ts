/** What a PromQL service needs, and its limits. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { ApiWorkManager } from "../../../ground/work/core/index.ts";
import type { HeadSnapshot, SegmentInfo } from "../metrics/core/index.ts";
import { defaultEngineOptions, type EngineOptions } from "../promql/core/index.ts";
import { type CutLimits, defaultCutLimits } from "./core/decide-cut.ts";
import type { QuerySummary } from "./promql-service.ts";

/** The segments that may have samples from `minTs` to `maxTs`. `SegmentCatalog` is one. */
export interface SegmentSource {
  list(range: { readonly minTs: number; readonly maxTs: number }): Promise<readonly SegmentInfo[]>;
}

export interface PromqlServiceDeps {
  readonly manager: Pick<ApiWorkManager, "open" | "workers">;
  readonly segments: SegmentSource;
  /**
   * The head as it is now; `undefined` where there is none. It is asked before the segments are listed, so that what is sealed
   * in between is in both rather than in neither. `lastMs`, where it is given, becomes the newest
   * time that is asked for: a head that is out of reach is not needed where it cannot have samples
   * so old.
   */
  readonly head: (lastMs?: Promise<number>) => Promise<HeadSnapshot | undefined>;
  /**
   * Why there is a head whose samples cannot be read for now: answers are without them, and warn of
   * it.
   */
  readonly headMissing?: () => string | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly limits?: Partial<PromqlLimits>;
  readonly engine?: Partial<EngineOptions>;
  readonly observer?: PromqlObserver;
  /** Its threads run a few queries of their own, so that the first real one is fast. */
  readonly warmUp?: boolean;
  /** Threads that compute, of all workers together; 2 for each worker when absent. */
  readonly computeUnits?: () => number;
  /** `evaluate` gives the results themselves: JSON does not say everything about a histogram. For the conformance suite. */
  readonly keepResults?: boolean;
  /** Cuts every query like this, for tests and the conformance suite. */
  readonly forcedCut?: { readonly shardCount?: number; readonly spanCount?: number };
}

export interface PromqlLimits {
  readonly timeoutMs: number;
  readonly concurrencyMax: number;
  readonly queueMax: number;
  readonly pointsPerSeriesMax: number;
  readonly answerBytesMax: number;
  /** Of streamed results that wait for their readers, of all streams together. */
  readonly waitingBytesMax: number;
  /** Of all artifacts of a query: what is decoded and held at a time. */
  readonly artifactBytesMax: number;
  /** From here on a query is in the log. */
  readonly slowMs: number;
  readonly evalThreads: number;
  readonly evalHeapBytesMax: number;
  /** What all queries hold at once: columns, artifacts that are read, answers that are sent. */
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

/** What whoever measures is told: of each query once that it started, then once that it ended. */
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
    /** Absent when it succeeded. */
    readonly error: string | undefined;
    readonly summary: QuerySummary | undefined;
  }): void;
}

/** What answers have to warn of while the head cannot be read. */
export function headWarnings({ headMissing }: Pick<PromqlServiceDeps, "headMissing">): string[] {
  const reason = headMissing?.();
  return reason === undefined ? [] : [`the newest samples are missing: ${reason}`];
}
