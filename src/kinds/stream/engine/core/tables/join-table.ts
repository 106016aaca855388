/**
 * Finds the pairs of rows of two stores whose keys are equal: a hash table with chains over the
 * right rows, probed with the left ones. NULL equals nothing unless a key is null-safe, NaN equals
 * nothing. Without keys every pair is found, so a residual predicate makes a nested loop of it.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { DataType, JoinKey, Schema } from "../../../language/core/index.ts";
import { batchRowsMax } from "../batch.ts";
import { compileShape } from "../compile-shape.ts";
import { allRows, type ColumnView } from "./column-view.ts";
import { equalityOf, isNullAt, viewLocals } from "./equality-source.ts";
import { type HashRows, hashRowsOf } from "./hash-rows.ts";
import { equalBytes } from "./text-bytes.ts";

/** How many rows of a probe have the heads of their chains read before these are followed. */
const headsAtOnce = 1_024;

/** Where a probe stopped because the pairs were full. */
interface Place {
  row: number;
  /** The next right row of the chain; -1 at its end, -2 before its beginning. */
  entry: number;
}

type Build = (
  views: readonly ColumnView[],
  hashes: Int32Array,
  from: number,
  count: number,
  heads: Int32Array,
  next: Int32Array,
) => void;

type Probe = (
  place: Place,
  left: readonly ColumnView[],
  right: readonly ColumnView[],
  leftHashes: Int32Array,
  rightHashes: Int32Array,
  count: number,
  heads: Int32Array,
  next: Int32Array,
  leftRows: Int32Array,
  rightRows: Int32Array,
) => number;

/** The generated loops of a join, for the types of its keys. */
export interface JoinLoops {
  readonly hash: HashRows;
  readonly build: Build;
  readonly probe: Probe;
}

export function createJoinLoops(keys: readonly JoinKey[], left: Schema, right: Schema): JoinLoops {
  const sides = keys.map(({ left: l, right: r, nullSafe }) => {
    const [a, b] = [left[l]?.type, right[r]?.type];
    assert(a !== undefined && b !== undefined, "a key of a join is a column of each side");
    assert(a.name === b.name, "both columns of a key have one type");
    return { left: a, right: b, nullSafe };
  });
  const types = sides.map(({ left: a, right: b, nullSafe }): DataType => {
    return { name: a.name, nullable: nullSafe && (a.nullable || b.nullable) };
  });
  const isNull = (side: "left" | "right", name: string, row: string) => {
    const nulls = sides.flatMap((each, i) =>
      !each.nullSafe && each[side].nullable ? isNullAt(name, i, row) : [],
    );
    return nulls.length === 0 ? "false" : nulls.join(" || ");
  };
  const build = `
    "use strict";
    return function build(views, hashes, from, count, heads, next) {
      ${viewLocals(types, "b", "views")}
      const mask = heads.length - 1;
      for (let j = count - 1; j >= from; j -= 1) {
        if (${isNull("right", "b", "j")}) continue;
        const head = hashes[j] & mask;
        next[j] = heads[head];
        heads[head] = j + 1;
      }
    };`;
  const equality = equalityOf(types, {
    left: "a",
    leftRow: "i",
    right: "b",
    rightRow: "j",
    nan: "unequal",
  });
  // The heads of many rows are read before any chain is followed: their cache misses overlap.
  const probe = `
    "use strict";
    const firsts = new Int32Array(${headsAtOnce});
    return function probe(place, left, right, lh, rh, count, heads, next, leftRows, rightRows) {
      ${viewLocals(types, "a", "left")}
      ${viewLocals(types, "b", "right")}
      const mask = heads.length - 1, capacity = leftRows.length;
      let n = 0, entry = place.entry;
      for (let from = place.row; from < count; from += ${headsAtOnce}) {
        const upTo = Math.min(count, from + ${headsAtOnce});
        for (let i = from; i < upTo; i += 1) firsts[i - from] = heads[lh[i] & mask];
        for (let i = from; i < upTo; i += 1) {
          if (entry === -2) {
            if (${isNull("left", "a", "i")}) continue;
            entry = firsts[i - from] - 1;
          }
          while (entry >= 0) {
            const j = entry;
            entry = next[j] - 1;
            if (rh[j] === lh[i] && ${equality}) {
              leftRows[n] = i;
              rightRows[n] = j;
              n += 1;
              if (n === capacity) {
                place.row = i;
                place.entry = entry;
                return n;
              }
            }
          }
          entry = -2;
        }
      }
      place.row = count;
      place.entry = -2;
      return n;
    };`;
  return {
    hash: hashRowsOf(types.map(({ name }) => name)),
    build: compileShape<() => Build>([], build)(),
    probe: compileShape<(equal: typeof equalBytes) => Probe>(["equalBytes"], probe)(equalBytes),
  };
}

export class JoinTable {
  readonly #loops: JoinLoops;
  #right: readonly ColumnView[] = [];
  #heads = new Int32Array(0);
  #next = new Int32Array(0);
  #hashes = new Int32Array(0);
  #leftHashes = new Int32Array(0);
  readonly #leftRows = new Int32Array(batchRowsMax);
  readonly #rightRows = new Int32Array(batchRowsMax);

  constructor(loops: JoinLoops) {
    this.#loops = loops;
  }

  /**
   * Takes other rows instead of those it has: the columns of the keys, of `count` rows. The room of
   * the last rows is used again, unless it was for many more.
   */
  build(right: readonly ColumnView[], count: number): void {
    this.#right = right;
    let headCount = 16;
    while (headCount < count * 2) headCount *= 2;
    if (this.#heads.length === headCount) this.#heads.fill(0);
    else this.#heads = new Int32Array(headCount);
    if (this.#next.length < count || this.#next.length > 16 * headCount) {
      this.#next = new Int32Array(headCount / 2);
      this.#hashes = new Int32Array(headCount / 2);
    }
    this.#loops.hash(right, allRows(count), count, this.#hashes);
    this.#loops.build(right, this.#hashes, 0, count, this.#heads, this.#next);
  }

  /** Forgets the rows and their room. */
  clear(): void {
    this.#right = [];
    this.#heads = new Int32Array(0);
    this.#next = new Int32Array(0);
    this.#hashes = new Int32Array(0);
    this.#leftHashes = new Int32Array(0);
  }

  /** Calls `take` with up to a batch of pairs at a time; the arrays are used again. */
  probe(
    left: readonly ColumnView[],
    count: number,
    take: (leftRows: Int32Array, rightRows: Int32Array) => void,
  ): void {
    if (this.#leftHashes.length < count) this.#leftHashes = new Int32Array(count + (count >> 2));
    const hashes = this.#leftHashes;
    this.#loops.hash(left, allRows(count), count, hashes);
    const place: Place = { row: 0, entry: -2 };
    while (place.row < count) {
      const found = this.#loops.probe(
        place,
        left,
        this.#right,
        hashes,
        this.#hashes,
        count,
        this.#heads,
        this.#next,
        this.#leftRows,
        this.#rightRows,
      );
      if (found > 0) take(this.#leftRows.subarray(0, found), this.#rightRows.subarray(0, found));
    }
  }

  get bytes(): number {
    const { byteLength } = this.#hashes;
    return this.#heads.byteLength + 2 * byteLength + this.#leftHashes.byteLength;
  }
}
