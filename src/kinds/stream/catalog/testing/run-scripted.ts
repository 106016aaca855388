/** Statements of golden scripts, answered as the prompt answers them. */
import assert from "node:assert/strict";
import { parseQueryId } from "../../../../ground/kernel/ids.ts";
import type { RunStep } from "../../../../ground/kernel/testing/golden-script.ts";
import { createStreamStatements } from "../statements/stream-statements.ts";
import type { PlannedCatalog } from "./planned-catalog.ts";

export function runScripted({ catalog }: Pick<PlannedCatalog, "catalog">): RunStep {
  const statements = createStreamStatements(
    (request, signal) => catalog.execute(request, signal),
    async () => assert.fail("nobody looks at rows"),
  );
  const queryId = parseQueryId("q1");
  assert(queryId !== undefined);
  const { signal } = new AbortController();
  return async (text) => {
    const parsed = statements.parseText(text);
    const request = { text, timeoutMs: 10_000, uploadId: undefined, signal, queryId };
    const answer = await parsed.run(request);
    assert("rows" in answer);
    const lines = answer.rows.map((row) => row.map((cell) => `${cell}`).join(" | "));
    return lines.map((line) => line.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "(when)"));
  };
}
