import assert from "node:assert/strict";
import { test } from "node:test";
import { CheckpointRound } from "./checkpoint-round.ts";

test("[SU26] a checkpoint has the state of every fragment, of those that ended their last one", () => {
  const round = new CheckpointRound<string>(["a", "b", "c"]);
  assert.equal(round.states(), undefined);
  round.begin(1);
  assert.ok(round.acknowledge("a", 1, "a1"));
  round.ended("b", "b end");
  assert.deepEqual([round.states(), round.missing()], [undefined, ["c"]]);
  round.acknowledge("c", 1, "c1");
  assert.deepEqual(round.states(), ["a1", "b end", "c1"]);
  round.close();
  round.begin(2);
  round.acknowledge("c", 2, "c2");
  round.ended("c", "c end");
  round.ended("a", "a end");
  // What it acknowledged is of the checkpoint's moment, its end may be later.
  assert.deepEqual(round.states(), ["a end", "b end", "c2"]);
  assert.ok(round.hasAllEnded);
});

test("[SU26] what belongs to a checkpoint that is not under way counts for nothing", () => {
  const round = new CheckpointRound<string>(["a", "b"]);
  round.begin(1);
  round.acknowledge("a", 1, "a1");
  round.close();
  assert.equal(round.acknowledge("b", 1, "b1"), false);
  round.begin(2);
  assert.equal(round.acknowledge("b", 1, "b1"), false);
  round.acknowledge("b", 2, "b2");
  assert.equal(round.states(), undefined);
  assert.deepEqual(round.missing(), ["a"]);
});
