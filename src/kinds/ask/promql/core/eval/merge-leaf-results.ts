/**
 * MergeSorted: merges the shards' results of one leaf, in label order. A series is in one shard; a
 * group may have members in several. The result depends only on the given results and their order.
 * They are not written to (PE25).
 */
import { annotationKey, mergeMessages } from "../annotations.ts";
import { compareLabels, type Labels } from "../labels.ts";
import type {
  BaseExpr,
  LeafAnnotation,
  LeafResult,
  LeafStats,
  PartialGroup,
  PartialOp,
} from "../leaf.ts";
import type { RawSeries, StepSeries } from "../model.ts";
import { GroupMerge } from "./group-merge.ts";

/** `results` has one for each shard that was asked, in their order; it may be empty. */
export function mergeLeafResults(leaf: BaseExpr, results: readonly LeafResult[]): LeafResult {
  const [only] = results;
  if (only !== undefined && results.length === 1) return only;
  const annotations = mergeAnnotations(results);
  const stats = mergeStats(results);
  const { output } = leaf;
  switch (output.kind) {
    case "raw": {
      const lists = results.map((result) => (result.kind === "raw" ? result.series : []));
      return { kind: "raw", annotations, stats, series: mergeSorted<RawSeries>(lists) };
    }
    case "steps": {
      const lists = results.map((result) => (result.kind === "steps" ? result.series : []));
      return { kind: "steps", annotations, stats, series: mergeSorted<StepSeries>(lists) };
    }
    case "partials": {
      const partials = results.filter((result) => result.kind === "partials");
      const groups = mergeGroups(
        output.aggregate.op,
        partials.map((result) => result.groups),
      );
      const series = mergeSorted(partials.map((result) => result.series));
      return { kind: "partials", annotations, stats, groups, series };
    }
  }
}

/** Merges two lists at a time, so that each series takes O(log n) comparisons. */
function mergeSorted<T extends { readonly labels: Labels }>(
  lists: readonly (readonly T[])[],
): readonly T[] {
  let runs = lists.filter((list) => list.length > 0);
  while (runs.length > 1) {
    const next: (readonly T[])[] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const left = runs[index] as readonly T[];
      const right = runs[index + 1];
      next.push(right === undefined ? left : mergeTwo(left, right));
    }
    runs = next;
  }
  return runs[0] ?? [];
}

function mergeTwo<T extends { readonly labels: Labels }>(
  left: readonly T[],
  right: readonly T[],
): T[] {
  const merged: T[] = [];
  let a = 0;
  let b = 0;
  while (a < left.length && b < right.length) {
    const fromLeft = left[a] as T;
    const fromRight = right[b] as T;
    if (compareLabels(fromLeft.labels, fromRight.labels) <= 0) {
      merged.push(fromLeft);
      a += 1;
    } else {
      merged.push(fromRight);
      b += 1;
    }
  }
  for (; a < left.length; a += 1) merged.push(left[a] as T);
  for (; b < right.length; b += 1) merged.push(right[b] as T);
  return merged;
}

/** In label order. An average may have the same labels more than once. */
export function mergeGroups(
  op: PartialOp,
  lists: readonly (readonly PartialGroup[])[],
): readonly PartialGroup[] {
  const merged = new Map<string, GroupMerge[]>();
  for (const list of lists) {
    for (const group of list) {
      const known = merged.get(group.labels.key);
      if (known === undefined) merged.set(group.labels.key, [new GroupMerge(op, group)]);
      // Sums of an average that would overflow stay apart; their mean still exists.
      else if (!known.some((one) => one.add(group))) known.push(new GroupMerge(op, group));
    }
  }
  const groups = [...merged.values()].flatMap((list) => list.map((one) => one.group));
  return groups.sort((x, y) => compareLabels(x.labels, y.labels));
}

function mergeStats(results: readonly LeafResult[]): LeafStats {
  let seriesCount = 0;
  let sampleCount = 0;
  for (const { stats } of results) {
    seriesCount += stats.seriesCount;
    sampleCount += stats.sampleCount;
  }
  return { seriesCount, sampleCount };
}

function mergeAnnotations(results: readonly LeafResult[]): LeafAnnotation[] {
  const merged = new Map<string, LeafAnnotation>();
  for (const annotation of results.flatMap(({ annotations }) => annotations)) {
    const key = `${annotation.level} ${annotation.place} ${annotationKey(annotation.message)}`;
    const known = merged.get(key);
    const message =
      known === undefined ? annotation.message : mergeMessages(known.message, annotation.message);
    merged.set(key, { ...annotation, message });
  }
  return [...merged.values()];
}
