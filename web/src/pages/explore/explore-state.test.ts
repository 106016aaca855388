import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chooseStepMs,
  defaultState,
  type ExploreState,
  formatSpan,
  formatState,
  parseDuration,
  parseState,
} from "./explore-state.ts";

const states: readonly ExploreState[] = [
  defaultState,
  { ...defaultState, queries: ["up"] },
  { ...defaultState, queries: ['sum by (job) (rate(x{a="b&c=d"}[5m]))', "", "späť + 1"] },
  { queries: ["up"], rangeMs: 5_400_000, endMs: 1_700_000_000_500, stepMs: 15_000, view: "table" },
  { ...defaultState, queries: ["up"], view: "explain" },
];
for (const state of states) {
  test(`[WEB30] the address says all of it: ${formatState(state)}`, () => {
    assert.deepEqual(parseState(new URLSearchParams(formatState(state).toString())), state);
  });
}

test("[WEB30] an address with nonsense in it shows the defaults", () => {
  const params = new URLSearchParams("range=long&end=soon&step=-1&view=pie");
  assert.deepEqual(parseState(params), defaultState);
});

test("[WEB30] every time of an address is one that can be shown", () => {
  const { rangeMs, endMs } = parseState(new URLSearchParams("range=285000y&end=1e20"));
  assert.equal(endMs, undefined);
  assert.ok(!Number.isNaN(new Date(-rangeMs).getTime()));
});

for (const [text, ms] of [
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["1w", 604_800_000],
  ["250ms", 250],
  ["0s", undefined],
  ["", undefined],
  ["5", undefined],
  ["1h 30m", undefined],
] as const) {
  test(`[WEB30] "${text}" is ${ms} milliseconds`, () => {
    assert.equal(parseDuration(text), ms);
    if (ms !== undefined) assert.equal(parseDuration(formatSpan(ms)), ms);
  });
}

test("[WEB30] the step follows range and width, and stays below the API's limit of points", () => {
  assert.equal(chooseStepMs(3_600_000, 1_200), 15_000);
  assert.equal(chooseStepMs(86_400_000, 1_200), 300_000);
  for (const rangeMs of [1_000, 60_000, 3_600_000, 31_536_000_000, 315_360_000_000]) {
    for (const width of [0, 320, 1_200, 10_000]) {
      const points = rangeMs / chooseStepMs(rangeMs, width);
      assert.ok(points <= 2_000, `${points} points for ${rangeMs} in ${width}`);
    }
  }
});
