/**
 * The whole path in memory: parse, plan, every leaf on every shard, merge, evaluate. The real path
 * must give the same answers.
 */
import type { EngineOptions, QueryParams, QueryResult } from "../engine-types.ts";
import { evaluatePlan } from "../eval/evaluate-plan.ts";
import { mergeLeafResults } from "../eval/merge-leaf-results.ts";
import { type HeldMemory, unboundedMemory } from "../held-memory.ts";
import { compareLabels, type Labels } from "../labels.ts";
import { executeLeaf } from "../leaf/execute-leaf.ts";
import { compileMatchers } from "../leaf/matchers.ts";
import type { BaseExpr, LeafResult } from "../leaf.ts";
import type { RawSeries } from "../model.ts";
import { parseExpr } from "../parse/parse-expr.ts";
import { planQuery } from "../plan/plan-query.ts";

/**
 * `series` has each series once, in any order. Throws `PromqlError`. The shards decide the order of
 * additions, and so the last bit of some averages: pass `shardOf` to compare to the bit.
 */
export function evaluateInMemory(
  text: string,
  params: QueryParams,
  options: EngineOptions,
  series: readonly RawSeries[],
  shardCount = 1,
  shardOf: (labels: Labels, shardCount: number) => number = hashShardOf,
  memory: HeldMemory = unboundedMemory,
): QueryResult {
  const plan = planQuery(parseExpr(text), params, options);
  const sorted = [...series].sort((a, b) => compareLabels(a.labels, b.labels));
  const results = plan.leaves.map((leaf) => runLeaf(leaf, sorted, options, shardCount, shardOf));
  return evaluatePlan(plan, results, memory);
}

function runLeaf(
  leaf: BaseExpr,
  sorted: readonly RawSeries[],
  { samplesMax, labelBytesMax }: EngineOptions,
  shardCount: number,
  shardOf: (labels: Labels, shardCount: number) => number,
): LeafResult {
  const matches = compileMatchers(leaf.matchers);
  const shards: RawSeries[][] = Array.from({ length: shardCount }, () => []);
  for (const one of sorted) {
    if (matches(one.labels)) shards[shardOf(one.labels, shardCount)]?.push(one);
  }
  const results = shards.map((shard) => executeLeaf(leaf, shard, { samplesMax, labelBytesMax }));
  return mergeLeafResults(leaf, results);
}

/** FNV-1a; any hash of the labels would do. */
function hashShardOf({ key }: Labels, shardCount: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % shardCount;
}
