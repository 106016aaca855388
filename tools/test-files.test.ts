import assert from "node:assert/strict";
import { test } from "node:test";
import { testFiles } from "./test-files.ts";

const spawns = { path: "src/a/spawn.ts", text: 'import { spawn } from "node:child_process";' };
const between = { path: "src/a/index.ts", text: 'export { x } from "./spawn.ts";' };

const cases = [
  { what: "starts nothing", text: "", want: "shared" },
  { what: "starts processes itself", text: spawns.text, want: "slow" },
  { what: "imports what starts them", text: 'import { x } from "./spawn.ts";', want: "slow" },
  { what: "imports that from afar", text: 'import { x } from "./index.ts";', want: "slow" },
  { what: "imports only a type of it", text: 'import type { x } from "./index.ts";', want: "slow" },
  { what: "searches", text: "const runs = Number(process.env.RUNS ?? 9);", want: "slow" },
  { what: "changes the environment", text: 'process.env.TMPDIR = "/x";', want: "alone" },
  { what: "mocks timers", text: "mock.timers.enable();", want: "alone" },
];
for (const { what, text, want } of cases) {
  test(`a test file that ${what} is ${want}`, () => {
    const [found] = testFiles([{ path: "src/a/x.test.ts", text }, between, spawns]);
    assert.equal(found?.isFast ? (found.isShared ? "shared" : "alone") : "slow", want);
  });
}

test("tests of the simulation, and only tests, are not fast", () => {
  const files = ["sim/a.test.ts", "src/a.ts"].map((path) => ({ path, text: "" }));
  assert.deepEqual(testFiles(files), [{ path: "sim/a.test.ts", isFast: false, isShared: false }]);
});
