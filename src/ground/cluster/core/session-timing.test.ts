import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AssertionError } from "../../kernel/errors.ts";
import {
  answerWaitMs,
  assertTiming,
  backoffWaitMs,
  defaultSessionTiming,
} from "./session-timing.ts";

const timing = defaultSessionTiming;

const waits = [
  { rttMs: undefined, want: 1_000 },
  { rttMs: 0, want: 500 },
  { rttMs: 100, want: 500 },
  { rttMs: 200, want: 550 },
  { rttMs: 500, want: 1_000 },
  { rttMs: 5_000, want: 1_000 },
];
for (const { rttMs, want } of waits) {
  test(`[CL2] after a round trip of ${rttMs} ms an answer is due in ${want} ms`, () => {
    assert.equal(answerWaitMs(timing, rttMs), want);
  });
}

test("[CL2] the upper clamp can be raised for slow links, together with the worker's patience", () => {
  assert.throws(() => assertTiming({ ...timing, answerMsMax: 10_000 }), AssertionError);
  assertTiming({ ...timing, answerMsMax: 10_000, controllerSilenceMsMax: 12_000 });
  assert.equal(answerWaitMs({ ...timing, answerMsMax: 10_000 }, 5_000), 7_750);
});

test("[CL3] a silent worker is detected within 3.5 s of its last answer, whatever the round trip", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1_000, noNaN: true }), (rttMs) => {
      const sinceAnswerMs = 3 * timing.heartbeatMs + answerWaitMs(timing, rttMs) - rttMs;
      assert.ok(sinceAnswerMs <= 3_500, `${sinceAnswerMs} ms`);
    }),
  );
});

test("[CL15] backoff is exponential, jittered, and between 100 ms and 10 s", () => {
  const shortest = [1, 2, 3, 4, 7, 8, 1_000].map((n) => backoffWaitMs(timing, n, 0));
  assert.deepEqual(shortest, [100, 200, 400, 800, 5_000, 5_000, 5_000]);
  fc.assert(
    fc.property(fc.nat(100_000), fc.double({ min: 0, max: 0.999, noNaN: true }), (n, random) => {
      const waitMs = backoffWaitMs(timing, n, random);
      assert.ok(waitMs >= timing.backoffMsMin && waitMs <= timing.backoffMsMax, `${waitMs} ms`);
    }),
  );
});
