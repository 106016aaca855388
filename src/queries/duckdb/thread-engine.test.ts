import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { ExecutorBroken } from "../core/index.ts";
import { never } from "../testing/test-engine.ts";
import { ThreadEngine } from "./thread-engine.ts";

/** A thread that does as told instead of an engine's work. */
function threadOf(script: string): Worker {
  const code = `const { parentPort } = require("node:worker_threads"); ${script}`;
  return new Worker(code, { eval: true });
}

const ready = 'parentPort.postMessage({ kind: "ready" });';

function broken(message: RegExp): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof ExecutorBroken);
    assert.equal(thrown.code, "query_failed");
    assert.match(thrown.message, message);
    return true;
  };
}

const deaths: readonly (readonly [name: string, script: string, message: RegExp])[] = [
  ["throws", 'throw new Error("bang");', /the engine broke: bang/],
  ["exits", "process.exit(7);", /ended with code 7/],
  [
    "finds its instance broken",
    'parentPort.postMessage({ kind: "fatal", message: "invalidated" });',
    /invalidated/,
  ],
];
for (const [name, death, message] of deaths) {
  test(`[QU44] when the thread ${name}, every request fails and the process is told`, async () => {
    const script = `${ready} parentPort.on("message", () => { ${death} });`;
    const thread = threadOf(script);
    const engine = new ThreadEngine(thread, realClock, silentLogger);
    await engine.ready;
    const first = assert.rejects(engine.executeToParquet("SELECT 1", "x", never), broken(message));
    const second = assert.rejects(engine.checksum("x"), broken(message));
    await Promise.all([first, second]);
    assert.match((await engine.failure).message, message);
    await assert.rejects(engine.openRows("x", never), broken(message));
    await thread.terminate();
    await engine.close();
    assert.equal(engine.stuck, false);
  });
}

test("[QU44] a thread that never gets ready fails the start", async () => {
  const engine = new ThreadEngine(threadOf('throw new Error("no");'), realClock, silentLogger);
  await assert.rejects(engine.ready, broken(/the engine broke: no/));
});

test("[QU43] closing does not wait for ever", async () => {
  const thread = threadOf(`${ready} parentPort.on("message", () => {});`);
  const clock = new VirtualClock();
  const engine = new ThreadEngine(thread, clock, silentLogger);
  await engine.ready;
  const closing = engine.close();
  await clock.advance(5_000);
  await closing;
  assert.equal(engine.stuck, true);
  await thread.terminate();
});
