import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TypeName } from "../../../language/core/index.ts";
import { type Batch, type Column, createValues, isValid, selectedCount } from "../batch.ts";
import { endOfTime, startOfTime } from "../operator.ts";
import { decodeFrame, encodeFrame, type Frame, frameLength } from "./frame.ts";

const types: readonly TypeName[] = ["INT8", "UINT16", "FLOAT32", "INT64", "VARSIZED", "BOOLEAN"];

interface DrawnRow {
  readonly number: number;
  readonly text: string;
  readonly isNull: boolean;
  readonly isSelected: boolean;
}

const drawnRows = fc.array(
  fc.record({
    number: fc.integer({ min: -100, max: 100 }),
    text: fc.string({ unit: "grapheme", maxLength: 12 }),
    isNull: fc.boolean(),
    isSelected: fc.boolean(),
  }),
  { maxLength: 40 },
);

function batchOf(rows: readonly DrawnRow[], withSelection: boolean, withNulls: boolean): Batch {
  const validity = new Uint8Array((rows.length + 7) >> 3);
  for (const [row, { isNull }] of rows.entries()) {
    if (!isNull) validity[row >> 3] = (validity[row >> 3] ?? 0) | (1 << (row & 7));
  }
  const texts = rows.map(({ text }) => new TextEncoder().encode(text));
  const columns = types.map((type): Column => {
    const bits = withNulls ? validity : undefined;
    if (type === "VARSIZED") {
      const offsets = new Int32Array(rows.length + 1);
      for (const [row, text] of texts.entries())
        offsets[row + 1] = (offsets[row] ?? 0) + text.length;
      const bytes = new Uint8Array(texts.flatMap((text) => [...text]));
      return { kind: "text", type, offsets, bytes, validity: bits };
    }
    const values = createValues(type, rows.length);
    for (const [row, { number }] of rows.entries()) {
      if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
        values[row] = BigInt(number) << 40n;
      } else values[row] = number;
    }
    return { kind: "fixed", type, values, validity: bits };
  });
  const selection = withSelection
    ? Int32Array.from(rows.flatMap(({ isSelected }, row) => (isSelected ? [row] : [])))
    : undefined;
  return { rowCount: rows.length, columns, selection };
}

function cells(batch: Batch): unknown[][] {
  const rows = batch.selection ?? Int32Array.from({ length: batch.rowCount }, (_, row) => row);
  return Array.from(rows, (row) =>
    batch.columns.map((column) => {
      if (!isValid(column.validity, row)) return null;
      if (column.kind === "fixed") return column.values[row];
      return new TextDecoder().decode(
        column.bytes.subarray(column.offsets[row], column.offsets[row + 1]),
      );
    }),
  );
}

test("[SG13] a batch arrives with its selected rows, NULLs and texts", () => {
  fc.assert(
    fc.property(drawnRows, fc.boolean(), fc.boolean(), (rows, withSelection, withNulls) => {
      const batch = batchOf(rows, withSelection, withNulls);
      const bytes = encodeFrame({ kind: "rows", batch });
      assert.equal(frameLength(bytes), bytes.length);
      const frame = decodeFrame(bytes, types);
      assert.equal(frame.kind, "rows");
      if (frame.kind !== "rows") return;
      assert.equal(frame.batch.rowCount, selectedCount(batch));
      assert.deepEqual(cells(frame.batch), cells(batch));
    }),
    { numRuns: 200 },
  );
});

const words: readonly Frame[] = [
  { kind: "idle" },
  { kind: "end" },
  { kind: "barrier", checkpoint: 2 ** 40 + 1 },
  ...[0n, -1n, 1n, startOfTime, endOfTime, 2n ** 64n - 1n, -(2n ** 63n), 1_700_000_000_000n].map(
    (time): Frame => ({ kind: "watermark", time }),
  ),
];
for (const frame of words) {
  test(`[SG14] ${frame.kind} ${"time" in frame ? frame.time : ""} arrives as it was sent`, () => {
    assert.deepEqual(decodeFrame(encodeFrame(frame), []), frame);
  });
}
