import assert from "node:assert/strict";
import { test } from "node:test";
import { closing, type Part, stopStep, stopStepsOf } from "./part.ts";

test("[PR16] parts are quiet in their order, then work is drained, then they close in reverse", async () => {
  const done: string[] = [];
  const note = (name: string) => stopStep(name, 10, () => done.push(name));
  const parts: readonly Part[] = [
    closing("store", 10, () => done.push("close store")),
    { name: "kind", quiesce: [note("quiet kind")], close: [note("close kind"), note("delete")] },
    { name: "api", quiesce: [note("refuse")], close: [note("close api")] },
  ];
  for (const step of stopStepsOf(parts, note("drain"))) await step.run();
  assert.deepEqual(done, [
    "quiet kind",
    "refuse",
    "drain",
    "close api",
    "close kind",
    "delete",
    "close store",
  ]);
});
