import assert from "node:assert/strict";
import { test } from "node:test";
import { startOfTime } from "../operator.ts";
import { WindowShape } from "./window-shape.ts";

const tumbling = new WindowShape({ kind: "tumbling", sizeMs: 100 });
const sliding = new WindowShape({ kind: "sliding", sizeMs: 100, advanceMs: 30 });
const gaps = new WindowShape({ kind: "sliding", sizeMs: 10, advanceMs: 100 });
const last = 2n ** 64n - 1n;

const behind = [
  { name: "nothing is known yet", shape: tumbling, at: startOfTime, want: startOfTime },
  { name: "before the first window", shape: tumbling, at: -5n, want: 99n },
  { name: "within a window", shape: tumbling, at: 50n, want: 99n },
  { name: "just before its end", shape: tumbling, at: 99n, want: 99n },
  { name: "at its end", shape: tumbling, at: 100n, want: 199n },
  { name: "sliding, at an end", shape: sliding, at: 130n, want: 159n },
  { name: "sliding, between ends", shape: sliding, at: 131n, want: 159n },
  { name: "with gaps, in a gap", shape: gaps, at: 40n, want: 109n },
  { name: "an end beyond all times", shape: tumbling, at: last - 10n, want: last - 1n },
  { name: "never back", shape: tumbling, at: last, want: last },
];
for (const { name, shape, at, want } of behind) {
  test(`[SX60] the watermark behind a window: ${name}`, () => {
    assert.equal(shape.watermarkBehind(at), want);
  });
}

const before = [
  { name: "no window has ended", shape: tumbling, at: 99n, want: startOfTime },
  { name: "at an end", shape: tumbling, at: 100n, want: 100n },
  { name: "between ends", shape: tumbling, at: 250n, want: 200n },
  { name: "sliding", shape: sliding, at: 131n, want: 130n },
  { name: "with gaps", shape: gaps, at: 109n, want: 10n },
];
for (const { name, shape, at, want } of before) {
  test(`[SX60] the watermark in front of an exchange: ${name}`, () => {
    assert.equal(shape.watermarkBefore(at), want);
  });
}
