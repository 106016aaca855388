/** The refusals that people read, and that the script has all of them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { testGoldenScript } from "../../../../ground/kernel/testing/golden-script.ts";
import { memoryFixture } from "../../../../ground/store/testing/fixtures.ts";
import { catalogCodes } from "../error-codes.ts";
import { openPlanned } from "../testing/planned-catalog.ts";
import { runScripted } from "../testing/run-scripted.ts";
import { addWorkers } from "../testing/scripted-catalog.ts";

const [opened] = await openPlanned(memoryFixture(), { after });
assert(opened !== undefined);
await addWorkers(opened.store, "w3");
const path = join(import.meta.dirname, "..", "testdata", "refusals.slt");
const known = { "host-w1:4601": "w1", "host-w2:4601": "w2", "edge-1:4611": "edge-1" };
for (const [address, workerId] of Object.entries(known)) {
  const worker = { workerId, incarnation: "i1", softwareVersion: "0.1.0" };
  opened.network.set(address, { ...worker, dataPort: 4_612, capacity: 2 });
}

testGoldenScript(path, runScripted(opened));

test("[SC81] each code of a refusal is in the script", () => {
  const script = readFileSync(path, "utf8");
  const missing = Object.keys(catalogCodes).filter((code) => !script.includes(`error ${code}: `));
  assert.deepEqual(missing, ["TooManyRequests"], "which [SC14] provokes, with many requests");
});

test("[SC81] each code, and each other word for it, is explained", () => {
  const docs = readFileSync(join(import.meta.dirname, "../../../../../docs/stream.md"), "utf8");
  const others = ["WorkerNotFound", "LogicalSourceNotFound", "PhysicalSourcesExist"];
  const words = [...Object.keys(catalogCodes), ...others, "ActiveQueriesExist", "InvalidTopology"];
  assert.deepEqual(
    words.filter((word) => !docs.includes(word)),
    [],
  );
});
