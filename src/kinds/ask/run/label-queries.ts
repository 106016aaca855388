/**
 * Label queries: workers answer them from the segments' series tables and the head; this file
 * merges the answers.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import type { LeafId, QueryId, WorkId } from "../../../ground/kernel/ids.ts";
import type { LocalArtifact } from "../../../ground/work/core/index.ts";
import { placeShards } from "./core/place-shards.ts";
import { affinityBase } from "./core/plan-works.ts";
import { headReaches, segmentsFor } from "./core/scope-leaf.ts";
import { powerOfTwo, segmentsOfShard } from "./core/shards.ts";
import { encodeWork, type LabelsWork, promqlWorkKind } from "./core/work-body.ts";
import type { MergedLabels } from "./eval-messages.ts";
import type { EvalPool } from "./eval-pool.ts";
import type { PromqlService, SeriesRequest } from "./promql-service.ts";
import type { QueryClock } from "./query-clock.ts";
import { computeUnitsOf } from "./query-run.ts";
import { headWarnings, type PromqlLimits, type PromqlServiceDeps } from "./service-options.ts";

/** The number of series table rows that one work reads. */
const seriesPerShard = 200_000;

/** How many label queries run at a time, and how many works each may have: half of the threads. */
export function labelShares(computeUnits: number): {
  readonly questions: number;
  readonly works: number;
} {
  const questions = Math.max(1, Math.floor(computeUnits / 4));
  return {
    questions,
    works: 2 ** Math.floor(Math.log2(Math.max(1, computeUnits / 2 / questions))),
  };
}

export class LabelQueries {
  readonly #deps: PromqlServiceDeps;
  readonly #limits: PromqlLimits;
  readonly #pool: EvalPool;

  constructor(deps: PromqlServiceDeps, limits: PromqlLimits, pool: EvalPool) {
    this.#deps = deps;
    this.#limits = limits;
    this.#pool = pool;
  }

  async series(
    queryId: QueryId,
    request: SeriesRequest,
    clock: QueryClock,
  ): Promise<Awaited<ReturnType<PromqlService["series"]>>> {
    const merged = await this.#ask("series", "", queryId, request, clock);
    assert(merged.kind === "series", "series are answered so");
    return { ...merged, warnings: headWarnings(this.#deps) };
  }

  async names(
    queryId: QueryId,
    request: SeriesRequest,
    clock: QueryClock,
  ): Promise<Awaited<ReturnType<PromqlService["labelNames"]>>> {
    const merged = await this.#ask("names", "", queryId, request, clock);
    assert(merged.kind === "listed", "names are answered so");
    return { names: merged.items, truncated: merged.truncated, warnings: headWarnings(this.#deps) };
  }

  async values(
    queryId: QueryId,
    label: string,
    request: SeriesRequest,
    clock: QueryClock,
  ): Promise<Awaited<ReturnType<PromqlService["labelValues"]>>> {
    const merged = await this.#ask("values", label, queryId, request, clock);
    assert(merged.kind === "listed", "values are answered so");
    return {
      values: merged.items,
      truncated: merged.truncated,
      warnings: headWarnings(this.#deps),
    };
  }

  async #ask(
    op: LabelsWork["op"],
    label: string,
    queryId: QueryId,
    request: SeriesRequest,
    clock: QueryClock,
  ): Promise<MergedLabels> {
    const { shardCount, bodies } = await this.#bodies(op, label, request);
    if (bodies.length === 0) return await this.#merge(queryId, op, [], request.limit, clock.signal);
    const base = affinityBase(request.matcherSets[0] ?? []);
    const places = placeShards(base, shardCount, this.#deps.manager.workers());
    const handle = this.#deps.manager.open(
      {
        queryId,
        deadlineMs: clock.leftMs,
        text: `${op} ${label}`.trim(),
        works: bodies.map(({ shard, body }) => ({
          queryId,
          leafId: op as LeafId,
          workId: String(shard) as WorkId,
          kind: promqlWorkKind,
          body,
          affinityKey: places[shard]?.affinityKey ?? base,
          preferred: places[shard]?.worker,
        })),
      },
      clock.signal,
    );
    const artifacts = await handle.artifacts;
    try {
      return await this.#merge(queryId, op, artifacts, request.limit, clock.signal);
    } finally {
      handle.finish();
      await Promise.all(artifacts.map((artifact) => artifact.dispose().catch(() => undefined)));
    }
  }

  async #bodies(
    op: LabelsWork["op"],
    label: string,
    { matcherSets, startMs, endMs, limit }: SeriesRequest,
  ): Promise<{
    readonly shardCount: number;
    /** One body for each shard that has something to read. */
    readonly bodies: readonly { readonly shard: number; readonly body: string }[];
  }> {
    const deps = this.#deps;
    const snapshot = await deps.head(Promise.resolve(endMs));
    const range = { minMs: startMs - 1, maxMs: endMs };
    const listed = await deps.segments.list({ minTs: startMs, maxTs: endMs });
    const segments = segmentsFor(matcherSets, range, listed);
    const head = headReaches(snapshot, range) ? snapshot : undefined;
    const seriesCount = segments.reduce((sum, each) => sum + each.seriesCount, 0);
    const { shardsMax } = this.#limits.cut;
    const shardCount =
      deps.forcedCut?.shardCount ??
      Math.min(
        Math.min(shardsMax, labelShares(computeUnitsOf(deps)).works),
        powerOfTwo(Math.floor(seriesCount / seriesPerShard)),
      );
    const bodies: { readonly shard: number; readonly body: string }[] = [];
    for (let shard = 0; shard < shardCount; shard += 1) {
      const own = segmentsOfShard(segments, shard, shardCount);
      if (own.length === 0 && head === undefined) continue;
      const body = encodeWork({
        op,
        label,
        matcherSets,
        startMs,
        endMs,
        limit,
        shard,
        shardCount,
        segments: own,
        head: head === undefined ? undefined : { snapshot: head, ...range },
      });
      bodies.push({ shard, body });
    }
    return { shardCount, bodies };
  }

  async #merge(
    queryId: QueryId,
    op: LabelsWork["op"],
    artifacts: readonly LocalArtifact[],
    limit: number,
    signal: AbortSignal,
  ): Promise<MergedLabels> {
    const contents = artifacts.map(({ content }) => content);
    const bytesMax = this.#limits.answerBytesMax;
    return await this.#pool.within({
      fields: { query_id: queryId },
      signal,
      act: async (place) => {
        const { query } = place;
        return await place.ask("labels", { query, op, contents, limit, bytesMax }, signal);
      },
    });
  }
}
