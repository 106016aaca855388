import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import {
  type RecordedLine,
  recordingLogger,
} from "../../../ground/kernel/testing/recording-logger.ts";
import { defaultEngineOptions } from "../promql/core/index.ts";
import { type EvalPlace, EvalPool } from "./eval-pool.ts";

const lines: RecordedLine[] = [];
const pool = new EvalPool({
  threads: 1,
  heapBytesMax: 512 * 1024 ** 2,
  clock: realClock,
  logger: recordingLogger(lines),
  patienceMs: 100,
});
after(() => pool.close());

const hour = 3_600_000;
/**
 * Computed for seconds: a vector that changes at every step, unlike `vector(1)`, has no short cut.
 */
const slow = "quantile_over_time(0.5, (vector(time()))[4d:1s])";

/** Needs no worker: everything is computed in the thread. */
async function evaluate(
  place: EvalPlace,
  text: string,
  steps: number,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { query } = place;
  const grid = { startMs: 48 * hour, endMs: 48 * hour + (steps - 1) * 1_000, stepMs: 1_000 };
  const params = { instant: false, grid };
  const options = defaultEngineOptions;
  await place.ask("plan", { query, text, params, options }, signal);
  const shape = { instant: false, atMs: 0, limit: 0, bytesMax: 1e9 };
  const ran = await place.ask(
    "run",
    { query, resultCounts: [[]], first: undefined, streamed: false, keepResults: false, shape },
    signal,
  );
  return Buffer.from(ran.json).toString();
}

test("[QP8] a cancelled query that goes on computing costs its thread, and not the next query", async () => {
  const stuck = pool.enter();
  const abort = new AbortController();
  const running = evaluate(stuck, slow, 10_000, abort.signal);
  const beside = pool.enter();
  const waiting = evaluate(beside, "vector(1)", 1, undefined);
  setTimeout(() => abort.abort(), 300);
  await assert.rejects(
    running,
    (thrown) => thrown instanceof OperatingError && thrown.code === "cancelled",
  );
  const outcome = await waiting.then(
    () => "answered",
    (thrown: unknown) => (thrown instanceof OperatingError ? thrown.retry : "wrong"),
  );
  assert.ok(["answered", "backoff"].includes(outcome), outcome);
  stuck.leave();
  beside.leave();
  const next = pool.enter();
  assert.match(await evaluate(next, "vector(2)", 1, undefined), /"2"/);
  next.leave();
});

test("[OB14] a thread that is replaced names the query that it is replaced for", async () => {
  // One that was cancelled before the thread came to it costs no thread: then it is given more
  // time.
  lines.length = 0;
  for (let waitMs = 200; lines.length === 0; waitMs *= 2) {
    const stuck = pool.enter({ query_id: "q-1" });
    const abort = new AbortController();
    const running = evaluate(stuck, slow, 10_000, abort.signal);
    setTimeout(() => abort.abort(), waitMs);
    await assert.rejects(running);
    await sleep(realClock, 200);
    stuck.leave();
  }
  assert.deepEqual(
    lines.map(({ fields, message }) => [fields.query_id, message]),
    [["q-1", "a cancelled query does not stop: its thread is replaced"]],
  );
});

test("[QP8] a cancelled query that is only waiting costs nothing", async () => {
  const place = pool.enter();
  const abort = new AbortController();
  const { query } = place;
  const params = { instant: true, grid: { startMs: 0, endMs: 0, stepMs: 1 } };
  const options = defaultEngineOptions;
  await place.ask("plan", { query, text: "x", params, options }, undefined);
  const shape = { instant: true, atMs: 0, limit: 0, bytesMax: 1e9 };
  const run = {
    query,
    resultCounts: [[1]],
    first: undefined,
    streamed: false,
    keepResults: false,
    shape,
  };
  const running = place.ask("run", run, abort.signal);
  abort.abort();
  await assert.rejects(running, OperatingError);
  const other = pool.enter();
  assert.match(await evaluate(other, "vector(3)", 1, undefined), /"3"/);
});

test("[QP8] a query does not wait behind one that is computed for long, while another thread is free", async () => {
  let aheadMs = 0;
  const two = new EvalPool({
    threads: 2,
    heapBytesMax: 512 * 1024 ** 2,
    clock: { ...realClock, nowMs: () => realClock.nowMs() + aheadMs },
    logger: recordingLogger(lines),
    patienceMs: 100,
  });
  try {
    const first = two.enter();
    await evaluate(first, "vector(1)", 1, undefined); // The thread has started.
    first.leave();
    const abort = new AbortController();
    const running = evaluate(two.enter(), slow, 10_000, abort.signal).then(
      () => "answered",
      () => "stopped",
    );
    await sleep(realClock, 500);
    aheadMs = 1_000; // However late it began on a busy machine, it has been silent for long.
    const places = [1, 2, 3].map(() => two.enter());
    const light = Promise.all(places.map((place) => evaluate(place, "vector(4)", 1, undefined)));
    assert.notEqual(await Promise.race([running, light]), "answered");
    abort.abort();
    assert.equal(await running, "stopped");
    assert.match((await light).join(), /"4".*"4".*"4"/);
  } finally {
    await two.close();
  }
});

test("[QP8] a query that ends its thread fails alone: whoever was beside it runs again", async () => {
  const heapBytesMax = 36 * 1024 ** 2;
  const logger = recordingLogger([]);
  const small = new EvalPool({ threads: 1, heapBytesMax, clock: realClock, logger });
  const text = `label_join(x, "a", "b"${', "c"'.repeat(200_000)})`;
  let attempts = 0;
  const parse = async (place: EvalPlace) => {
    attempts += 1;
    return await place.ask("parse", { query: place.query, text }, undefined);
  };
  const tooLarge = { code: "query_too_large", message: /needs more memory than the \d+ bytes/ };
  try {
    const ask = async (place: EvalPlace) => await evaluate(place, "vector(7)", 1, undefined);
    const poison = assert.rejects(small.within({ act: parse }), tooLarge);
    const beside = Array.from({ length: 3 }, async () => await small.within({ act: ask }));
    const told = assert.rejects(small.within({ act: ask, mayRepeat: () => false }), {
      retry: "backoff",
    });
    for (const answer of beside) assert.match(await answer, /"7"/);
    await Promise.all([poison, told]);
    assert.equal(attempts, 2);
    assert.match(await small.within({ act: ask }), /"7"/);
    await assert.rejects(small.within({ act: parse }), tooLarge);
    assert.equal(attempts, 3, "who was alone is at fault at once");
    assert.match(await small.within({ act: ask }), /"7"/);
  } finally {
    await small.close();
  }
});
