import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createDirectEngine } from "./testing/direct-engine.ts";
import { runScript } from "./testing/run-script.ts";

/**
 * Our own scripts, with one shard and with several. Prometheus 3.14's engine computed the expected
 * results, except two that follow Prometheus's later scripts: a dropped name in `info`, and a
 * varying argument over a subquery with `@`.
 */
const folder = join(import.meta.dirname, "testdata");

for (const file of globSync("*.test", { cwd: folder }).sort()) {
  for (const shardCount of [1, 4]) {
    test(`${file}, ${shardCount} shards`, async () => {
      const text = readFileSync(join(folder, file), "utf8");
      const outcomes = await runScript(file, text, createDirectEngine(shardCount));
      assert(outcomes.length > 0);
      const failures = outcomes
        .filter(({ failure }) => failure !== undefined)
        .map(({ line, query, failure }) => `${file}:${line} ${query}\n  ${failure}`);
      assert.equal(failures.length, 0, failures.join("\n"));
    });
  }
}
