import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../kernel/clock.ts";
import { realClock } from "../kernel/node/real-clock.ts";
import { FactsReporter } from "./facts-reporter.ts";

test("[OB7] a worker says once a second how it is, in values that change only when something did", () => {
  let nowMs = 0;
  let tick: (() => void) | undefined;
  const clock: Clock = {
    ...realClock,
    nowMs: () => nowMs,
    after: (delayMs, fire) => {
      assert.equal(delayMs, 1_000);
      tick = fire;
      return { cancel: () => undefined };
    },
  };
  const facts = new Map<string, string>();
  const reporter = new FactsReporter(
    clock,
    { setFact: (key, value) => void facts.set(key, value) },
    {
      counts: () => ({
        queued: 3,
        oldestQueuedMs: 1_234.5,
        executing: 1,
        completedTotal: 7,
        failedTotal: 2,
      }),
      spool: () => ({ usedBytes: 1000, freeBytes: 20_000_000 }),
    },
    4,
  );
  reporter.start();
  assert.deepEqual(
    [...facts.keys()].sort((a, b) => a.localeCompare(b)),
    [
      "completed_work_total",
      "cpu_ratio",
      "event_loop_delay_ms",
      "failed_work_total",
      "memory_bytes",
      "queue_depth",
      "queue_oldest_ms",
      "running_work",
      "spool_bytes",
      "spool_free_bytes",
      "uptime_ms",
    ],
  );
  assert.equal(facts.get("queue_depth"), "3");
  assert.equal(facts.get("queue_oldest_ms"), "1235");
  assert.equal(facts.get("spool_free_bytes"), String(16 * 1024 * 1024));
  nowMs = 9_999;
  tick?.();
  assert.equal(facts.get("uptime_ms"), "0");
  nowMs = 10_000;
  tick?.();
  assert.equal(facts.get("uptime_ms"), "10000");
  const cpu = Number(facts.get("cpu_ratio"));
  assert.ok(cpu >= 0 && cpu <= 1);
  reporter.stop();
});
