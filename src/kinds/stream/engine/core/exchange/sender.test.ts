import assert from "node:assert/strict";
import { test } from "node:test";
import type { Batch } from "../batch.ts";
import { endOfTime } from "../operator.ts";
import { decodeFrame, type Frame } from "./frame.ts";
import { createSender, receiverOf } from "./sender.ts";

function batchOf(keys: readonly number[], selection?: readonly number[]): Batch {
  return {
    rowCount: keys.length,
    columns: [{ kind: "fixed", type: "INT32", values: Int32Array.from(keys), validity: undefined }],
    selection: selection === undefined ? undefined : Int32Array.from(selection),
  };
}

function sentBy(receiverCount: number, keys: readonly number[]) {
  const frames: Frame[][] = Array.from({ length: receiverCount }, () => []);
  const sender = createSender({
    keys,
    keyTypes: keys.map(() => "INT32"),
    receiverCount,
    send: (receiver, bytes) => frames[receiver]?.push(decodeFrame(bytes, ["INT32"])),
  });
  const rowsOf = (receiver: number): number[] =>
    (frames[receiver] ?? []).flatMap((frame) => {
      const [column] = frame.kind === "rows" ? frame.batch.columns : [];
      return column?.kind === "fixed" ? Array.from(column.values, Number) : [];
    });
  return { sender, frames, rowsOf };
}

test("[SG15] rows of equal keys go to one receiver, and every receiver has some", () => {
  const { sender, rowsOf } = sentBy(3, [0]);
  const keys = Array.from({ length: 3_000 }, (_, row) => (row * 7919) % 200);
  sender.push(0, batchOf(keys.slice(0, 1_000)));
  sender.push(
    1,
    batchOf(
      keys,
      keys.flatMap((_, row) => (row < 1_000 ? [] : [row])),
    ),
  );
  const received = [0, 1, 2].map(rowsOf);
  assert.deepEqual(received.flat().sort(byNumber), keys.toSorted(byNumber));
  const places = new Map<number, number>();
  for (const [receiver, rows] of received.entries()) {
    assert.ok(new Set(rows).size > 30, `receiver ${receiver} has ${new Set(rows).size} keys`);
    for (const key of rows) {
      assert.equal(places.get(key) ?? receiver, receiver);
      places.set(key, receiver);
    }
  }
});

test("[SG15] without keys all rows go to the first receiver", () => {
  const { sender, rowsOf } = sentBy(2, []);
  sender.push(0, batchOf([5, 6], [1]));
  assert.deepEqual([rowsOf(0), rowsOf(1)], [[6], []]);
});

test("[SG15] key groups are given out in runs of equal length", () => {
  const counts = [0, 0, 0];
  for (let group = 0; group < 256; group += 1) {
    const receiver = receiverOf(group, 3);
    counts[receiver] = (counts[receiver] ?? 0) + 1;
  }
  assert.deepEqual(counts, [86, 85, 85]);
});

test("[SG16] every receiver is told of time, idleness and the end", () => {
  const { sender, frames } = sentBy(2, [0]);
  sender.advance?.(17n);
  sender.idle?.(true);
  sender.idle?.(false);
  sender.tell({ kind: "barrier", checkpoint: 3 });
  sender.advance?.(endOfTime);
  const expected = [
    { kind: "watermark", time: 17n },
    { kind: "idle" },
    { kind: "barrier", checkpoint: 3 },
    { kind: "end" },
  ];
  assert.deepEqual(frames, [expected, expected]);
});

function byNumber(a: number, b: number): number {
  return a - b;
}

test("[SG17] nothing is sent behind an end or a stop", () => {
  for (const last of ["end", "stop"] as const) {
    const { sender, frames } = sentBy(2, [0]);
    sender.tell({ kind: last });
    sender.tell({ kind: "barrier", checkpoint: 3 });
    sender.tell({ kind: "stop" });
    const kinds = frames.map((sent) => sent.map(({ kind }) => kind));
    assert.deepEqual(kinds, [[last], [last]]);
  }
});
