import assert from "node:assert/strict";
import { test } from "node:test";
import { matchExecutions } from "./match-executions.ts";
import type { ExecutedQuery } from "./target.ts";

const texts = new Map([
  ["look", ["SELECT ?"]],
  ["pay", ["UPDATE a", "UPDATE b"]],
]);

function query(queryId: string, text: string, startMs: number): ExecutedQuery {
  return {
    queryId,
    text,
    startMs,
    endMs: startMs + 5,
    status: "SUCCESS",
    errorCode: null,
    warehouse: "W",
    clusterNumber: 1,
    totalElapsedMs: 5,
    executionMs: 3,
    compilationMs: 1,
    queuedMs: 1,
    rowsProduced: 1,
    bytesScanned: 1,
  };
}
const at = (executionId: string, startMs: number, operation = "look") => ({
  executionId,
  operation,
  startMs,
});

test("[ME1] each has the nearest query of its text, once, also where the history lacks some", () => {
  const executions = [at("c", 3_000), at("a", 1_000), at("b", 2_000), at("d", 9_000)];
  const queries = [
    query("q3", " SELECT ?; ", 3_020),
    query("q1", "SELECT ?", 1_010),
    query("far", "SELECT ?", 7_000),
    query("other", "SELECT 2", 2_000),
  ];
  const found = matchExecutions(executions, queries, texts);
  assert.deepEqual(
    found.map(({ executionId, queryIds }) => [executionId, queryIds]),
    [
      ["a", "q1"],
      ["c", "q3"],
    ],
  );
  const dense = Array.from({ length: 100 }, (_, index) => at(`e${index}`, index * 10));
  const told = dense.map(({ startMs }, index) => query(`q${index}`, "SELECT ?", startMs + 4));
  const paired = matchExecutions(dense, told.toReversed(), texts);
  assert.ok(
    paired.every(({ executionId, queryIds }) => executionId.slice(1) === queryIds.slice(1)),
  );
  assert.equal(paired.length, 100);
  const late = dense.map((_, index) => query(`q${index}`, "SELECT ?", 500 + index));
  assert.equal(matchExecutions(dense, late, texts).length, 100, "coarse times leave no gaps");
});

test("[ME2] of several statements all must be found; their times are added", () => {
  const executions = [at("p1", 1_000, "pay"), at("p2", 5_000, "pay")];
  const queries = [
    query("x", "UPDATE a", 1_001),
    query("y", "UPDATE b", 1_200),
    query("z", "UPDATE a", 5_001),
  ];
  assert.deepEqual(matchExecutions(executions, queries, texts), [
    {
      executionId: "p1",
      queryIds: "x,y",
      totalElapsedMs: 10,
      executionMs: 6,
      compilationMs: 2,
      queuedMs: 2,
      clusterNumber: 1,
    },
  ]);
});
