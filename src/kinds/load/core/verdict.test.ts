import assert from "node:assert/strict";
import { test } from "node:test";
import { availabilityOf, type UsualAnswers } from "./availability.ts";
import { Histogram } from "./histogram.ts";
import type { VerdictConfig } from "./scenario.ts";
import type { SloResult } from "./slo.ts";
import { judgeRun, type VerdictFacts, verdictDefaults } from "./verdict.ts";
import type { Answering } from "./worker-snapshot.ts";

const good: VerdictFacts = {
  loadMode: "CONCURRENCY",
  ops: 10_000,
  errors: 0,
  unserved: 0,
  operations: [],
  availability: {
    availability_pct: 100,
    longest_silence_ms: 120,
    usual_silence_ms: 1_000,
    stalled_pct: 0,
  },
  search: null,
  hasCompleted: true,
};
const searched = (max_concurrency: number, hasCompleted = true): VerdictFacts => ({
  ...good,
  loadMode: "FIND_MAX_CONCURRENCY",
  errors: 6_000,
  search: { max_concurrency, reason: "64 % of the operations failed; 1 % are allowed" },
  hasCompleted,
});
const kept: SloResult = { verdict: "PASSED", slos: [] };
const none: SloResult = { verdict: null, slos: [] };

function away(availability_pct: number, seconds: number, usual_silence_ms = 1_000): VerdictFacts {
  const longest_silence_ms = seconds * 1_000;
  return {
    ...good,
    availability: { availability_pct, longest_silence_ms, usual_silence_ms, stalled_pct: 0 },
  };
}

const cases: readonly [name: string, facts: VerdictFacts, reason: RegExp | null][] = [
  ["a good run", good, null],
  ["everything failed", { ...good, errors: 10_000 }, /no operation succeeded: 10000 failed/],
  ["everything hung", { ...good, ops: 0, unserved: 500 }, /no operation succeeded: 0 failed, 500/],
  ["nothing was due", { ...good, ops: 0 }, /nothing was measured/],
  [
    "one operation always failed",
    { ...good, errors: 3, operations: [{ operation: "put", ops: 3, errors: 3, unserved: 0 }] },
    /operation put never succeeded: 3 failed, 0 unserved/,
  ],
  [
    "one operation always failed, or went unserved, in a search",
    {
      ...searched(12),
      operations: [
        { operation: "look", ops: 9_000, errors: 0, unserved: 0 },
        { operation: "put", ops: 2, errors: 2, unserved: 1 },
      ],
    },
    /operation put never succeeded: 2 failed, 1 unserved/,
  ],
  [
    "one operation failed twice, and was tried no more often",
    { ...good, errors: 2, operations: [{ operation: "put", ops: 2, errors: 2, unserved: 0 }] },
    null,
  ],
  ["5 % failed", { ...good, errors: 500 }, null],
  ["more failed", { ...good, errors: 501 }, /error rate 5.01 %: 501 of 10000.*at most 5 %/],
  ["1 % unserved", { ...good, ops: 9_900, unserved: 100 }, null],
  ["more unserved", { ...good, ops: 9_899, unserved: 101 }, /101 of 10000 arrivals \(1.01 %\)/],
  ["away for half of the time", away(50, 4), /availability 50 %.*minimum 99 %/],
  ["silent for 5 s", away(99.5, 5), null],
  ["silent for longer", away(99.5, 5.1), /longest silence 5.1 s.*at most 5 s/],
  ["slow, not silent", away(100, 19, 20_000), null],
  [
    "a search fails at its last step",
    { ...away(80, 9), loadMode: "FIND_MAX_CONCURRENCY", errors: 900 },
    null,
  ],
  [
    "a search without a success",
    { ...good, loadMode: "FIND_MAX_CONCURRENCY", errors: 10_000 },
    /no op/,
  ],
  ["a search that found a number", searched(12), null],
  [
    "a search that found none",
    searched(0),
    /no number of connections kept.*64 % of the operations/,
  ],
  ["a search that was cancelled before", searched(0, false), null],
  ["cancelled before it began", { ...good, ops: 0, hasCompleted: false }, null],
];
for (const [name, facts, reason] of cases) {
  test(`[VE1] [VE3] [VE4] whatever the objectives: ${name}`, () => {
    for (const slo of [kept, none]) {
      const { verdict, reasons, allowances } = judgeRun(verdictDefaults, facts, slo);
      const good = facts.hasCompleted ? slo.verdict : null; // VE5
      assert.equal(verdict, reason === null ? good : "FAILED");
      if (reason === null) assert.deepEqual(reasons, []);
      else assert.match(reasons.join("\n"), reason);
      const isRelaxed = (facts.availability?.usual_silence_ms ?? 0) > 5_000;
      assert.equal(allowances.length, isRelaxed ? 1 : 0);
    }
  });
}

