/**
 * A series' fingerprint: 64 bits computed from its labels. It never changes, because segments are
 * split by it. Two series may share a fingerprint; only the choice of a shard may depend on it.
 *
 * It is two lanes of MurmurHash3 over the UTF-16 units of every name and value, each preceded by
 * its length, mixed at the end.
 */
import { assert } from "../../../../ground/kernel/errors.ts";
import type { Labels } from "../../promql/core/index.ts";

export interface Fingerprint {
  /** Both halves are unsigned 32-bit integers. */
  readonly hi: number;
  readonly lo: number;
}

export function fingerprint(labels: Labels): Fingerprint {
  let a = 0x2f0b4a91;
  let b = 0x6d1f52c7;
  for (const text of labels.pairs) {
    a = mixIn(a, text.length, 0xcc9e2d51, 0x1b873593);
    b = mixIn(b, text.length, 0x239b961b, 0xab0e9789);
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      a = mixIn(a, unit, 0xcc9e2d51, 0x1b873593);
      b = mixIn(b, unit, 0x239b961b, 0xab0e9789);
    }
  }
  a = (a + b) | 0;
  b = (b + a) | 0;
  a = finish(a);
  b = finish(b);
  a = (a + b) | 0;
  b = (b + a) | 0;
  return { hi: a >>> 0, lo: b >>> 0 };
}

/** Uses the first bits, so that shards of a greater count are parts of those of a smaller. */
export function shardOf({ hi }: Pick<Fingerprint, "hi">, shardCount: number): number {
  assert(isShardCount(shardCount), "a shard count is a power of two up to 65,536");
  return shardCount === 1 ? 0 : hi >>> (Math.clz32(shardCount) + 1);
}

export function isShardCount(count: number): boolean {
  return Number.isInteger(count) && count >= 1 && count <= 65_536 && (count & (count - 1)) === 0;
}

/** Whether two shards can have a series in common: one contains the other. */
export function shardsMeet(
  a: { readonly shard: number; readonly shardCount: number },
  b: { readonly shard: number; readonly shardCount: number },
): boolean {
  const [fine, coarse] = a.shardCount >= b.shardCount ? [a, b] : [b, a];
  return Math.floor((fine.shard * coarse.shardCount) / fine.shardCount) === coarse.shard;
}

/** The fingerprint as one signed 64-bit integer, for a Parquet column. */
export function fingerprintBits({ hi, lo }: Fingerprint): bigint {
  return BigInt.asIntN(64, (BigInt(hi) << 32n) | BigInt(lo));
}

function mixIn(hash: number, unit: number, first: number, second: number): number {
  let k = Math.imul(unit, first);
  k = Math.imul((k << 15) | (k >>> 17), second);
  const mixed = hash ^ k;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
