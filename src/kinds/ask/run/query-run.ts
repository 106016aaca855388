/**
 * One query through the whole path: an evaluation thread plans it, it is cut into works, workers
 * execute those, and their artifacts are merged and evaluated as they arrive.
 * The head's snapshot is taken before the segments are listed, so that samples sealed in between
 * are in both rather than in neither. However the query ends, its works are cancelled or done, its
 * artifacts are deleted and its thread has forgotten it. A query that reads nothing needs no work.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import type { QueryId, WorkerId } from "../../../ground/kernel/ids.ts";
import type { LocalArtifact, QueryHandle } from "../../../ground/work/core/index.ts";
import type { HeadSnapshot, SegmentInfo } from "../metrics/core/index.ts";
import {
  type BaseExpr,
  type EngineOptions,
  instantGrid,
  leafTimeRange,
  type QueryParams,
  stepCount,
} from "../promql/core/index.ts";
import { type Cut, cutGrid, decideCut } from "./core/decide-cut.ts";
import { placeRehearsal, placeShards } from "./core/place-shards.ts";
import { type PlannedWork, planWorks, type WorkPlan } from "./core/plan-works.ts";
import { type LeafScope, type SampleDensities, scopeLeaf } from "./core/scope-leaf.ts";
import type { ArtifactNote, PlannedQuery, RanQuery } from "./eval-messages.ts";
import type { EvalPlace } from "./eval-pool.ts";
import type { LeafSummary, PromqlRequest, QuerySummary } from "./promql-service.ts";
import type { QueryClock } from "./query-clock.ts";
import { operatingError, resultTooLarge } from "./query-errors.ts";
import { headWarnings, type PromqlLimits, type PromqlServiceDeps } from "./service-options.ts";

export interface QueryRunParts {
  readonly deps: PromqlServiceDeps;
  readonly limits: PromqlLimits;
  readonly options: EngineOptions;
  readonly densities: SampleDensities;
  readonly queryId: QueryId;
  /** The query's attempt, counted from 1. */
  readonly attempt: number;
  readonly request: PromqlRequest;
  readonly place: EvalPlace;
  readonly clock: QueryClock;
  readonly streamed: boolean;
  /** The number of the rehearsal; undefined for a real query. */
  readonly rehearsal?: number | undefined;
}

/** What is known about a work when its artifact has arrived. */
interface WorkDone {
  readonly workerId: WorkerId;
  readonly attempts: number;
  readonly artifactBytes: number;
  readonly workMs: number;
  readonly fetchMs: number;
}

export interface QueryOutput {
  readonly ran: RanQuery;
  readonly summary: QuerySummary;
}

export function paramsOf({ at }: PromqlRequest): QueryParams {
  return "timeMs" in at
    ? { instant: true, grid: instantGrid(at.timeMs) }
    : { instant: false, grid: at };
}

export class QueryRun {
  readonly #parts: QueryRunParts;
  readonly #done = new Map<string, WorkDone>();
  #artifactBytes = 0;
  #queueMs = 0;
  #openedMs = 0;
  #firstResultMs: number | undefined;

  constructor(parts: QueryRunParts) {
    this.#parts = parts;
  }

  /** Call it when a streamed query has sent its first result. */
  firstResult(): void {
    this.#firstResultMs ??= this.#parts.clock.elapsedMs;
  }

