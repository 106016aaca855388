import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "../testing/views.ts";
import { type FragmentReport, factKeyOf } from "./commands.ts";
import { FleetView } from "./fleet-view.ts";

function facts(...reports: readonly FragmentReport[]): Record<string, string> {
  return Object.fromEntries(
    reports.map((each) => [factKeyOf("q1", each.fragment), JSON.stringify(each)]),
  );
}

function answered(view: FleetView, factsVersion: number, ...fragments: FragmentReport[]): void {
  const about = { kind: "answer", query: "q1", epoch: 1, command: 1, error: undefined } as const;
  view.answer("w1", { ...about, fragments, factsVersion });
}

const states = (view: FleetView) =>
  view.reports("w1", "q1").map(({ fragment, state }) => `${fragment} ${state}`);

test("[SD4] an answer counts until the facts are as new", () => {
  const view = new FleetView();
  view.workerUp("w1", 0);
  answered(view, 3, report("f0", "REGISTERED"));
  assert.deepEqual(view.facts("w1", facts(), 2), [], "these were sent before the command");
  assert.deepEqual(states(view), ["f0 REGISTERED"]);
  answered(view, 5, report("f0", "RUNNING"));
  view.facts("w1", facts(report("f0", "REGISTERED")), 4);
  assert.deepEqual(states(view), ["f0 RUNNING"]);
  assert.deepEqual(view.facts("w1", facts(report("f0", "FAILED")), 6), ["q1"]);
  assert.deepEqual(states(view), ["f0 FAILED"]);
  assert.deepEqual(view.facts("w1", facts(), 7), ["q1"]);
  assert.deepEqual(states(view), []);
});

test("[SD3] nothing is known of a worker without a session", () => {
  const view = new FleetView();
  view.workerUp("w1", 0);
  view.facts("w1", facts(report("f0", "RUNNING")), 1);
  assert.deepEqual(view.workersWith("q1"), ["w1"]);
  assert.deepEqual(view.workerDown("w1", 5), ["q1"]);
  assert.deepEqual([view.isUp("w1"), view.sinceMs("w1"), states(view)], [false, 5, []]);
  assert.deepEqual(view.facts("w1", facts(report("f0", "RUNNING")), 2), []);
});
