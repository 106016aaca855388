/**
 * Which worker computes which shard of a metric: rendezvous hashing with bounded loads (QP3, QP15).
 * The finest cut has 16 keys, and each has a worker. A shard of a coarser cut goes to the worker of
 * the key with which it begins. So the worker of a key depends only on the metric and the set of
 * workers.
 * The load bound alone would move most keys whenever the even share changes by one. So each key
 * that a worker has also lowers its score for the next one.
 */
import type { WorkerId } from "../../../../ground/kernel/ids.ts";
import { affinityScore, hashText } from "../../../../ground/work/core/index.ts";

const finestCut = 16;
/**
 * A fifth of the range of scores, which is [0, 2^53). More is more even and moves more keys when a
 * worker leaves: at half of the range, removing one of N moves up to 2.7/N, at a fifth 1.8/N
 * (100 metrics, 4 to 16 workers). The price is evenness: of 8 workers one mostly gets 3 of 16 keys.
 */
const loadPenalty = 2 ** 53 / 5;

export interface PlacedShard {
  readonly affinityKey: string;
  /** `undefined`: there are no workers. */
  readonly worker: WorkerId | undefined;
}

/** `base` names the metric. In the order of the shards. The order of `workers` does not matter. */
export function placeShards(
  base: string,
  shardCount: number,
  workers: readonly WorkerId[],
): readonly PlacedShard[] {
  const placed = placeKeys(base, workers, shardCount);
  return Array.from({ length: shardCount }, (_, shard) => ({
    affinityKey: keyAt(base, shard / shardCount),
    worker: placed[Math.floor((shard * finestCut) / shardCount)],
  }));
}

/** The one shard of a rehearsal. Every worker and each of its threads has its turn. */
export function placeRehearsal(
  rehearsal: number,
  workers: readonly WorkerId[],
): readonly PlacedShard[] {
  const worker = workers[rehearsal % Math.max(1, workers.length)];
  return [{ affinityKey: `rehearsal ${rehearsal}`, worker }];
}

/** Shard 1 of 4 begins where shard 2 of 8 does, and has its key. */
function keyAt(base: string, place: number): string {
  return `${base}/${place}`;
}

/**
 * The keys of coarse cuts choose first, so that each cut is even by itself. Those of cuts finer
 * than `shardCount` are left out: no shard begins there, and they choose last.
 */
function placeKeys(
  base: string,
  workers: readonly WorkerId[],
  shardCount: number,
): readonly (WorkerId | undefined)[] {
  const candidates = workers
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((worker) => ({ worker, hash: hashText(worker), load: 0 }));
  const placed = new Array<WorkerId | undefined>(finestCut).fill(undefined);
  for (let cut = 1; cut <= Math.min(finestCut, shardCount); cut *= 2) {
    // One above the even share; of two workers each gets half (QP3).
    const loadMax = Math.ceil(cut / workers.length) + (workers.length > 2 ? 1 : 0);
    for (let index = 0; index < cut; index += 1) {
      if (cut > 1 && index % 2 === 0) continue; // A coarser cut begins a shard there too.
      const keyHash = hashText(keyAt(base, index / cut));
      let best: (typeof candidates)[number] | undefined;
      let bestScore = Number.NEGATIVE_INFINITY;
      for (const each of candidates) {
        if (each.load >= loadMax) continue;
        const score = affinityScore(keyHash, each.hash) - each.load * loadPenalty;
        if (score > bestScore) [best, bestScore] = [each, score];
      }
      if (best === undefined) continue; // There are no workers.
      best.load += 1;
      placed[(index * finestCut) / cut] = best.worker;
    }
  }
  return placed;
}