  async run(): Promise<QueryOutput> {
    const { clock, deps } = this.#parts;
    this.#queueMs = clock.elapsedMs;
    const { planned, head, segments, missing } = await this.#prepare();
    const scopes = planned.leaves.map((leaf) => this.#scope(leaf, segments, head));
    const wanted = this.#cut(scopes);
    const cut = planned.divisible ? wanted : { ...wanted, spanCount: 1 };
    const spans = cut.spanCount === 1 ? [scopes] : await this.#split(cut, segments, head);
    const { rehearsal } = this.#parts;
    const plan = planWorks({
      isRehearsal: rehearsal !== undefined,
      queryId: this.#parts.queryId,
      attempt: this.#parts.attempt,
      spans,
      head,
      shardCount: cut.shardCount,
      samplesMax: this.#parts.options.samplesMax,
      labelBytesMax: this.#parts.options.labelBytesMax,
      place: (base, shardCount) =>
        rehearsal === undefined
          ? placeShards(base, shardCount, deps.manager.workers())
          : placeRehearsal(rehearsal, deps.manager.workers()),
    });
    this.#openedMs = clock.elapsedMs;
    const ran =
      plan.works.length === 0
        ? await this.#evaluate(plan, missing, undefined)
        : await this.#execute(plan, missing);
    this.#learn(spans, ran);
    return { ran, summary: this.#summary(planned, spans, plan, ran) };
  }

  /** Evaluates in the query's thread, which gets the request with the first artifact. */
  #evaluate(
    { resultCounts }: WorkPlan,
    warnings: readonly string[],
    first: ArtifactNote | undefined,
  ): Promise<RanQuery> {
    const { deps, place, request, limits, streamed, clock, rehearsal } = this.#parts;
    const { instant, grid } = paramsOf(request);
    const asked = {
      isRehearsal: rehearsal !== undefined,
      query: place.query,
      resultCounts,
      first,
      streamed,
      keepResults: deps.keepResults === true,
      warnings,
      shape: {
        instant,
        atMs: grid.startMs,
        limit: request.limit ?? 0,
        bytesMax: limits.answerBytesMax,
      },
    };
    return place.ask("run", asked, clock.signal, transferOf(first));
  }

  /**
   * Asks for the head's snapshot while the query is planned, and before the segments are listed.
   */
  async #prepare(): Promise<{
    readonly planned: PlannedQuery;
    readonly head: HeadSnapshot | undefined;
    readonly segments: readonly SegmentInfo[];
    /** Warnings about what the answer lacks. */
    readonly missing: readonly string[];
  }> {
    const { place, deps, request, options, clock, rehearsal } = this.#parts;
    const params = paramsOf(request);
    const lastMs = Promise.withResolvers<number>();
    const snapshot = deps.head(lastMs.promise);
    snapshot.catch(() => undefined); // A query that does not parse needs none.
    const { query } = place;
    const isRehearsal = rehearsal !== undefined;
    const plan = { query, text: request.query, params, options, isRehearsal };
    const planned = await place.ask("plan", plan, clock.signal);
    if (planned.leaves.length === 0) return { planned, head: undefined, segments: [], missing: [] };
    const ranges = planned.leaves.map(leafTimeRange);
    const minTs = Math.min(...ranges.map(({ minMs }) => minMs));
    const maxTs = Math.max(...ranges.map(({ maxMs }) => maxMs));
    lastMs.resolve(maxTs);
    const head = await snapshot;
    const missing = head === undefined ? headWarnings(deps) : [];
    const segments = await deps.segments.list({ minTs, maxTs });
    return { planned, head, segments, missing };
  }

