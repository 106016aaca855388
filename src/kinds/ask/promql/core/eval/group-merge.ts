/**
 * Merges one group of an aggregation from several shards. Sums are merged with their compensations,
 * so that sharding affects only the last bits. The given groups are not written to.
 */
import { lostAfter } from "../histogram/kahan.ts";
import type { PartialGroup, PartialOp } from "../leaf.ts";

export class GroupMerge {
  readonly #op: PartialOp;
  #group: PartialGroup;
  #owned = false;

  constructor(op: PartialOp, group: PartialGroup) {
    this.#op = op;
    this.#group = group;
  }

  get group(): PartialGroup {
    return this.#group;
  }

  /** Returns false and changes nothing when the sums of an average would overflow. */
  add(other: PartialGroup): boolean {
    if (this.#op === "avg" && overflows(this.#group, other)) return false;
    this.#own(other.dropName);
    const { counts, values, compensations } = this.#group;
    if (values !== undefined && other.values !== undefined) {
      if (this.#op === "min" || this.#op === "max") {
        mergeExtremes(this.#op, values, counts, other.values, other.counts);
      } else if (compensations !== undefined && other.compensations !== undefined) {
        mergeSums(values, compensations, counts, other.values, other.compensations, other.counts);
      }
    }
    // Last, because the old counts decide about the values.
    for (let step = 0; step < counts.length; step += 1) {
      counts[step] = (counts[step] as number) + (other.counts[step] as number);
    }
    return true;
  }

  #own(dropName: boolean): void {
    const group = this.#group;
    if (this.#owned && (group.dropName || !dropName)) return;
    this.#group = {
      labels: group.labels,
      dropName: group.dropName || dropName,
      counts: this.#owned ? group.counts : group.counts.slice(),
      values: this.#owned ? group.values : group.values?.slice(),
      compensations: this.#owned ? group.compensations : group.compensations?.slice(),
    };
    this.#owned = true;
  }
}

function overflows(a: PartialGroup, b: PartialGroup): boolean {
  const { values: left, counts } = a;
  const { values: right } = b;
  if (left === undefined || right === undefined) return false;
  for (let step = 0; step < counts.length; step += 1) {
    const sum = (left[step] as number) + (right[step] as number);
    if (Number.isFinite(sum) || Number.isNaN(sum)) continue;
    if (Number.isFinite(left[step]) && Number.isFinite(right[step])) return true;
  }
  return false;
}

function mergeSums(
  values: Float64Array,
  compensations: Float64Array,
  counts: Float64Array,
  others: Float64Array,
  otherCompensations: Float64Array,
  otherCounts: Float64Array,
): void {
  for (let step = 0; step < values.length; step += 1) {
    if (otherCounts[step] === 0) continue;
    const value = others[step] as number;
    const lost = otherCompensations[step] as number;
    if (counts[step] === 0) {
      values[step] = value;
      compensations[step] = lost;
      continue;
    }
    const sum = values[step] as number;
    const total = sum + value;
    values[step] = total;
    compensations[step] = lostAfter(value, sum, total, (compensations[step] as number) + lost);
  }
}

/** NaN is replaced by any other value. */
function mergeExtremes(
  op: "min" | "max",
  values: Float64Array,
  counts: Float64Array,
  others: Float64Array,
  otherCounts: Float64Array,
): void {
  const least = op === "min";
  for (let step = 0; step < values.length; step += 1) {
    if (otherCounts[step] === 0) continue;
    const best = values[step] as number;
    const value = others[step] as number;
    const better = least ? value < best : value > best;
    if (counts[step] === 0 || better || Number.isNaN(best)) values[step] = value;
  }
}
