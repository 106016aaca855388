import assert from "node:assert/strict";
import { test } from "node:test";
import { type DataType, notNull, nullable, type TypeName } from "../../../language/core/index.ts";
import { toBatch, type Value } from "../../testing/rows.ts";
import { allRows, viewOf } from "./column-view.ts";
import { hashRowsOf, keyGroupOf } from "./hash-rows.ts";

function hashOf(types: readonly DataType[], row: readonly Value[]): string {
  const schema = types.map((type, i) => ({ name: `c${i}`, type }));
  const views = toBatch(schema, [row]).columns.map(viewOf);
  const names: TypeName[] = types.map(({ name }) => name);
  const lanes = (["high", "low"] as const).map((lane) => {
    const out = new Int32Array(1);
    hashRowsOf(names, lane)(views, allRows(1), 1, out);
    return ((out[0] ?? 0) >>> 0).toString(16).padStart(8, "0");
  });
  return lanes.join("");
}

const vectors: readonly [readonly DataType[], readonly Value[], string][] = [
  [[notNull("INT64")], [0n], "a0858ae62aada836"],
  [[notNull("INT64")], [1n], "8ff3affd6e012c7a"],
  [[notNull("INT64")], [-1n], "8cef9f12918b98a9"],
  [[notNull("UINT64")], [2n ** 64n - 1n], "8cef9f12918b98a9"],
  [[notNull("UINT64")], [1_234_567_890_123n], "f1a8c07f14023a7e"],
  [[notNull("FLOAT64")], [0.1], "445259a29bca25e4"],
  [[notNull("VARSIZED")], [""], "b06bc7ea5cc38f9a"],
  [[notNull("VARSIZED")], ["abc"], "e4c0eb7279b0f67a"],
  [[notNull("VARSIZED")], ["abcdefgh"], "a1d747bf2452ab54"],
  [[notNull("VARSIZED")], ["grün"], "ff634e841e4315ed"],
  [[nullable("INT64")], [null], "0aff6b55997742cc"],
  [[notNull("INT32"), nullable("VARSIZED")], [7n, "x"], "514667b2561ed7b3"],
  [[notNull("INT32"), nullable("VARSIZED")], [7n, null], "16770dd7b92edb18"],
];

test("[SX53] the hash of keys never changes", () => {
  for (const [types, row, want] of vectors) {
    assert.equal(hashOf(types, row), want, `${types.map(({ name }) => name)} ${row}`);
  }
});

test("[SX53] equal values of different widths have equal hashes", () => {
  for (const name of ["INT8", "INT16", "INT32", "UINT8", "UINT16", "UINT32", "UINT64"] as const) {
    assert.equal(hashOf([notNull(name)], [42n]), hashOf([notNull("INT64")], [42n]), name);
  }
  assert.equal(hashOf([notNull("INT8")], [-3n]), hashOf([notNull("INT64")], [-3n]));
  assert.equal(hashOf([notNull("FLOAT32")], [0.5]), hashOf([notNull("FLOAT64")], [0.5]));
  assert.equal(hashOf([notNull("FLOAT64")], [-0]), hashOf([notNull("FLOAT64")], [0]));
});

test("[SX53] sequential keys spread evenly over the key groups", () => {
  const values = BigInt64Array.from({ length: 65_536 }, (_, i) => BigInt(i));
  const view = viewOf({ kind: "fixed", type: "INT64", values, validity: undefined });
  const out = new Int32Array(values.length);
  hashRowsOf(["INT64"], "high")([view], allRows(values.length), values.length, out);
  const counts = new Array<number>(256).fill(0);
  for (const high of out) counts[keyGroupOf(high)] = (counts[keyGroupOf(high)] ?? 0) + 1;
  assert.ok(Math.min(...counts) > 180 && Math.max(...counts) < 340, `${Math.max(...counts)}`);
});
