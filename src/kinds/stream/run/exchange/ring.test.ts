import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame, encodeFrame } from "../../engine/core/index.ts";
import type { InEdge, OutEdge } from "../core/edge.ts";
import { createMemoryEdge } from "./memory-edge.ts";
import { createRing, openRingIn, openRingOut } from "./ring.ts";

function rowsOf(first: number, count: number): Uint8Array<ArrayBuffer> {
  const values = Int32Array.from({ length: count }, (_, row) => first + row);
  return encodeFrame({
    kind: "rows",
    batch: {
      rowCount: count,
      columns: [{ kind: "fixed", type: "INT32", values, validity: undefined }],
      selection: undefined,
    },
  });
}

function edgesOf(name: string): { readonly out: OutEdge; readonly in: InEdge } {
  if (name === "memory") return createMemoryEdge();
  const ring = createRing(4_096);
  return { out: openRingOut(ring), in: openRingIn(ring) };
}

for (const name of ["ring", "memory"]) {
  test(`[SU21] ${name}: frames come in order, also larger ones than the edge`, async () => {
    const edge = edgesOf(name);
    const sizes = [1, 100, 3_000, 7, 20_000, 1, 1, 1_023, 5_000];
    const sending = (async () => {
      let first = 0;
      for (const size of [...sizes, ...sizes]) {
        await edge.out.send(rowsOf(first, size));
        first += size;
      }
      await edge.out.send(encodeFrame({ kind: "end" }));
    })();
    let expected = 0;
    for (;;) {
      const bytes = await edge.in.receive();
      assert.ok(bytes !== undefined);
      const frame = decodeFrame(bytes, ["INT32"]);
      if (frame.kind === "end") break;
      assert.ok(frame.kind === "rows");
      const [column] = frame.batch.columns;
      assert.ok(column?.kind === "fixed");
      for (const value of column.values) {
        assert.equal(value, expected);
        expected += 1;
      }
    }
    await sending;
    assert.equal(expected, 2 * sizes.reduce((sum, size) => sum + size, 0));
  });

  test(`[SU21] ${name}: who sends without being read is told to wait`, async () => {
    const edge = edgesOf(name);
    let waiting: Promise<void> | undefined;
    let sent = 0;
    while (waiting === undefined && sent < 1_000) {
      waiting = edge.out.send(rowsOf(0, 8_000));
      sent += 1;
    }
    assert.ok(waiting !== undefined && sent < 50, `${sent} frames went`);
    for (let index = 0; index < sent; index += 1) await edge.in.receive();
    await waiting;
  });

  test(`[SU21] ${name}: a closed edge ends who waits on it`, async () => {
    const edge = edgesOf(name);
    const receiving = edge.in.receive();
    edge.out.close();
    assert.equal(await receiving, undefined);
  });
}
