import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultDialect } from "../dialect-settings.ts";
import { parseStatements } from "../parse/parse-statements.ts";
import { errorOf, exampleCatalog } from "../testing.ts";
import { explainStatement } from "./explain-statement.ts";

function explain(text: string): string {
  const [statement] = parseStatements(text);
  assert.ok(statement?.kind === "explain");
  return explainStatement(statement, exampleCatalog(), defaultDialect);
}

const aggregation =
  "SELECT auction, COUNT(*) AS n FROM bids WHERE auction > 1 GROUP BY auction WINDOW TUMBLING(ts, SIZE 1 SEC)";

test("[SY47] EXPLAIN shows what runs; without INTO the rows go nowhere", () => {
  const text = explain(`EXPLAIN ${aggregation}`);
  assert.match(text, /^#5 Void sink Void\(\)\n/);
  assert.match(text, /aggregate over windows of 1 s of ts by auction/);
  assert.equal(text, explain(`EXPLAIN (OPTIMIZED) ${aggregation} INTO Void() FORMAT TEXT`));
});

test("[SY47] EXPLAIN (STAGES) shows the parts and what goes between them", () => {
  const text = explain(`EXPLAIN (STAGES) ${aggregation} INTO Print()`);
  assert.match(text, /^stage 0 \(1 instance\)\n {2}#\d+ exchange by auction to stage 1\n/);
  assert.match(
    text,
    /\nstage 1 \(PARALLELISM instances\)\n {2}#\d+ exchange of all rows to stage 2/,
  );
  assert.match(text, /exchange by auction from stage 0/);
  assert.match(text, /\nstage 2 \(1 instance\)\n {2}#\d+ Print sink/);
});

test("[SY47] EXPLAIN (LOGICAL) shows the plan as it is written", () => {
  const constant = "SELECT auction + (1 + 2) AS x FROM bids";
  assert.match(explain(`EXPLAIN (LOGICAL) ${constant}`), /\(1 \+ 2\)/);
  assert.doesNotMatch(explain(`EXPLAIN ${constant}`), /\(1 \+ 2\)/);
  assert.match(
    explain(`EXPLAIN (ALL) ${constant}`),
    /^LOGICAL\n[\s\S]*\nOPTIMIZED\n[\s\S]*\nSTAGES\n/,
  );
});

test("[SY47] as JSON each stage of planning has its own key", () => {
  const data = JSON.parse(explain(`EXPLAIN (ALL) FORMAT JSON ${aggregation} INTO Print()`));
  assert.deepEqual(Object.keys(data), ["logical", "optimized", "stages"]);
  assert.deepEqual(
    data.stages.map((stage: { parallel: boolean }) => stage.parallel),
    [false, true, false],
  );
  assert.deepEqual(data.stages[1].receives[0].from, [0]);
});

test("[SY47] an unknown stage of planning is named", () => {
  const error = errorOf(() => parseStatements("EXPLAIN (OPTIMISED) SELECT a FROM s"));
  assert.equal(error.number, 2000);
  assert.match(error.hint ?? "", /OPTIMIZED/);
});
