import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { MemoryBudget } from "../../../../ground/process/index.ts";
import { planStatements } from "../../catalog/core/planning/plan-statements.ts";
import { topology } from "../../catalog/testing/placed-plans.ts";
import { emptySnapshot } from "../../catalog/testing/snapshots.ts";
import type { SourceOp } from "../../language/core/index.ts";
import { specOf, wholeFragment } from "../../run/core/index.ts";
import { openSystemReader, StreamPool } from "../../run/index.ts";
import type { FragmentStatistics } from "../core/index.ts";
import { OwnStreams } from "./own-streams.ts";

const facts = { cpu_ratio: "0.25", memory_bytes: "1048576", queue_depth: "3" };

function fragment(rowsIn: number, rowsReceived: number): FragmentStatistics {
  return {
    ...{ fragment: "f0", rowsIn, bytesIn: rowsIn * 10, malformed: 0, rowsOut: rowsIn - 1 },
    ...{ rowsReceived, lateRows: 0, stateBytes: 64, watermarkMs: undefined, bytesOut: 0 },
    ...{ busyMs: 0, waitedMs: 0, edges: [], slowest: undefined },
  };
}

const run = (epoch: number, ...fragments: FragmentStatistics[]) => [
  { query: "7", epoch, fragments },
];

const own = (series = "a") =>
  new OwnStreams({
    ...{ workerId: "w1", series, clock: realClock },
    coordinatorRows: () => assert.fail("the rows are made here"),
  });

async function open(calls: OwnStreams, stream: string, from?: string) {
  const op = { config: { STREAM: stream } } as unknown as SourceOp;
  const reader = await openSystemReader({ op, calls, from });
  return {
    reader,
    rows: async (): Promise<readonly Record<string, unknown>[]> => {
      const reading = await reader.read();
      if (reading.kind !== "bytes") return [];
      const lines = new TextDecoder().decode(reading.bytes).trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

test("[SD80] counts are what fragments did since the row before, also when one is deployed anew", async () => {
  const streams = own();
  const { rows } = await open(streams, "worker_statistics");
  streams.tell(run(1, fragment(10, 5)), facts);
  streams.tell(run(1, fragment(13, 5)), facts);
  streams.tell(run(2, fragment(2, 1)), facts);
  const told = await rows();
  assert.deepEqual(
    told.map((row) => [row.records_processed, row.records_read, row.bytes_read, row.fragments]),
    [
      [15, 10, 100, 1],
      [3, 3, 30, 1],
      [3, 2, 20, 1],
    ],
  );
  assert.equal(told[0]?.worker_id, "w1");
  assert.ok(Math.abs(Number(told[0]?.timestamp) - Date.now()) < 60_000);
});

test("[SD80] resources are the worker's facts, in percent of its cores", async () => {
  const streams = own();
  const { rows } = await open(streams, "worker_resources");
  streams.tell([], facts);
  const [row] = await rows();
  assert.deepEqual(
    [row?.cpu_usage, row?.memory_bytes, row?.queue_depth, row?.running_work],
    [25, 1_048_576, 3, 0],
  );
});

test("[SD81] a reader begins with what follows, and goes on from its place with what is kept", async () => {
  const streams = own();
  streams.tell([], facts);
  const first = await open(streams, "worker_resources");
  assert.deepEqual(await first.rows(), []);
  streams.tell([], { ...facts, queue_depth: "4" });
  assert.deepEqual(
    (await first.rows()).map((row) => row.queue_depth),
    [4],
  );
  const place = first.reader.position(0);
  for (let more = 5; more <= 70; more += 1) streams.tell([], { queue_depth: String(more) });
  const again = await open(streams, "worker_resources", place);
  const kept = (await again.rows()).map((row) => row.queue_depth);
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [60, 11, 70]);
  const restarted = own("b");
  restarted.tell([], { queue_depth: "99" });
  const after = await open(restarted, "worker_resources", place);
  assert.deepEqual(
    (await after.rows()).map((row) => row.queue_depth),
    [99],
  );
});

test("[SD81] a reader that is closed while it waits ends", async () => {
  const { reader } = await open(own(), "worker_statistics");
  const reading = reader.read();
  await reader.close();
  const first = await reading;
  assert.ok(first.kind === "end" || first.kind === "idle");
  assert.deepEqual(await reader.read(), { kind: "end" });
});

test("[SD80] the blueprint's throughput query runs on a stream thread, over the worker's rows", async (t) => {
  const home = await mkdtemp(join(tmpdir(), "capstan-own-streams-"));
  const streams = own();
  const budget = new MemoryBudget(2 ** 30);
  const pool = new StreamPool({
    ...{ threads: 1, clock: realClock, print: () => undefined, system: streams },
    places: { sourceDir: home, sinkDir: home, confined: true },
    memory: { budget, bytesMax: budget.bytesMax },
  });
  t.after(async () => {
    await pool.close();
    await rm(home, { recursive: true, force: true });
  });
  const [planned] = planStatements(
    [
      `SELECT start, end, SUM(recordsProcessed) AS totalThroughput
       FROM worker_statistics
       WINDOW TUMBLING(size = 1s)
       INTO File('out.csv' AS "SINK".FILE_PATH, 'CSV' AS "SINK".OUTPUT_FORMAT)`,
    ],
    emptySnapshot(topology(["w1"])),
  );
  assert.ok(planned?.kind === "change" && planned.change.kind === "createQuery");
  const cut = wholeFragment(planned.change.plan.plan);
  const [whole] = cut.fragments;
  assert.ok(whole !== undefined);
  const options = { restored: undefined, keepsState: true, addressOf: () => undefined };
  const about = { query: "1", epoch: 1 };
  const failures: unknown[] = [];
  await pool.deploy(about, [specOf(cut, whole, options)], {
    acknowledged: () => undefined,
    ended: () => undefined,
    failed: (_, thrown) => failures.push(thrown),
  });
  pool.start(about);
  let [told, rowsIn] = [0, 0];
  const totals = await eventually("windows with all that was told", async () => {
    // Rows without work follow: their times close the windows of those before.
    told += 1;
    if (told <= 20) rowsIn += 10;
    streams.tell(run(1, fragment(rowsIn, 0)), facts);
    const text = await readFile(join(home, "out.csv"), "utf8").catch(() => "");
    const lines = text
      .trimEnd()
      .split("\n")
      .filter((line) => /^\d/.test(line));
    const sums = lines.map((line) => Number(line.split(",")[2]));
    return sums.reduce((sum, one) => sum + one, 0) === 200 ? lines : undefined;
  });
  assert.deepEqual(failures, []);
  for (const line of totals) {
    const [start, end] = line.split(",").map(Number);
    assert.equal(Number(end) - Number(start), 1_000);
  }
});
