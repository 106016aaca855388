import assert from "node:assert/strict";
import { test } from "node:test";
import { RowWindow } from "./segment-reader.ts";

test("[MS6] a range is found in every series, wherever its neighbour has it", () => {
  const ts = Float64Array.of(10, 20, 30, 40, 30, 40, 50, 60, 1, 2, 3, 50);
  const columns = { ts, value: ts, stale: undefined, start_ts: undefined };
  const window = new RowWindow("s", Float64Array.of(0, 12), (_group, name) => columns[name]);
  const read = (start: number): number[] => [...window.readWithin(start, 4, 20, 50).ts];
  assert.deepEqual([read(0), read(4), read(8), read(0)], [[30, 40], [30, 40, 50], [50], [30, 40]]);
});
