/**
 * A hash table from keys of several columns to dense numbers: the first key is 0, the next one 1
 * and so on. Open addressing with linear probing on an array of 32-bit slots; the keys are columns
 * of a row store, so they can be handed out as they are. NULL is a key like any other, NaN equals
 * NaN, and -0 equals 0.
 *
 * A batch is looked up in one loop that is generated for the types of the keys. Keys that are new
 * are compared with the batch itself until the end of the loop, and copied all together then.
 */
import type { DataType } from "../../../language/core/index.ts";
import { allRows, type ColumnView } from "./column-view.ts";
import { equalityOf, viewLocals } from "./equality-source.ts";
import { type HashRows, hashRowsOf } from "./hash-rows.ts";
import { RowStore } from "./row-store.ts";
import { equalBytes } from "./text-bytes.ts";

/** Looks rows up; with `inserts` it adds those that are missing, else they are -1. */
type Lookup = (
  table: KeyTable,
  stored: readonly ColumnView[],
  views: readonly ColumnView[],
  rows: Int32Array,
  count: number,
  hashes: Int32Array,
  out: Int32Array,
  inserts: boolean,
) => void;

const slotsMin = 16;
let scratchHashes = new Int32Array(8_192);
let newRows = new Int32Array(8_192);

export class KeyTable {
  readonly types: readonly DataType[];
  readonly keys: RowStore;
  /** The hash of every key, for growing and for tables that take this one's keys. */
  hashes = new Int32Array(slotsMin);
  /** The number of a key plus 1; 0 is an empty slot. */
  slots = new Int32Array(slotsMin);
  count = 0;
  readonly newRows: () => Int32Array = () => newRows;
  readonly #hash: HashRows;
  readonly #lookup: Lookup;

  constructor(types: readonly DataType[], keys: RowStore = new RowStore(types)) {
    this.types = types;
    this.keys = keys;
    this.#hash = hashRowsOf(types.map(({ name }) => name));
    this.#lookup = lookupOf(types);
    if (keys.rowCount > 0) this.#index();
  }

  /** Writes the number of the key of row `rows[i]` to `out[i]`, and adds keys that are new. */
  add(views: readonly ColumnView[], rows: Int32Array, out: Int32Array): void {
    this.addHashed(views, rows, this.hashesOf(views, rows), out);
  }

  /** The same for keys whose hashes are known. */
  addHashed(
    views: readonly ColumnView[],
    rows: Int32Array,
    hashes: Int32Array,
    out: Int32Array,
  ): void {
    const count = rows.length;
    if (count > newRows.length) newRows = new Int32Array(count * 2);
    const known = this.count;
    this.#lookup(this, this.keys.views, views, rows, count, hashes, out, true);
    if (this.count > known) this.keys.append(views, newRows.subarray(0, this.count - known));
  }

  /** Writes the number of the key of row `rows[i]` to `out[i]`, or -1. */
  find(views: readonly ColumnView[], rows: Int32Array, out: Int32Array): void {
    const hashes = this.hashesOf(views, rows);
    this.#lookup(this, this.keys.views, views, rows, rows.length, hashes, out, false);
  }

  hashesOf(views: readonly ColumnView[], rows: Int32Array): Int32Array {
    const count = rows.length;
    if (count > scratchHashes.length) scratchHashes = new Int32Array(count * 2);
    this.#hash(views, rows, count, scratchHashes);
    return scratchHashes;
  }

  /** Makes room for so many keys at once, so that it need not grow step by step. */
  reserve(keyCount: number): void {
    this.keys.reserve(keyCount);
    if (keyCount > this.hashes.length) this.hashes = grownHashes(this.hashes, keyCount);
    let slotCount = this.slots.length;
    while (keyCount * 2 >= slotCount) slotCount *= 2;
    if (slotCount > this.slots.length) this.#fill(slotCount);
  }

  /** Called by the loop when half of the slots are taken, or all hashes. */
  grow(): void {
    if (this.count >= this.hashes.length) {
      this.hashes = grownHashes(this.hashes, this.hashes.length * 2);
    }
    if (this.count * 2 < this.slots.length) return;
    this.#fill(this.slots.length * 2);
  }

