import assert from "node:assert/strict";
import { join } from "node:path";
import { after } from "node:test";
import { parseQueryId } from "../../../../ground/kernel/ids.ts";
import { testGoldenScript } from "../../../../ground/kernel/testing/golden-script.ts";
import { memoryFixture } from "../../../../ground/store/testing/fixtures.ts";
import { openPlanned } from "../testing/planned-catalog.ts";
import { createStreamStatements } from "./stream-statements.ts";

const [opened] = await openPlanned(memoryFixture(), { after });
assert(opened !== undefined);
const { catalog } = opened;
const statements = createStreamStatements(
  (request, signal) => catalog.execute(request, signal),
  async () => assert.fail("nobody looks at rows"),
);
const queryId = parseQueryId("q1");
assert(queryId !== undefined);
const { signal } = new AbortController();

testGoldenScript(join(import.meta.dirname, "..", "testdata", "prompt.slt"), async (text) => {
  const parsed = statements.parseText(text);
  const request = { text, timeoutMs: 10_000, uploadId: undefined, signal, queryId };
  const answer = await parsed.run(request);
  assert("rows" in answer);
  const lines = answer.rows.map((row) => row.map((cell) => `${cell}`).join(" | "));
  return lines.map((line) => line.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "(when)"));
});
