import assert from "node:assert/strict";
import { test } from "node:test";
import { HealthBoard } from "../../kernel/health.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { isAbleTo } from "./able-to.ts";

const cases = [
  { name: "all is well", failed: [], refreshes: true, load: true },
  { name: "the engine does not start", failed: ["engine"], refreshes: false, load: true },
  { name: "the disk is full", failed: ["disk"], refreshes: false, load: false },
  { name: "its directory is gone", failed: ["data_dir"], refreshes: false, load: false },
  { name: "a part that neither needs", failed: ["other"], refreshes: true, load: true },
];
for (const { name, failed, refreshes, load } of cases) {
  test(`[WN5] what a worker claims by itself: ${name}`, () => {
    const board = new HealthBoard({ clock: new VirtualClock() });
    const parts = ["data_dir", "disk", "engine", "other"].map((part) => [part, board.part(part)]);
    for (const [part, reporter] of parts as [string, ReturnType<HealthBoard["part"]>][]) {
      reporter.degraded("slow");
      if (failed.includes(part as never)) reporter.failed("gone");
    }
    const taking = { takesWork: true };
    assert.equal(isAbleTo("refreshes", board, taking), refreshes);
    assert.equal(isAbleTo("load", board, taking), load);
    const draining = { takesWork: false };
    assert.equal(isAbleTo("refreshes", board, draining), false);
    assert.equal(isAbleTo("load", board, draining), false);
  });
}