test("[VE4] a limit for silence that is set counts as it is; one that is relaxed is said", () => {
  const slow = away(100, 19, 20_000);
  const { allowances } = judgeRun(verdictDefaults, slow, kept);
  assert.match(allowances.join(), /up to 20 s are allowed instead of 5 s.*usually are 2 s apart/);
  const set = judgeRun({ ...verdictDefaults, maxSilenceSeconds: 5 }, slow, kept);
  assert.equal(set.verdict, "FAILED");
  assert.match(set.reasons.join(), /longest silence 19 s.*at most 5 s/);
  assert.deepEqual(set.allowances, []);
});

test("[VE2] a template's own limits count, and are said", () => {
  const own: VerdictConfig = {
    needsSuccess: false,
    maxErrorRatePct: 50,
    maxUnservedPct: null,
    minAvailabilityPct: 10,
    maxSilenceSeconds: null,
  };
  const bad = { ...away(50, 40), errors: 4_000, unserved: 90_000 };
  const { verdict, reasons, allowances } = judgeRun(own, bad, kept);
  assert.deepEqual([verdict, reasons], ["PASSED", []]);
  assert.equal(allowances.length, 5);
  assert.match(allowances.join("\n"), /error rate at most 50 % \(default at most 5 %\)/);
  assert.match(allowances.join("\n"), /unserved arrivals not judged \(default at most 1 %\)/);
  assert.equal(judgeRun(own, { ...bad, errors: 10_000 }, kept).verdict, "FAILED");
  assert.equal(
    judgeRun({ ...own, maxErrorRatePct: null }, { ...bad, errors: 10_000 }, kept).verdict,
    "PASSED",
  );
});

test("[SO4] a missed objective is a reason like a broken limit", () => {
  const text = "p95 of ALL is 30 ms; at most 20 ms is allowed";
  const missed: SloResult = {
    verdict: "FAILED",
    slos: [{ of: "ALL", metric: "p95", limit: 20, state: "MISSED", value: 30, text }],
  };
  assert.deepEqual(judgeRun(verdictDefaults, good, missed).reasons, [text]);
  assert.equal(judgeRun(verdictDefaults, good, missed).verdict, "FAILED");
});

for (const [name, facts, slo, verdict] of [
  ["kept its objectives until then", good, kept, null],
  ["has no objectives", good, none, null],
  ["broke a limit by then", { ...good, errors: 900 }, kept, "FAILED"],
  ["missed an objective by then", good, { verdict: "FAILED", slos: [] }, "FAILED"],
] as const) {
  test(`[VE5] a run that did not reach its end has not passed: it ${name}`, () => {
    const judged = judgeRun(verdictDefaults, { ...facts, hasCompleted: false }, slo);
    assert.equal(judged.verdict, verdict);
  });
}

function answeringOf(
  measuredMs: number,
  silencesMs: readonly number[],
  outagesMs: readonly number[] = [],
) {
  const [silences, outages] = [new Histogram(), new Histogram()];
  for (const ms of [...silencesMs, ...outagesMs]) silences.record(ms * 1_000);
  for (const ms of outagesMs) outages.record(ms * 1_000);
  return { measured_ms: measuredMs, silences: silences.encode(), outages: outages.encode() };
}

/** As many answers as one connection gets, unless given. */
const usual = (medianMs: number, successes = 10_000 / medianMs) => ({
  medianMs,
  successes,
  highMs: new Map([["look", 2 * medianMs]]),
  isDead: false,
});
const times = (count: number, ms: number): readonly number[] => new Array(count).fill(ms);

function near(answering: Answering, answers: UsualAnswers, percent: number): void {
  const found = availabilityOf([answering], answers)?.availability_pct ?? 0;
  assert.ok(Math.abs(found - percent) < 0.5, `${found} for ${percent}`);
}

