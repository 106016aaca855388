import assert from "node:assert/strict";
import { test } from "node:test";
import { type LagRecord, lagOverTime } from "./lag-over-time.ts";

/** A refresh that was published at `endedAtMs`, with contents as of `startedAtMs`. */
function refresh(
  startedAtMs: number,
  endedAtMs: number,
  changes: Partial<LagRecord> = {},
): LagRecord {
  return {
    state: "SUCCEEDED",
    action: "FULL",
    startedAtMs,
    endedAtMs,
    dataTimeMs: startedAtMs,
    repeats: 1,
    ...changes,
  };
}

function nothing(startedAtMs: number, endedAtMs: number, repeats: number): LagRecord {
  return refresh(startedAtMs, endedAtMs, { action: "NO_DATA", dataTimeMs: endedAtMs, repeats });
}

function points(
  records: readonly LagRecord[],
  fromMs: number,
  toMs: number,
): readonly (readonly [number, number])[] {
  return lagOverTime(records, { fromMs, toMs }).map(({ atMs, lagMs }) => [atMs, lagMs]);
}

const cases: readonly {
  readonly name: string;
  readonly records: readonly LagRecord[];
  readonly fromMs?: number;
  readonly want: readonly (readonly [number, number])[];
}[] = [
  { name: "never refreshed: nothing is known", records: [], want: [] },
  {
    name: "one refresh: the line begins when it was published",
    records: [refresh(100, 130)],
    want: [
      [130, 30],
      [500, 400],
    ],
  },
  {
    name: "what the lag had come to, and what it fell to",
    records: [refresh(100, 130), refresh(300, 310)],
    want: [
      [130, 30],
      [310, 210],
      [310, 10],
      [500, 200],
    ],
  },
  {
    name: "a failure leaves the line rising",
    records: [
      refresh(100, 130),
      refresh(200, 210, { state: "FAILED", action: undefined, dataTimeMs: undefined }),
      refresh(300, 310),
    ],
    want: [
      [130, 30],
      [310, 210],
      [310, 10],
      [500, 200],
    ],
  },
  {
    name: "a run that found nothing to do: evenly spaced teeth",
    records: [refresh(90, 100), nothing(200, 400, 3)],
    want: [
      [100, 10],
      [200, 110],
      [200, 0],
      [300, 100],
      [300, 0],
      [400, 100],
      [400, 0],
      [500, 100],
    ],
  },
  {
    name: "a long run is a line at the height of its teeth",
    records: [refresh(90, 100), nothing(200, 400, 101)],
    want: [
      [100, 10],
      [200, 110],
      [200, 0],
      [200, 2],
      [400, 2],
      [400, 0],
      [500, 100],
    ],
  },
  {
    name: "a window begins with the lag of that moment",
    records: [refresh(100, 130), refresh(300, 310)],
    fromMs: 250,
    want: [
      [250, 150],
      [310, 210],
      [310, 10],
      [500, 200],
    ],
  },
  {
    name: "a window that begins within a long run begins at its height",
    records: [nothing(200, 400, 101)],
    fromMs: 300,
    want: [
      [300, 2],
      [400, 2],
      [400, 0],
      [500, 100],
    ],
  },
  {
    name: "a window after all that happened has two points",
    records: [refresh(100, 130)],
    fromMs: 400,
    want: [
      [400, 300],
      [500, 400],
    ],
  },
];
for (const { name, records, fromMs = 0, want } of cases) {
  test(`[TG9] ${name}`, () => assert.deepEqual(points(records, fromMs, 500), want));
}

test("[TG9] only moments that are not known are marked as estimated", () => {
  const marked = lagOverTime([refresh(90, 100), nothing(200, 400, 3)], { fromMs: 0, toMs: 500 });
  assert.deepEqual(
    marked.map(({ isEstimated }) => isEstimated),
    [false, true, true, true, true, false, false, false],
  );
});
