import assert from "node:assert/strict";
import { test } from "node:test";
import { examplePlan } from "../testing.ts";
import { explainPlan, formatExplanation } from "./explain-plan.ts";

function explain(text: string): string {
  return formatExplanation(explainPlan(examplePlan(`${text} INTO Void()`)));
}

test("[SY46] a plan is shown as a tree with the state of each operator", () => {
  const text = explain(
    "SELECT auction, AVG(price) AS a, MEDIAN(price) AS m FROM bids WHERE price > 1.5 GROUP BY auction WINDOW SLIDING(ts, SIZE 1 MINUTE, ADVANCE BY 10 SEC)",
  );
  assert.equal(
    text,
    [
      "#5 Void sink Void()",
      "  #4 project auction, AVG, MEDIAN",
      "    #3 aggregate over windows of 1 min every 10 s of ts by auction: AVG(price), MEDIAN(price) | state: one result for each key and slice of open windows, and the values of MEDIAN and DISTINCT",
      "      #2 filter (price > 1.5)",
      "        #1 time from ts | state: the largest time so far",
      "          #0 File source bids (CSV) reading ts, auction, price",
    ].join("\n"),
  );
});

test("[SY46] what is used twice is shown once, with the shift of its time", () => {
  const text = explain(
    "WITH w AS (SELECT start, COUNT(*) AS c FROM bids WINDOW TUMBLING(ts, SIZE 5 SEC)) SELECT MAX(c) AS m FROM (SELECT * FROM w UNION SELECT * FROM w) WINDOW TUMBLING(start, SIZE 10 SEC)",
  );
  assert.match(text, /\[time less 5000 ms\]/);
  assert.match(text, /as above/);
});

test("[SY46] a join without an equality is warned about", () => {
  const query =
    "SELECT price FROM bids JOIN asks ON price < cost WINDOW TUMBLING(ts, at, SIZE 1 SEC)";
  assert.match(explain(query), /Warning: inner join .* every pair/);
  assert.doesNotMatch(explain(query.replace("price < cost", "auction = item")), /Warning/);
});

test("[SY46] as JSON it has nodes, columns, hash and warnings", () => {
  const explanation = explainPlan(examplePlan("SELECT ts FROM bids INTO Void()"));
  assert.deepEqual(
    explanation.nodes.map(({ kind, columns }) => [kind, columns]),
    [
      ["source", ["ts UINT64 NOT NULL"]],
      ["sink", ["ts UINT64 NOT NULL"]],
    ],
  );
  assert.equal(explanation.hash.length, 16);
  assert.deepEqual(explanation.warnings, []);
});
