import assert from "node:assert/strict";
import { test } from "node:test";
import { detailOf, type FragmentCount } from "./query-detail.ts";
import type { FragmentState } from "./states.ts";

const here = (state: FragmentState): FragmentCount => ({ state, isReachable: true, count: 1 });
const hidden = (state: FragmentState): FragmentCount => ({ state, isReachable: false, count: 2 });

const cases = [
  ["nothing runs yet", "DEPLOYING", [here("PENDING"), here("REGISTERED")], null],
  ["some run", "DEPLOYING", [here("RUNNING"), here("PENDING")], "PARTIALLY_DEPLOYED"],
  [
    "one has ended already",
    "DEPLOYING",
    [here("TERMINATED"), here("STARTED")],
    "PARTIALLY_DEPLOYED",
  ],
  ["all run, and nobody has looked yet", "DEPLOYING", [here("RUNNING")], null],
  ["all run", "RUNNING", [here("RUNNING")], null],
  ["it stops, and all can be asked", "STOPPING", [here("RUNNING"), here("STOPPED")], null],
  ["a worker cannot be asked", "STOPPING", [here("STOPPED"), hidden("RUNNING")], "STOPPING_STUCK"],
  ["a lost worker had ended before", "STOPPING", [here("RUNNING"), hidden("STOPPED")], null],
  ["the same while it fails", "TERMINATING", [hidden("STARTED")], "STOPPING_STUCK"],
  ["what is owed is no state of a failed query", "FAILED", [hidden("FAILED")], null],
] as const;

for (const [name, state, fragments, want] of cases) {
  test(`[SC46] ${state}, ${name}: ${want ?? "no detail"}`, () =>
    assert.equal(detailOf(state, fragments), want));
}
