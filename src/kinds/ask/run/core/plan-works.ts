/**
 * Turns leaves into works, by span and shard. A leaf that has nothing to read gets no work and is
 * empty at once.
 */
import type { LeafId, QueryId, WorkId } from "../../../../ground/kernel/ids.ts";
import type { WorkSpec } from "../../../../ground/work/core/index.ts";
import type { HeadSnapshot } from "../../metrics/core/index.ts";
import { type Matcher, matcherSetKey, metricNameLabel } from "../../promql/core/index.ts";
import type { PlacedShard } from "./place-shards.ts";
import type { LeafScope, TimeRange } from "./scope-leaf.ts";
import { segmentsOfShard } from "./shards.ts";
import { encodeWork, type HeadScope, promqlRehearsalKind, promqlWorkKind } from "./work-body.ts";

/** A work, and the place of its result. */
export interface PlannedWork {
  readonly spec: WorkSpec;
  readonly span: number;
  readonly leaf: number;
  /** Its place among the results of its leaf, in shard order. */
  readonly index: number;
  readonly shard: number;
}

export interface WorkPlan {
  /** Sorted by the time of their span; they are assigned in this order. */
  readonly works: readonly PlannedWork[];
  /** The number of results of each leaf, by span. */
  readonly resultCounts: readonly (readonly number[])[];
}

export interface WorkPlanInput {
  readonly queryId: QueryId;
  /** Counted from 1. A query that starts again keeps its id, and its works get new ids. */
  readonly attempt?: number;
  /** The leaves of each span. */
  readonly spans: readonly (readonly LeafScope[])[];
  readonly head: HeadSnapshot | undefined;
  readonly shardCount: number;
  readonly samplesMax: number;
  readonly labelBytesMax: number;
  /** Whether it only runs code: then works that have nothing to read are works, too. */
  readonly isRehearsal?: boolean;
  /** Returns the worker of each shard of a metric. */
  readonly place: (base: string, shardCount: number) => readonly PlacedShard[];
}

export function planWorks(input: WorkPlanInput): WorkPlan {
  const works: PlannedWork[] = [];
  const heads = headScopes(input);
  const suffix = (input.attempt ?? 1) === 1 ? "" : `.${input.attempt}`;
  const resultCounts = input.spans.map((scopes, span) =>
    scopes.map((scope, leaf) => {
      const added = worksOfLeaf(input, scope, heads.get(matcherSetKey(scope.leaf.matchers)));
      for (const [index, { shard, body, placed }] of added.entries()) {
        const spec = {
          queryId: input.queryId,
          leafId: `l${leaf}` as LeafId,
          workId: `${span}.${shard}${suffix}` as WorkId,
          kind: input.isRehearsal === true ? promqlRehearsalKind : promqlWorkKind,
          body,
          affinityKey: placed.affinityKey,
          preferred: placed.worker,
        };
        works.push({ spec, span, leaf, index, shard });
      }
      return added.length;
    }),
  );
  return { works, resultCounts };
}

interface LeafWorkText {
  readonly shard: number;
  readonly body: string;
  readonly placed: PlacedShard;
}

function worksOfLeaf(
  { shardCount, samplesMax, labelBytesMax, place, isRehearsal = false }: WorkPlanInput,
  scope: LeafScope,
  head: HeadScope | undefined,
): readonly LeafWorkText[] {
  const places = place(affinityBase(scope.leaf.matchers), shardCount);
  const works: LeafWorkText[] = [];
  for (let shard = 0; shard < shardCount; shard += 1) {
    const segments = segmentsOfShard(scope.segments, shard, shardCount);
    const ownHead = scope.fromHead ? head : undefined;
    if (segments.length === 0 && ownHead === undefined && !isRehearsal) continue;
    const { leaf } = scope;
    const work = {
      op: "leaf" as const,
      leaf,
      shard,
      shardCount,
      segments,
      head: ownHead,
      samplesMax,
      labelBytesMax,
    };
    works.push({ shard, body: encodeWork(work), placed: places[shard] as PlacedShard });
  }
  return works;
}

/**
 * One pull serves all leaves and spans of a query that select the same series, so its range covers
 * all of them.
 */
function headScopes({ spans, head }: WorkPlanInput): ReadonlyMap<string, HeadScope> {
  const ranges = new Map<string, TimeRange>();
  for (const { leaf, range, fromHead } of spans.flat()) {
    if (!fromHead) continue;
    const key = matcherSetKey(leaf.matchers);
    const known = ranges.get(key) ?? range;
    ranges.set(key, {
      minMs: Math.min(known.minMs, range.minMs),
      maxMs: Math.max(known.maxMs, range.maxMs),
    });
  }
  const scopes = new Map<string, HeadScope>();
  if (head === undefined) return scopes;
  for (const [key, range] of ranges) scopes.set(key, { snapshot: head, ...range });
  return scopes;
}

/** Series of one metric are stored together, so its shards belong together in the caches. */
export function affinityBase(matchers: readonly Matcher[]): string {
  const name = matchers.find(({ name, op }) => name === metricNameLabel && op === "=");
  return name === undefined ? "metrics" : `metric ${name.value}`;
}
