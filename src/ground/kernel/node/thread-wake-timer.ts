/**
 * A timer with microsecond precision: a thread sleeps and wakes this one. On an idle machine Node's
 * timers are 0.7 ms late in the median and this one 0.06 ms. The rest of the wait is spent polling,
 * which leaves a few microseconds. Long waits use the ordinary timer.
 */
import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../clock.ts";
import type { WakeTimer } from "../wake-timer.ts";
import { siblingModule } from "./sibling-module.ts";

/** Twice what a timer of Node may be late by. */
const longMs = 4;
/** The thread wakes us this much earlier, to cover the way from one thread to the other. */
const earlyMs = 0.08;

/** `clock` is the process's monotonic clock, `performance.now()`. */
export function startThreadWakeTimer(clock: Clock): WakeTimer {
  const shared = new SharedArrayBuffer(16);
  const version = new Int32Array(shared, 0, 1);
  const due = new Float64Array(shared, 8, 1);
  const thread = new Worker(siblingModule(import.meta.url, "./wake-thread"), {
    workerData: { shared, originMs: performance.timeOrigin },
    // V8 otherwise reserves 512 MiB, which counts against the limit of a bounded process.
    resourceLimits: { codeRangeSizeMb: 16 },
  });
  thread.unref();
  let wanted: { readonly atMs: number; readonly fire: () => void } | undefined;
  let long: Timer | undefined;
  let polling: NodeJS.Immediate | undefined;
  const poll = (): void => {
    polling = undefined;
    if (wanted === undefined) return;
    const restMs = wanted.atMs - clock.nowMs();
    if (restMs <= 0) {
      const { fire } = wanted;
      wanted = undefined;
      fire();
    } else if (restMs <= earlyMs * 2) {
      polling = setImmediate(poll);
    } else {
      arm();
    }
  };
  const arm = (): void => {
    if (wanted === undefined) return;
    const restMs = wanted.atMs - clock.nowMs();
    if (restMs > longMs) {
      long = clock.after(restMs - longMs / 2, arm);
      return;
    }
    if (restMs <= earlyMs * 2) {
      polling ??= setImmediate(poll);
      return;
    }
    due[0] = wanted.atMs - earlyMs;
    Atomics.add(version, 0, 1);
    Atomics.notify(version, 0);
  };
  thread.on("message", () => {
    if (polling === undefined) poll();
  });
  const forget = (): void => {
    wanted = undefined;
    long?.cancel();
    if (polling !== undefined) clearImmediate(polling);
    polling = undefined;
  };
  return {
    set(atMs, fire) {
      forget();
      wanted = { atMs, fire };
      arm();
    },
    clear: forget,
    async close() {
      forget();
      await thread.terminate();
    },
  };
}
