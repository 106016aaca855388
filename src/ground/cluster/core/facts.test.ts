import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AssertionError } from "../../kernel/errors.ts";
import { applyFactsDelta, FactsTracker, factsMax } from "./facts.ts";
import type { Facts } from "./frames.ts";

test("[CL16] a fact set to what it is already changes no version", () => {
  const tracker = new FactsTracker();
  tracker.set("cpu_ratio", "0.5");
  tracker.set("cpu_ratio", "0.5");
  tracker.unset("memory_bytes");
  assert.equal(tracker.version, 1);
  assert.equal(tracker.since(1), undefined);
});

test("[CL16] a change is told until it is acknowledged, and then forgotten", () => {
  const tracker = new FactsTracker();
  tracker.set("fragment/1", "running");
  tracker.unset("fragment/1");
  assert.deepEqual(tracker.since(1), { version: 2, set: {}, unset: ["fragment/1"] });
  tracker.forget(1);
  assert.deepEqual(tracker.since(1)?.unset, ["fragment/1"]);
  tracker.forget(2);
  assert.deepEqual(tracker.since(1)?.unset, []);
  tracker.set("a", "1");
  tracker.set("b", "1");
  tracker.set("a", "2");
  tracker.forget(4);
  assert.deepEqual(tracker.since(4), { version: 5, set: { a: "2" }, unset: [] });
});

test("[CL16] facts are bounded on both sides", () => {
  const tracker = new FactsTracker();
  for (let index = 0; index < factsMax; index += 1) tracker.set(`f${index}`, "");
  assert.throws(() => tracker.set("one-more", ""), AssertionError);
  assert.throws(() => tracker.set("__proto__", ""), AssertionError);
  const delta = { version: factsMax + 1, set: { "one-more": "" }, unset: [] };
  assert.equal(applyFactsDelta(tracker.all(), delta), undefined);
});

/** A change of a fact, or a heartbeat whose answer arrives or is lost. */
const action = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), key: key(), value: fc.string({ maxLength: 3 }) }),
  fc.record({ kind: fc.constant("unset" as const), key: key() }),
  fc.record({ kind: fc.constant("beat" as const), lost: fc.boolean(), twice: fc.boolean() }),
);
function key(): fc.Arbitrary<string> {
  return fc.constantFrom("a", "b", "c", "d");
}

test("[CL16] whoever applies the inventory and the deltas it got has the worker's facts", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), fc.nat(5), (actions, joinAt) => {
      const tracker = new FactsTracker();
      let mine: { facts: Facts; version: number } | undefined;
      const beat = (lost: boolean, twice: boolean): void => {
        if (mine === undefined) return;
        tracker.forget(mine.version);
        const delta = tracker.since(mine.version);
        if (lost || delta === undefined) return;
        for (let times = twice ? 2 : 1; times > 0; times -= 1) {
          mine = { facts: applyFactsDelta(mine.facts, delta) ?? {}, version: delta.version };
        }
      };
      for (const [index, act] of actions.entries()) {
        if (index === joinAt) mine = { facts: tracker.all(), version: tracker.version };
        if (act.kind === "set") tracker.set(act.key, act.value);
        else if (act.kind === "unset") tracker.unset(act.key);
        else beat(act.lost, act.twice);
      }
      beat(false, false);
      if (mine !== undefined) assert.deepEqual(mine.facts, tracker.all());
    }),
  );
});
