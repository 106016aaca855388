import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RunPhase, RunStatus } from "../../../api/gen/types.ts";
import { formatTimer, idleTimers, readTimers, stepTimers } from "./phase-timers.ts";

function said(status: RunStatus, phase: RunPhase, totalS: number, phaseS: number, ofS?: number) {
  return {
    status,
    phase,
    timing: {
      elapsed_display_seconds: totalS,
      phase_elapsed_seconds: phaseS,
      phase_duration_seconds: ofS ?? null,
    },
  };
}

test("[WEB50] both clocks go on between updates, and stand still without news", () => {
  const timers = stepTimers(idleTimers, said("RUNNING", "WARMUP", 4, 2, 5), 1_000, false);
  const shown = (nowMs: number): readonly number[] => {
    const { totalS, phaseS } = readTimers(timers, nowMs);
    return [totalS, phaseS];
  };
  assert.deepEqual(shown(1_000), [4, 2]);
  assert.deepEqual(shown(1_500), [4.5, 2.5]);
  assert.deepEqual(shown(60_000), [7, 5]);
  const ended = stepTimers(timers, said("COMPLETED", "PROCESSING", 6, 1), 2_000, false);
  assert.deepEqual([readTimers(ended, 9_000).totalS, readTimers(ended, 9_000).phaseS], [6, 1]);
  const waiting = stepTimers(idleTimers, said("PREPARED", "", 0, 0), 0, false);
  assert.equal(readTimers(waiting, 9_000).totalS, 0);
});

test("[WEB50] a phase has its length, except the measurement of a search", () => {
  const update = said("RUNNING", "MEASUREMENT", 9, 8, 10);
  assert.equal(readTimers(stepTimers(idleTimers, update, 0, false), 3_000).phaseS, 10);
  const open = readTimers(stepTimers(idleTimers, update, 0, true), 3_000);
  assert.deepEqual([open.phaseS, open.phaseLengthS], [11, undefined]);
});

test("[WEB50] whatever is said, and however late, no clock goes backwards within its phase", () => {
  const phases: readonly RunPhase[] = ["PREPARING", "WARMUP", "MEASUREMENT", "COOLDOWN"];
  const step = fc.record({
    waitMs: fc.integer({ min: 0, max: 10_000 }),
    totalS: fc.double({ min: 0, max: 100, noNaN: true }),
    phaseS: fc.double({ min: 0, max: 30, noNaN: true }),
    phase: fc.integer({ min: 0, max: 3 }),
    looks: fc.array(fc.integer({ min: 0, max: 4_000 }), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let timers = idleTimers;
      let nowMs = 0;
      let shown = readTimers(timers, nowMs);
      const look = (atMs: number): void => {
        const next = readTimers(timers, atMs);
        assert.ok(next.totalS >= shown.totalS);
        if (next.phase === shown.phase) assert.ok(next.phaseS >= shown.phaseS);
        shown = next;
      };
      for (const { waitMs, totalS, phaseS, phase, looks } of steps) {
        nowMs += waitMs;
        const update = said("RUNNING", phases[phase] ?? "", totalS, phaseS);
        timers = stepTimers(timers, update, nowMs, false);
        look(nowMs);
        for (const ms of looks) {
          nowMs += ms;
          look(nowMs);
        }
      }
    }),
  );
});

test("[WEB50] times are read at a glance", () => {
  assert.deepEqual([0, 59.9, 60, 3_725].map(formatTimer), ["0 s", "59 s", "1:00", "1:02:05"]);
});
