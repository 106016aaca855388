/**
 * Affinity keys for the works of one leaf, so that they spread evenly over the workers. Rendezvous hashing is even over many
 * keys; over the few shards of one query it is not: two workers get four shards 4:0 every eighth time, and the query takes
 * twice as long. So each shard goes to the worker that wants it most among those that do not yet have their share, and gets
 * the first key that rendezvous sends there. The same workers give the same keys: caches stay warm.
 */
import type { WorkerId } from "../../../kernel/ids.ts";
import { rankWorkers, rendezvous } from "../../../workcoord/core/index.ts";

/** Rendezvous finds a given one of n workers after n tries on average; beyond this it is somebody else's. */
const triesMax = 64;

export function balanceAffinity(
  base: string,
  shardCount: number,
  workers: readonly WorkerId[],
): readonly string[] {
  const shareMax = Math.ceil(shardCount / Math.max(1, workers.length));
  const taken = new Map<WorkerId, number>();
  return Array.from({ length: shardCount }, (_, shard) => {
    const key = `${base}/${shard}.${shardCount}`;
    if (workers.length < 2 || shardCount === 1) return key;
    const ranked = rankWorkers(key, workers);
    const wanted = ranked.find((worker) => (taken.get(worker) ?? 0) < shareMax);
    if (wanted === undefined) return key;
    taken.set(wanted, (taken.get(wanted) ?? 0) + 1);
    return keyFor(key, wanted, workers);
  });
}

function keyFor(key: string, wanted: WorkerId, workers: readonly WorkerId[]): string {
  if (rendezvous(key, workers) === wanted) return key;
  for (let attempt = 1; attempt < triesMax; attempt += 1) {
    const other = `${key}~${attempt}`;
    if (rendezvous(other, workers) === wanted) return other;
  }
  return key;
}
