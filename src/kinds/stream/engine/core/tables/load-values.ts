/**
 * Takes the values of some rows out of a column, leaving out NULLs, into arrays that the loops of
 * the aggregates read. There is one generated loop for each type, so the aggregates need only two:
 * one for doubles and one for 64-bit integers as pairs of words.
 */
import { isSigned, type TypeName } from "../../../language/core/index.ts";
import { type ColumnView, is64Bit } from "./column-view.ts";

/** Rows of a batch and the number of the group of each. */
export interface GroupedRows {
  rows: Int32Array;
  groups: Int32Array;
  count: number;
}

type Load = (view: ColumnView, from: GroupedRows, out: object, outGroups: Int32Array) => number;

const compiled = new Map<string, Load>();

/** The scratch arrays of all aggregates of a thread: what is in them is used up at once. */
export const loaded = {
  doubles: new Float64Array(8_192),
  words: new Int32Array(16_384),
  groups: new Int32Array(8_192),
  rows: new Int32Array(8_192),
};

function reserve(count: number): void {
  if (count <= loaded.groups.length) return;
  loaded.doubles = new Float64Array(count);
  loaded.words = new Int32Array(count * 2);
  loaded.groups = new Int32Array(count);
  loaded.rows = new Int32Array(count);
}

/** Fills `loaded.doubles` and `loaded.groups`; returns how many values are not NULL. */
export function loadDoubles(view: ColumnView, from: GroupedRows): number {
  reserve(from.count);
  return loadOf("doubles", view.type)(view, from, loaded.doubles, loaded.groups);
}

/** Fills `loaded.words` and `loaded.groups` with integers; returns how many are not NULL. */
export function loadWords(view: ColumnView, from: GroupedRows): number {
  reserve(from.count);
  return loadOf("words", view.type)(view, from, loaded.words, loaded.groups);
}

/** Fills `loaded.rows` and `loaded.groups` with the rows whose value is not NULL. */
export function loadRows(view: ColumnView, from: GroupedRows): number {
  reserve(from.count);
  return loadOf("rows", view.type)(view, from, loaded.rows, loaded.groups);
}

const filtered: GroupedRows = {
  rows: new Int32Array(8_192),
  groups: new Int32Array(8_192),
  count: 0,
};

/** The rows whose value in a BOOLEAN column is true; valid until the next call. */
export function whereTrue({ data, validity }: ColumnView, from: GroupedRows): GroupedRows {
  const { rows, groups, count } = from;
  if (count > filtered.rows.length) {
    filtered.rows = new Int32Array(count);
    filtered.groups = new Int32Array(count);
  }
  let kept = 0;
  for (let i = 0; i < count; i += 1) {
    const row = rows[i] as number;
    const isNull =
      validity !== undefined && (((validity[row >> 3] as number) >> (row & 7)) & 1) === 0;
    if (isNull || data[row] === 0) continue;
    filtered.rows[kept] = row;
    filtered.groups[kept] = groups[i] as number;
    kept += 1;
  }
  filtered.count = kept;
  return filtered;
}

function loadOf(target: "doubles" | "words" | "rows", type: TypeName): Load {
  const shape = `${target} ${type}`;
  let found = compiled.get(shape);
  if (found === undefined) {
    found = compile(target, type);
    compiled.set(shape, found);
  }
  return found;
}

function compile(target: "doubles" | "words" | "rows", type: TypeName): Load {
  const store = storeOf(target, type);
  const body = `
    "use strict";
    return function load(view, from, out, outGroups) {
      const data = view.data, bits = view.validity;
      const rows = from.rows, groups = from.groups, count = from.count;
      if (bits === undefined) {
        for (let n = 0; n < count; n += 1) {
          const r = rows[n];
          ${store}
          outGroups[n] = groups[n];
        }
        return count;
      }
      let n = 0;
      for (let i = 0; i < count; i += 1) {
        const r = rows[i];
        if (((bits[r >> 3] >> (r & 7)) & 1) === 0) continue;
        ${store}
        outGroups[n] = groups[i];
        n += 1;
      }
      return n;
    };`;
  return new Function(body)() as Load;
}

function storeOf(target: "doubles" | "words" | "rows", type: TypeName): string {
  if (target === "rows") return "out[n] = r;";
  if (target === "words") {
    if (is64Bit(type)) return "out[2 * n] = data[2 * r]; out[2 * n + 1] = data[2 * r + 1];";
    return `out[2 * n] = data[r]; out[2 * n + 1] = ${isSigned(type) ? "data[r] >> 31" : "0"};`;
  }
  if (type === "INT64") return "out[n] = data[2 * r + 1] * 4294967296 + (data[2 * r] >>> 0);";
  if (type === "UINT64") {
    return "out[n] = (data[2 * r + 1] >>> 0) * 4294967296 + (data[2 * r] >>> 0);";
  }
  return "out[n] = data[r];";
}