const absences: readonly [string, Answering, UsualAnswers, percent: number][] = [
  ["down for 0.5 s of every 1.5 s", answeringOf(15_000, [], times(10, 500)), usual(1), 66.7],
  ["down for 0.2 s of every second", answeringOf(10_000, [], times(10, 200)), usual(1), 80],
  ["short and long outages", answeringOf(20_000, [], [200, 300, 4_500]), usual(1), 75],
  ["standing still for 0.9 s of every 4 s", answeringOf(16_000, times(4, 900)), usual(3), 77.5],
  ["pauses of 0.4 s, and nothing refused", answeringOf(10_000, times(10, 400)), usual(3), 100],
];
for (const [name, answering, answers, percent] of absences) {
  test(`[AV1] what is counted as absent: ${name}`, () => near(answering, answers, percent));
}

const slow: readonly [string, Answering, UsualAnswers, percent: number][] = [
  ["sparse answers that take 0.3 s", answeringOf(60_000, times(60, 300)), usual(300, 60), 100],
  ["slow, and refused", answeringOf(60_000, times(40, 300), [700]), usual(300, 40), 98.8],
  ["slow, and away for 30 s", answeringOf(60_000, times(40, 300), [30_000]), usual(300, 40), 50],
  ["one connection, 2 s each", answeringOf(30_000, times(15, 2_000)), usual(2_000, 15), 100],
  ["one connection, thinking for 2 s", answeringOf(14_000, times(3, 2_000)), usual(2_000, 3), 100],
  ["100 connections in step, 2 s", answeringOf(14_000, times(7, 2_000)), usual(2_000, 700), 100],
  [
    "a few slow operations in between",
    answeringOf(15_000, times(10, 1_000)),
    usual(1_000, 500),
    100,
  ],
  ["refused for 7 s, 2 % take 1 s", answeringOf(16_000, [], [7_200]), usual(1_000, 2_880), 55],
  ["hung for 7 s, 2 % take 1 s", answeringOf(16_000, [150, 7_200]), usual(1_000, 2_880), 55],
  ["all take 0.8 s, refused for 7 s", answeringOf(14_000, [], [7_000]), usual(800, 90), 50],
  ["all take 0.8 s, hung for 7 s", answeringOf(14_000, [7_000]), usual(800, 90), 50],
  ["hung for 20 s, few take 30 s", answeringOf(200_000, [20_000]), usual(30_000, 90_000), 90],
];
for (const [name, answering, answers, percent] of slow) {
  test(`[AV3] a slow target is not an absent one, and hides no absence: ${name}`, () =>
    near(answering, answers, percent));
}

function stalledOf(
  connections: number,
  measuredMs: number,
  stallsMs: readonly number[],
): Answering {
  const stalls = new Histogram();
  for (const ms of stallsMs) stalls.record(ms * 1_000);
  const own = { connection_ms: connections * measuredMs, stalls: { look: stalls.encode() } };
  return { ...answeringOf(measuredMs, []), ...own };
}

const stalls: readonly [string, Answering, UsualAnswers, percent: number][] = [
  ["9 of 10 hang for 9 of 12 s", stalledOf(10, 12_000, times(9, 9_000)), usual(10), 32.5],
  ["all of them do", { ...stalledOf(2, 12_000, [6_000, 6_000]) }, usual(10), 50],
  ["now and then one waits for a lock", stalledOf(10, 12_000, times(20, 1_500)), usual(10), 100],
  ["all operations take 3 s", stalledOf(10, 12_000, times(40, 3_000)), usual(3_000, 40), 100],
];
for (const [name, answering, answers, percent] of stalls) {
  test(`[AV4] connections that wait count with their share: ${name}`, () =>
    near(answering, answers, percent));
}

test("[AV1] [AV2] [AV3] availability is the time outside of silences; slow answers are not silence", () => {
  const is = (found: number | undefined, wanted: number): void =>
    assert.ok(Math.abs((found ?? 0) - wanted) < 0.5, `${found} for ${wanted}`);
  const outage = availabilityOf([answeringOf(14_000, [150, 7_000])], usual(4));
  is(outage?.availability_pct, 50);
  assert.equal(outage?.longest_silence_ms, 7_000);
  const both = [answeringOf(10_000, [5_000]), answeringOf(10_000, [2_000])];
  is(availabilityOf(both, usual(4))?.availability_pct, 65);
  assert.equal(availabilityOf(both, usual(4))?.longest_silence_ms, 5_000);
  const steady = availabilityOf([answeringOf(30_000, times(10, 3_000))], usual(3_000, 10));
  assert.equal(steady?.availability_pct, 100);
  assert.equal(steady?.usual_silence_ms, 30_000);
  assert.equal(availabilityOf([answeringOf(0, [])], usual(4)), null);
});
