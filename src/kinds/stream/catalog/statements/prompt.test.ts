import assert from "node:assert/strict";
import { join } from "node:path";
import { after } from "node:test";
import { testGoldenScript } from "../../../../ground/kernel/testing/golden-script.ts";
import { memoryFixture } from "../../../../ground/store/testing/fixtures.ts";
import { openPlanned } from "../testing/planned-catalog.ts";
import { runScripted } from "../testing/run-scripted.ts";

const [opened] = await openPlanned(memoryFixture(), { after });
assert(opened !== undefined);
testGoldenScript(join(import.meta.dirname, "..", "testdata", "prompt.slt"), runScripted(opened));
