import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import type { PromqlObserver } from "./index.ts";
import { rehearse } from "./rehearse.ts";
import { startPromqlCluster } from "./testing/promql-cluster.ts";

function newRehearsal(act: (count: number) => void = () => undefined) {
  const clock = new VirtualClock();
  const real = new AbortController();
  const rounds: string[] = [];
  /** How many rehearsals there were at each change of how code is compiled. */
  const compiled: [isEarly: boolean, rounds: number][] = [];
  const state = { workers: 0 };
  const over = rehearse({
    clock,
    signal: real.signal,
    workerCount: () => state.workers,
    act: async ({ query }, rehearsal) => {
      rounds.push(`${query} ${rehearsal}`);
      act(rounds.length);
    },
    compile: (isEarly) => compiled.push([isEarly, rounds.length]),
  });
  return { clock, real, rounds, compiled, state, over };
}

test("[QP37] rehearsals wait for workers and their threads, and end by themselves", async () => {
  const { clock, rounds, compiled, state, over } = newRehearsal();
  await clock.advance(10_000);
  state.workers = 2;
  await clock.advance(1_500);
  assert.deepEqual(rounds, [], "the threads of the workers still warm up");
  await clock.advance(10_000);
  assert.equal(await over, 80);
  assert.equal(new Set(rounds).size, 80, "each request for each number");
  assert.deepEqual(
    compiled,
    [
      [true, 1],
      [false, 80],
    ],
    "compiled early while there are rehearsals",
  );
  assert.equal(clock.pendingCount, 0);
});

test("[QP37] a hundred workers do not get more than a few rehearsals each", async () => {
  const { clock, state, over } = newRehearsal();
  state.workers = 100;
  await clock.advance(60_000);
  assert.equal(await over, 200);
});

test("[QP37] the first real request ends them, and so does a failure", async () => {
  const asked = newRehearsal((count) => count === 3 && asked.real.abort());
  asked.state.workers = 1;
  await asked.clock.advance(10_000);
  assert.equal(await asked.over, 3);
  const failed = newRehearsal((count) => {
    if (count === 3) throw new Error("no head");
  });
  failed.state.workers = 1;
  await failed.clock.advance(10_000);
  assert.equal(await failed.over, 2);
  const early = newRehearsal();
  early.real.abort();
  assert.equal(await early.over, 0);
  for (const { clock, compiled } of [asked, failed, early]) {
    assert.equal(clock.pendingCount, 0);
    assert.equal(compiled.at(-1)?.[0], false, "V8's own numbers hold for real queries");
  }
});

test("[QP37] rehearsals take the whole path to every worker, and leave nothing", async () => {
  const lakeDir = mkdtempSync(join(tmpdir(), "capstan-rehearse-"));
  const observed: string[] = [];
  const observer: PromqlObserver = {
    queryStarted: (queryId) => observed.push(queryId),
    queryEnded: ({ queryId }) => observed.push(queryId),
  };
  const cluster = await startPromqlCluster({
    lakeDir,
    workers: 2,
    limits: { evalThreads: 1 },
    observer,
    head: async () => undefined,
    segments: { list: async () => [] },
  });
  const completed = (): readonly number[] =>
    cluster.workers.map(({ manager }) => manager.counts().completedTotal);
  try {
    const counts = cluster.manager.counts();
    assert.equal(await cluster.service.rehearse(), 80);
    assert.deepEqual(completed(), [40, 40]);
    assert.deepEqual([cluster.manager.counts(), cluster.manager.list()], [counts, []]);
    assert.deepEqual(observed, []);
    const never = new AbortController().signal;
    await cluster.service.query({ query: "1", at: { timeMs: 0 } }, never);
    assert.equal(await cluster.service.rehearse(), 0, "a real query was asked");
    assert.equal(observed.length, 2);
  } finally {
    await cluster.close();
    rmSync(lakeDir, { recursive: true, force: true });
  }
});
