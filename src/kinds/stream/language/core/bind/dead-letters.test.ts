import assert from "node:assert/strict";
import { test } from "node:test";
import { DialectError } from "../dialect-error.ts";
import { defaultDialect } from "../dialect-settings.ts";
import { LocalCatalog } from "../local-catalog.ts";
import { cutPlan } from "../parallel/cut-plan.ts";
import { parseStatements } from "../parse/parse-statements.ts";
import type { Plan } from "../plan.ts";
import { planQuery } from "../plan-statement.ts";
import { deadLetterNode } from "./dead-letters.ts";

function plan(query: string, formatter = ""): Plan {
  const text = `CREATE LOGICAL SOURCE s (a UINT64, b UINT64, ts UINT64);
    CREATE PHYSICAL SOURCE FOR s TYPE File SET('s.csv' AS "SOURCE".FILE_PATH ${formatter});
    CREATE SINK out TYPE Print;
    CREATE SINK side TYPE Print;
    CREATE SINK narrow (a UINT64) TYPE Print;
    ${query};`;
  const catalog = new LocalCatalog(defaultDialect);
  for (const statement of parseStatements(text)) {
    if (catalog.apply(statement)) continue;
    if (statement.kind === "query") return planQuery(statement.query, catalog, defaultDialect);
  }
  throw new Error("the text has a query");
}

function numberOf(make: () => Plan): number | undefined {
  try {
    make();
    return undefined;
  } catch (thrown) {
    return thrown instanceof DialectError ? thrown.number : 0;
  }
}

const deadLetter = (sink: string): string =>
  `, 'dead_letter' AS INPUT_FORMATTER.ON_MALFORMED, '${sink}' AS INPUT_FORMATTER.DEAD_LETTER_SINK`;

test("[SY80] a source's dead-letter sink is a node beside it, and runs where it runs", () => {
  const made = plan("SELECT a FROM s INTO out", deadLetter("Side"));
  const [source] = made.nodes;
  assert.ok(source !== undefined);
  const id = deadLetterNode(made.nodes, source);
  assert.deepEqual(
    made.nodes[id ?? -1]?.schema.map(({ name }) => name),
    ["source", "place", "reason", "record"],
  );
  const [stage] = cutPlan(made);
  assert.ok(stage?.nodes.some((node) => node.id === id));
  assert.equal(deadLetterNode(plan("SELECT a FROM s INTO out").nodes, source), undefined);
});

test("[SY81] a sink that is not there, not named or has other columns is refused", () => {
  const query = "SELECT a FROM s INTO out";
  assert.equal(
    numberOf(() => plan(query, deadLetter("nobody"))),
    2033,
  );
  assert.equal(
    numberOf(() => plan(query, deadLetter("narrow"))),
    2003,
  );
  const unnamed = ", 'dead_letter' AS INPUT_FORMATTER.ON_MALFORMED";
  assert.equal(
    numberOf(() => plan("SELECT a FROM s INTO out", unnamed)),
    1000,
  );
});
