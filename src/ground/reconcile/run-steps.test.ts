import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionError } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { runSteps } from "./run-steps.ts";

const options = (signal: AbortSignal) => ({ signal, logger: silentLogger, what: "upkeep" });
const { signal: never } = new AbortController();

test("[RC14] a step that fails does not keep the others from their turn", async () => {
  const steps = {
    first: async () => 3,
    second: async () => {
      throw new Error("the disk is away");
    },
    third: async () => 1,
  };
  assert.deepEqual(await runSteps(steps, options(never)), { first: 3, second: 0, third: 1 });
});

test("[RC14] a round that is aborted begins no other step", async () => {
  const stop = new AbortController();
  const steps = {
    first: async () => {
      stop.abort();
      return 1;
    },
    second: async () => 1,
  };
  assert.deepEqual(await runSteps(steps, options(stop.signal)), { first: 1, second: 0 });
});

test("[RC14] our own bug is not a step that failed", async () => {
  const steps = { only: () => Promise.reject(new AssertionError("our own bug")) };
  await assert.rejects(runSteps(steps, options(never)), AssertionError);
});
