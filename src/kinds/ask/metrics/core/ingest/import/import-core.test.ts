import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { detectFormat } from "./detect-format.ts";
import { decodePage, encodePage, type SamplePage } from "./sample-page.ts";
import { sortPages } from "./sort-pages.ts";

const formats = [
  { text: "", want: undefined },
  { text: "a 1 17000", want: undefined },
  { text: "a 1 1700000000000\n", want: "prometheus" },
  { text: "a 1 1700000000\n", want: "openmetrics" },
  { text: "a 1 1700000000.5\n", want: "openmetrics" },
  { text: 'a{b="c 1 1700000000000"} 1 1700000000\n', want: "openmetrics" },
  { text: 'a{b=" # {"} 1 1700000000000\n', want: "prometheus" },
  { text: "# HELP a b\n# TYPE a counter\n", want: undefined },
  { text: "# HELP a b\n# TYPE a unknown\n", want: "openmetrics" },
  { text: "# TYPE a untyped\n", want: "prometheus" },
  { text: "# UNIT a_s s\n", want: "openmetrics" },
  { text: "# EOF\n", want: "openmetrics" },
  { text: "# just a comment\n", want: "prometheus" },
  { text: "\na 1\n", want: "prometheus" },
  { text: 'a 1 # {x="y"} 1\n', want: "openmetrics" },
  { text: "a 1\nb 2\n", want: undefined },
] as const;
for (const { text, want } of formats) {
  test(`[IN23] the format of ${JSON.stringify(text)} is ${want ?? "not told"}`, () => {
    assert.equal(detectFormat(text), want);
  });
}

const row = fc.record({
  series: fc.nat(4),
  ts: fc.integer({ min: 0, max: 30 }),
  value: fc.integer(),
  startTs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })),
});

function pageOf(
  rows: readonly { series: number; ts: number; value: number; startTs: number }[],
): SamplePage {
  return {
    count: rows.length,
    series: Uint32Array.from(rows, ({ series }) => series),
    ts: Float64Array.from(rows, ({ ts }) => ts),
    values: Float64Array.from(rows, ({ value }) => value),
    startTs: rows.some(({ startTs }) => startTs !== 0)
      ? Float64Array.from(rows, ({ startTs }) => startTs)
      : undefined,
  };
}

test("[IN23] pages come back from their bytes", () => {
  fc.assert(
    fc.property(fc.array(row), (rows) => {
      const page = pageOf(rows);
      const bytes = encodePage(page);
      assert.deepEqual(
        decodePage(bytes.slice().buffer, page.count, page.startTs !== undefined),
        page,
      );
    }),
  );
});

test("[IN23] samples in any order become series in theirs, by time, the first of two kept", () => {
  // Numbers 1 and 3 are the same series.
  const rankOf = Uint32Array.of(2, 0, 1, 0, 3);
  fc.assert(
    fc.property(
      fc.array(fc.array(row, { maxLength: 20 }), { maxLength: 4 }),
      fc.nat(20),
      fc.nat(30),
      (pages, minTs, length) => {
        const wanted = Uint8Array.of(1, 0, 1, 1);
        const endTs = minTs + length;
        const { series, droppedCount } = sortPages(
          pages.map(pageOf),
          { rankOf, rankCount: 4 },
          { minTs, endTs, wanted },
        );
        const kept = new Map<string, { value: number; startTs: number }>();
        let mineCount = 0;
        for (const { series: number, ts, value, startTs } of pages.flat()) {
          const rank = rankOf[number] as number;
          if (wanted[rank] !== 1 || ts < minTs || ts >= endTs) continue;
          mineCount += 1;
          const key = `${rank} ${ts}`;
          if (!kept.has(key)) kept.set(key, { value, startTs });
        }
        const got = series.flatMap(({ rank, samples }) =>
          Array.from({ length: samples.count }, (_, index) => [
            `${rank} ${samples.ts[index]}`,
            { value: samples.values[index], startTs: samples.startTs?.[index] ?? 0 },
          ]),
        );
        const want = [...kept].sort(([a], [b]) => order(a) - order(b));
        assert.deepEqual(got, want);
        assert.equal(droppedCount, mineCount - kept.size);
      },
    ),
  );
});

function order(key: string): number {
  const [rank = 0, ts = 0] = key.split(" ").map(Number);
  return rank * 1_000 + ts;
}
