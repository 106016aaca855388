import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { Labels, type RawSeries } from "../promql/core/index.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import type { LabelsWork } from "./core/work-body.ts";
import { runLabels } from "./label-runner.ts";
import { decodeList } from "./list-artifact.ts";
import { paceOf, sortAtPace } from "./pace.ts";
import { SegmentShelf } from "./segment-shelf.ts";
import { writeSegments } from "./testing/test-lake.ts";

const seriesCount = 20_000;

function seriesOf(count: number): RawSeries[] {
  return Array.from({ length: count }, (_, n) => ({
    labels: Labels.of({ __name__: "m", n: String(n), half: n % 2 === 0 ? "even" : "odd" }),
    samples: {
      count: 1,
      ts: Float64Array.of(1_000),
      values: Float64Array.of(n),
      stale: undefined,
      startTs: undefined,
      histograms: undefined,
    },
  }));
}

/** A hundred sets that all match the same series. */
const sets = Array.from({ length: 100 }, (_, n) => [
  { name: "__name__", op: "=" as const, value: "m" },
  { name: "half", op: "=~" as const, value: `even|x${n}` },
]);

test("[QP31] a hundred matchers over many series: others have their turn, each series is there once, a stop is seen", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-labels-"));
  const cache = new MemoryColumnCache(1024 ** 2);
  const shelf = new SegmentShelf(dir, cache);
  try {
    const segments = await writeSegments(dir, seriesOf(seriesCount), [2_000], 1);
    const work: LabelsWork = {
      op: "series",
      label: "",
      matcherSets: sets,
      startMs: 0,
      endMs: 2_000,
      limit: 0,
      shard: 0,
      shardCount: 1,
      segments,
      head: undefined,
    };
    let turns = 0;
    let isOver: boolean = false;
    const others = (): void => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    const head = seriesOf(10);
    const { bytes, rowCount } = await runLabels(
      work,
      head,
      shelf,
      paceOf(realClock, { check: () => undefined }),
    );
    isOver = true;
    // Five of the head's series are odd: the head has already filtered them.
    assert.equal(rowCount, seriesCount / 2 + 5);
    assert.equal(new Set(decodeList(bytes)).size, rowCount);
    assert.ok(turns > 3, `${turns} turns of others`);

    let rests = 0;
    await runLabels({ ...work, op: "names", matcherSets: [] }, [], shelf, () => {
      rests += 1;
      return undefined;
    });
    assert.ok(rests > seriesCount / 300, `${rests} rests`); // Over the rows, and over the labels.

    let checks = 0;
    const stopped = runLabels(work, head, shelf, () => {
      checks += 1;
      if (checks > 20) throw new Error("stopped");
      return undefined;
    });
    await assert.rejects(stopped, /stopped/);
  } finally {
    shelf.clear();
    rmSync(dir, { recursive: true });
  }
});

test("[QP31] sorting at a pace sorts as usual", async () => {
  const items = Array.from({ length: 30_000 }, (_, n) => ({ key: (n * 7919) % 1_009, n }));
  const compare = (a: { key: number }, b: { key: number }): number => a.key - b.key;
  let rests = 0;
  const sorted = await sortAtPace(items, compare, () => {
    rests += 1;
    return undefined;
  });
  assert.deepEqual(sorted, items.toSorted(compare));
  assert.ok(rests > 20);
});