  #fill(slotCount: number): void {
    this.slots = new Int32Array(slotCount);
    this.#enter();
  }

  /** Enters all keys into the slots, which are empty. */
  #enter(): void {
    const { hashes, count, slots } = this;
    const mask = slots.length - 1;
    for (let key = 0; key < count; key += 1) {
      let slot = (hashes[key] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = key + 1;
    }
  }

  /** Makes slots and hashes for keys that were read back. */
  #index(): void {
    const count = this.keys.rowCount;
    let slotCount = slotsMin;
    while (count * 2 >= slotCount) slotCount *= 2;
    this.hashes = new Int32Array(Math.max(slotsMin, count));
    this.#hash(this.keys.views, allRows(count), count, this.hashes);
    this.count = count;
    this.#fill(slotCount);
  }

  /** Takes the keys of another table of the same types; this one is empty. */
  copy(from: KeyTable): void {
    const { count } = from;
    this.keys.append(from.keys.views, allRows(count));
    if (this.hashes.length < count) this.hashes = new Int32Array(count);
    this.hashes.set(from.hashes.subarray(0, count));
    this.count = count;
    if (this.slots.length < from.slots.length) this.slots = from.slots.slice();
    else if (this.slots.length === from.slots.length) this.slots.set(from.slots);
    else this.#enter();
  }

  /** Forgets all keys and keeps the room for them. */
  clear(): void {
    this.keys.clear();
    this.slots.fill(0);
    this.count = 0;
  }

  /** Whether it has much more room than its keys take, as after a burst. */
  get isSparse(): boolean {
    return this.slots.length > 1_024 && this.slots.length > this.count * 16;
  }

  get bytes(): number {
    return this.keys.bytes + this.hashes.byteLength + this.slots.byteLength;
  }
}

const compiled = new Map<string, Lookup>();

function lookupOf(types: readonly DataType[]): Lookup {
  const shape = types.map(({ name, nullable }) => `${name}${nullable ? "?" : ""}`).join(" ");
  let found = compiled.get(shape);
  if (found === undefined) {
    found = compile(types);
    compiled.set(shape, found);
  }
  return found;
}

function compile(types: readonly DataType[]): Lookup {
  const only = types.length === 1 && types[0]?.name !== "VARSIZED";
  const sameHash = only ? "" : "hashes[i] === stored[key] && ";
  const equals = (side: string, row: string) =>
    equalityOf(types, { left: "b", leftRow: "r", right: side, rightRow: row, nan: "equal" });
  const body = `
    "use strict";
    return function lookup(table, keys, views, rows, count, hashes, out, inserts) {
      ${viewLocals(types, "k", "keys")}
      ${viewLocals(types, "b", "views")}
      const fresh = table.newRows();
      const known = table.count;
      let slots = table.slots, stored = table.hashes, mask = slots.length - 1;
      let size = known, limit = Math.min(stored.length, slots.length >> 1);
      // All first slots are read before any key is, so that their cache misses overlap.
      for (let i = 0; i < count; i += 1) out[i] = slots[hashes[i] & mask] - 1;
      for (let i = 0; i < count; i += 1) {
        const r = rows[i];
        let key = out[i];
        if (key >= 0 && ${sameHash}${equals("k", "key")}) continue;
        let slot = hashes[i] & mask;
        for (;;) {
          key = slots[slot] - 1;
          if (key < 0) break;
          if (key < known) {
            if (${sameHash}${equals("k", "key")}) break;
          } else {
            const f = fresh[key - known];
            if (${sameHash}${equals("b", "f")}) break;
          }
          slot = (slot + 1) & mask;
        }
        if (key < 0 && inserts) {
          if (size >= limit) {
            table.count = size;
            table.grow();
            slots = table.slots; stored = table.hashes; mask = slots.length - 1;
            limit = Math.min(stored.length, slots.length >> 1);
            slot = hashes[i] & mask;
            while (slots[slot] !== 0) slot = (slot + 1) & mask;
          }
          key = size;
          fresh[key - known] = r;
          stored[key] = hashes[i];
          size += 1;
          slots[slot] = size;
        }
        out[i] = key;
      }
      table.count = size;
    };`;
  return new Function("equalBytes", body)(equalBytes) as Lookup;
}

function grownHashes(hashes: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(length);
  grown.set(hashes);
  return grown;
}
