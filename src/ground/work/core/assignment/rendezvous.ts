/**
 * Rendezvous hashing: every worker has a score for a key, and the highest score wins. A worker that
 * leaves moves only the keys it had won; one that joins takes only the keys it now wins.
 *
 * A score is 53 bits made of two 32-bit lanes, so that it is one exact number: no BigInt, no
 * allocation per comparison, and no ties in practice. A tie goes to the smaller id all the same, so
 * that the choice never depends on the order in which workers are listed.
 */
import type { WorkerId } from "../../../kernel/ids.ts";

/** 64 bits of a text, in two signed 32-bit lanes. Computed once for each key and each worker. */
export interface TextHash {
  readonly high: number;
  readonly low: number;
}

export function hashText(text: string): TextHash {
  let high = 0x243f6a88 ^ text.length;
  let low = 0x13198a2e;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low + unit, 0x85ebca77) ^ (high >>> 15);
  }
  return { high: avalanche(high ^ (low >>> 7)), low: avalanche(low) };
}

/** The worker's score for the key: an integer in [0, 2^53). */
export function affinityScore(key: TextHash, worker: TextHash): number {
  const high = avalanche(key.high ^ Math.imul(worker.low, 0x9e3779b1));
  const low = avalanche((key.low + Math.imul(worker.high, 0x85ebca77)) ^ high);
  return (high >>> 0) * 0x20_0000 + (low >>> 11);
}

/** Undefined when there are no workers. */
export function rendezvous(key: string, workers: readonly WorkerId[]): WorkerId | undefined {
  const keyHash = hashText(key);
  let best: WorkerId | undefined;
  let bestScore = -1;
  for (const worker of workers) {
    const score = affinityScore(keyHash, hashText(worker));
    if (score > bestScore || (score === bestScore && best !== undefined && worker < best)) {
      best = worker;
      bestScore = score;
    }
  }
  return best;
}

/** All workers, highest score first. The next in rank replaces one that cannot take the work. */
export function rankWorkers(key: string, workers: readonly WorkerId[]): readonly WorkerId[] {
  const keyHash = hashText(key);
  return workers
    .map((worker) => ({ worker, score: affinityScore(keyHash, hashText(worker)) }))
    .sort((a, b) => b.score - a.score || (a.worker < b.worker ? -1 : 1))
    .map(({ worker }) => worker);
}

/** Every input bit changes about half of the output bits: MurmurHash3's 32-bit finalizer. */
function avalanche(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
