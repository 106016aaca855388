import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { cutSamples } from "../../src/kinds/ask/metrics/core/sample-pieces.ts";
import {
  type BaseExpr,
  compareLabels,
  defaultEngineOptions,
  leafTimeRange,
  parseExpr,
  planQuery,
  type RawSeries,
} from "../../src/kinds/ask/promql/core/index.ts";
import { segmentsOfShard } from "../../src/kinds/ask/run/core/shards.ts";
import type { LeafWork } from "../../src/kinds/ask/run/core/work-body.ts";
import { DataSet, scrapeMs } from "./data-set.ts";
import { SimLake } from "./sim-lake.ts";

const data = new DataSet(createPrng("a test"));
const leaf = allSamples();

function allSamples(): BaseExpr {
  const grid = { startMs: 1_700_010_000_000, endMs: 1_700_010_000_000, stepMs: 1 };
  const expr = parseExpr('{__name__!=""}[2h]');
  const [only] = planQuery(expr, { instant: true, grid }, defaultEngineOptions).leaves;
  assert(only !== undefined);
  return only;
}

function worksAt(lake: SimLake, shardCount: number): LeafWork[] {
  const { head, segments } = lake.moment();
  const scope = { snapshot: head, ...leafTimeRange(leaf) };
  return Array.from({ length: shardCount }, (_, shard) => ({
    op: "leaf",
    leaf,
    shard,
    shardCount,
    segments: segmentsOfShard(segments, shard, shardCount),
    head: scope,
    samplesMax: 1_000_000,
  }));
}

function read(lake: SimLake, works: readonly LeafWork[]): RawSeries[] {
  const series = works.flatMap((work) => [...lake.series(work)]);
  return series.sort((a, b) => compareLabels(a.labels, b.labels));
}

/** Columns as lists: views of longer ones have the same content, but not the same buffers. */
function shown({ labels, samples }: RawSeries): unknown {
  const { minMs, maxMs } = leafTimeRange(leaf);
  const { count, ts, values, stale, histograms } = cutSamples(samples, minMs, maxMs);
  const staleAt = [...ts.subarray(0, count).keys()].filter((index) => stale?.[index] === 1);
  const buckets = histograms?.slice(0, count).map((each) => each?.positiveBuckets);
  return [labels.key, [...ts.subarray(0, count)], [...values.subarray(0, count)], staleAt, buckets];
}

for (const shardCount of [1, 2, 4, 8]) {
  test(`segments and the head are, at every moment, everything in ${shardCount} shards`, () => {
    for (const nowMs of [0, 60_000, 134_000, 200_000, 365_000, 600_000, 740_000]) {
      const lake = new SimLake(data, () => nowMs);
      const { everything } = lake.moment();
      const got = read(lake, worksAt(lake, shardCount));
      const wanted = everything.filter(({ samples }) => samples.count > 0);
      assert.deepEqual(got.map(shown), wanted.map(shown), `at ${nowMs}`);
    }
  });
}

test("[SK1] a work reads the same however much later it is executed", () => {
  let nowMs = 100_000;
  const lake = new SimLake(data, () => nowMs);
  const works = worksAt(lake, 2);
  const before = read(lake, works).map(shown);
  nowMs += 30 * scrapeMs;
  assert.deepEqual(read(lake, works).map(shown), before);
  assert.notDeepEqual(read(lake, worksAt(lake, 2)).map(shown), before);
});

test("[SK2] some samples are in a segment and in the head, and some come late", () => {
  const { head, segments } = new SimLake(data, () => 200_000).moment();
  assert(segments.some(({ maxTs }) => maxTs >= head.minTs));
  const [late] = data.series.filter(({ seq }) =>
    seq.some((each, index) => each < (seq[index - 1] ?? 0)),
  );
  assert(late !== undefined);
});