  #scope(
    leaf: BaseExpr,
    segments: readonly SegmentInfo[],
    head: HeadSnapshot | undefined,
  ): LeafScope {
    return scopeLeaf(leaf, segments, head, this.#parts.densities);
  }

  #cut(scopes: readonly LeafScope[]): Cut {
    const { deps, limits, streamed, request } = this.#parts;
    return cutFor(scopes, stepCount(paramsOf(request).grid), streamed, deps, limits);
  }

  async #split(
    cut: Cut,
    segments: readonly SegmentInfo[],
    head: HeadSnapshot | undefined,
  ): Promise<readonly (readonly LeafScope[])[]> {
    const { place, request, clock } = this.#parts;
    const spans = cutGrid(paramsOf(request).grid, cut.spanCount);
    const split = await place.ask("split", { query: place.query, spans }, clock.signal);
    return split.map((leaves) => leaves.map((leaf) => this.#scope(leaf, segments, head)));
  }

  /** Cleans up, however the query ended. */
  async #execute(plan: WorkPlan, warnings: readonly string[]): Promise<RanQuery> {
    const { deps, queryId, request, clock, place, limits } = this.#parts;
    const { query } = place;
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    const byKey = new Map(plan.works.map((work) => [workKey(work), work]));
    let running: Promise<RanQuery> | undefined;
    const handle: QueryHandle = deps.manager.open(
      {
        queryId,
        works: plan.works.map(({ spec }) => spec),
        deadlineMs: clock.leftMs,
        text: request.query,
        isRehearsal: this.#parts.rehearsal !== undefined,
        onCommitted: ({ leafId, workId }, local, { workerId, attempt, fetchMs }) => {
          const work = byKey.get(`${leafId}/${workId}`);
          assert(work !== undefined, "only what was asked for is committed");
          const workMs = clock.elapsedMs - this.#openedMs;
          const { sizeBytes } = local.artifact;
          this.#artifactBytes += sizeBytes;
          if (this.#artifactBytes > limits.artifactBytesMax) {
            failed.reject(resultTooLarge(limits.artifactBytesMax));
            return;
          }
          const done = { workerId, attempts: attempt, artifactBytes: sizeBytes, workMs, fetchMs };
          this.#done.set(workKey(work), done);
          const { span, leaf, index } = work;
          const note = { query, span, leaf, index, content: local.content, sizeBytes };
          if (running === undefined) {
            running = this.#evaluate(plan, warnings, note);
            running.catch(failed.reject);
          } else place.tell(note, transferOf(note));
        },
      },
      clock.signal,
    );
    let artifacts: readonly LocalArtifact[] = [];
    const arriving = handle.artifacts.then((all) => {
      artifacts = all;
    });
    try {
      await Promise.race([arriving, failed.promise]);
      assert(running !== undefined, "a query with works has artifacts");
      const ran = await running;
      handle.finish();
      return ran;
    } catch (thrown) {
      handle.finish(operatingError(thrown));
      throw thrown;
    } finally {
      // The answer does not wait for the deletion; files left over are deleted at the next start.
      for (const artifact of artifacts) artifact.dispose().catch(() => undefined);
    }
  }

  #learn(spans: readonly (readonly LeafScope[])[], ran: RanQuery): void {
    if (this.#parts.rehearsal !== undefined) return;
    const [scopes = []] = spans;
    for (const [leaf, { leaf: base, range }] of scopes.entries()) {
      const stats = ran.stats[0]?.[leaf] ?? [];
      if (stats.length === 0) continue;
      const total = (pick: (each: (typeof stats)[number]) => number): number =>
        stats.reduce((sum, each) => sum + pick(each), 0);
      this.#parts.densities.learn(base.matchers, range, {
        sampleCount: total(({ sampleCount }) => sampleCount),
        seriesCount: total(({ seriesCount }) => seriesCount),
      });
    }
  }

  #summary(
    planned: PlannedQuery,
    spans: readonly (readonly LeafScope[])[],
    plan: WorkPlan,
    ran: RanQuery,
  ): QuerySummary {
    const { queryId, clock } = this.#parts;
    const done = [...this.#done.values()];
    const totalMs = clock.elapsedMs;
    return {
      queryId,
      resultType: ran.resultType,
      seriesCount: ran.seriesCount,
      pointCount: ran.pointCount,
      warnings: ran.warnings,
      infos: ran.infos,
      stages: {
        planMs: planned.planMs,
        queueMs: this.#queueMs,
        workMs: Math.max(0, ...done.map(({ workMs }) => workMs)),
        fetchMs: Math.max(0, ...done.map(({ fetchMs }) => fetchMs)),
        evalMs: ran.evalMs + ran.decodeMs,
        totalMs,
        firstResultMs: this.#firstResultMs ?? totalMs,
      },
      leaves: (spans[0] ?? []).map((scope, leaf) =>
        this.#leafSummary(scope, leaf, spans, plan, ran),
      ),
    };
  }

  #leafSummary(
    scope: LeafScope,
    leaf: number,
    spans: readonly (readonly LeafScope[])[],
    plan: WorkPlan,
    ran: RanQuery,
  ): LeafSummary {
    const segmentIds = spans.flatMap(
      (span) => span[leaf]?.segments.map((each) => each.segmentId) ?? [],
    );
    return {
      text: ran.leafTexts[leaf] ?? "",
      output: scope.leaf.output.kind,
      segmentCount: new Set(segmentIds).size,
      fromHead: spans.some((span) => span[leaf]?.fromHead === true),
      works: plan.works
        .filter((work) => work.leaf === leaf)
        .map((work) => {
          const done = this.#done.get(workKey(work));
          const stats = ran.stats[work.span]?.[leaf]?.[work.index];
          return {
            shard: work.shard,
            workerId: done?.workerId,
            attempts: done?.attempts ?? 0,
            samples: stats?.sampleCount ?? 0,
            series: stats?.seriesCount ?? 0,
            artifactBytes: done?.artifactBytes ?? 0,
            workMs: done?.workMs ?? 0,
          };
        }),
    };
  }
}

/** The compute threads of all workers. */
export function computeUnitsOf({
  manager,
  computeUnits,
}: Pick<PromqlServiceDeps, "manager" | "computeUnits">): number {
  return computeUnits?.() ?? 2 * manager.workers().length;
}

export function cutFor(
  scopes: readonly LeafScope[],
  steps: number,
  streamed: boolean,
  deps: PromqlServiceDeps,
  { cut }: PromqlLimits,
): Cut {
  const decided = decideCut(
    {
      samplesEstimate: Math.max(0, ...scopes.map(({ samplesEstimate }) => samplesEstimate)),
      segmentCount: Math.max(0, ...scopes.map(({ segments }) => segments.length)),
      stepCount: steps,
      computeUnits: computeUnitsOf(deps),
      streamed,
    },
    cut,
  );
  return {
    shardCount: deps.forcedCut?.shardCount ?? decided.shardCount,
    spanCount: Math.min(steps, deps.forcedCut?.spanCount ?? decided.spanCount),
  };
}

/** The artifact's bytes are transferred, not copied. */
function transferOf(artifact: ArtifactNote | undefined): readonly ArrayBuffer[] {
  const content = artifact?.content ?? "";
  return typeof content === "string" ? [] : [content.buffer];
}

function workKey({ spec }: PlannedWork): string {
  return `${spec.leafId}/${spec.workId}`;
}
