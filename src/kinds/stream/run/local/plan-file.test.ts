import assert from "node:assert/strict";
import { test } from "node:test";
import { DialectError, defaultDialect } from "../../language/core/index.ts";
import { planFile } from "./plan-file.ts";

const source = `CREATE LOGICAL SOURCE s (a UINT64);
CREATE PHYSICAL SOURCE FOR s TYPE File SET('s.csv' AS "SOURCE".FILE_PATH);
`;

for (const [text, words] of [
  ["CREATE WORKER w1", "CREATE WORKER"],
  ["SHOW QUERIES", "SHOW"],
  ["DROP QUERY q", "DROP QUERY"],
  ["DROP WORKER IF EXISTS w1", "DROP WORKER"],
] as const) {
  test(`[SU31] ${text} is accepted by check and refused by run`, () => {
    planFile(source + text, defaultDialect, { check: true });
    assert.throws(
      () => planFile(source + text, defaultDialect),
      (thrown: unknown) =>
        thrown instanceof DialectError &&
        thrown.message.startsWith(words) &&
        thrown.position?.line === 3,
    );
  });
}

test("[SU31] EXPLAIN answers, and is no query", () => {
  const answers: string[] = [];
  const explained = (text: string): number => answers.push(text);
  const queries = planFile(
    `${source}EXPLAIN SELECT a FROM s; SELECT a FROM s INTO Void()`,
    defaultDialect,
    {
      explained,
    },
  );
  assert.equal(queries.length, 1);
  assert.equal(answers.length, 1);
  assert.match(answers[0] ?? "", /File source s/);
});
