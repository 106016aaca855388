import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiClient } from "../../../ground/command/client/api-client.ts";
import { undecidedText } from "./comparison.ts";
import { checkBase } from "./run.ts";

/** Knows one run, of so many operations. */
function clientOf(total: number, failed: number): Pick<ApiClient, "json"> {
  const json = async (path: string): Promise<unknown> => {
    assert.equal(path, "/api/tests/base%2F1/report.json");
    return { total_operations: total, failed_operations: failed };
  };
  return { json: json as ApiClient["json"] };
}

test("[LC6] --fail-on-regression refuses a base in which nothing succeeded, before the run", async () => {
  for (const [total, failed] of [
    [0, 0],
    [500, 500],
  ] as const) {
    await assert.rejects(checkBase(clientOf(total, failed), "base/1"), {
      exitCode: 2,
      message: /nothing succeeded in run base\/1/,
    });
  }
  await checkBase(clientOf(500, 499), "base/1");
});

test("[LC6] a comparison that decides nothing is said plainly", () => {
  assert.match(undecidedText([{ verdict: "INCONCLUSIVE" }]), /regression cannot be told; it does/);
  assert.equal(undecidedText([{ verdict: "NEUTRAL" }]), "");
});
