import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { OperatingError } from "../../../../../ground/kernel/errors.ts";
import type { SourceOp } from "../../../language/core/index.ts";
import { topology, worker } from "../../testing/placed-plans.ts";
import { snapshotOf } from "../../testing/snapshots.ts";
import { planStatements } from "./plan-statements.ts";

const three = topology(["w1", "w2", worker("w3", { takesFragments: false, reason: "it drains" })]);

function created(text: string, before = "") {
  const snapshot = snapshotOf(`${before} CREATE SINK out TYPE Void;`, three);
  const [planned] = planStatements([text], snapshot);
  assert.ok(planned?.kind === "change" && planned.change.kind === "createQuery");
  return planned.change;
}

function refusal(text: string, before = ""): string {
  const snapshot = snapshotOf(`${before} CREATE SINK out TYPE Void;`, three);
  try {
    planStatements([text], snapshot);
  } catch (thrown) {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    return `${thrown.code}: ${thrown.message}`;
  }
  return "it was planned";
}

function sourcesOf({ plan }: ReturnType<typeof created>): readonly SourceOp[] {
  return plan.plan.nodes.flatMap(({ op }) => (op.kind === "source" ? [op] : []));
}

const throughput = `SELECT start, end, SUM(recordsProcessed) AS totalThroughput
  FROM worker_statistics
  WINDOW TUMBLING(size = 5s)
  INTO out`;

const overload = `SELECT workerId, AVG(cpuUsage) AS avgCpu
  FROM worker_resources
  WINDOW SLIDING(size = 1 MINUTE, advance = 10 SECONDS)
  GROUP BY workerId
  HAVING avgCpu > 90.0
  INTO out`;

test("[SC70] a query reads a stream of the workers on each that takes fragments", () => {
  const change = created("SELECT worker_id, cpu_usage FROM system.worker_resources INTO out");
  assert.deepEqual(
    sourcesOf(change).map(({ type, config, parser }) => [type, config, parser.TYPE]),
    [
      ["System", { STREAM: "worker_resources", PLACEMENT: "w1" }, "JSON"],
      ["System", { STREAM: "worker_resources", PLACEMENT: "w2" }, "JSON"],
    ],
  );
  assert.equal(change.guarantee, "at most once");
  assert.deepEqual([change.logicalSources, change.physicalSources], [[], []]);
  assert.deepEqual(
    new Set(change.placement.flatMap((one) => (one.isPinned ? one.workerId : []))),
    new Set(["w1", "w2"]),
  );
});

test("[SC70] the blueprint's dashboard and overload queries are planned as they are written", () => {
  for (const text of [throughput, overload]) {
    const placed = created(text).placement.map(({ workerId }) => workerId);
    assert.deepEqual(new Set(placed), new Set(["w1", "w2"]), text);
  }
  const own = `CREATE LOGICAL SOURCE worker_statistics(n UINT64);
    CREATE PHYSICAL SOURCE FOR worker_statistics TYPE Generator
      SET('SEQUENCE UINT64 0 5 1' AS "SOURCE".GENERATOR_SCHEMA);`;
  const [source] = sourcesOf(created("SELECT n FROM worker_statistics INTO out", own));
  assert.equal(source?.type, "Generator");
});

test("[SC70] columns of a stream of the system are qualified by its own name, or an alias", () => {
  for (const from of [
    "heart.worker_id FROM system.worker_resources AS heart",
    "worker_resources.worker_id FROM SYSTEM.Worker_Resources",
  ]) {
    assert.equal(sourcesOf(created(`SELECT ${from} INTO out`)).length, 2, from);
  }
});

test("[SC70] nobody makes, feeds, drops or shadows a stream of the system", () => {
  const denied = "is a name of the system: nobody makes or drops it";
  for (const text of [
    "CREATE LOGICAL SOURCE system.mine(a UINT64)",
    "CREATE LOGICAL SOURCE IF NOT EXISTS `System.worker_statistics`(a UINT64)",
    "CREATE VIEW system.worker_statistics AS SELECT worker_id FROM system.worker_resources",
    "CREATE SINK `system.x` TYPE Void",
    "DROP LOGICAL SOURCE system.worker_statistics",
    "DROP VIEW IF EXISTS system.worker_statistics",
    `CREATE PHYSICAL SOURCE FOR system.worker_statistics TYPE Generator
      SET('SEQUENCE UINT64 0 5 1' AS "SOURCE".GENERATOR_SCHEMA)`,
  ]) {
    assert.match(refusal(text), new RegExp(denied), text);
  }
  assert.match(
    refusal("SELECT worker_id FROM system.worker_statistic INTO out"),
    /BinderError: there is no source system.worker_statistic/,
  );
  assert.match(
    refusal(
      'SELECT a FROM System(\'x\' AS "SOURCE".STREAM, SCHEMA(a UINT64) AS "SOURCE"."SCHEMA") INTO out',
    ),
    /there is no source type System/,
  );
});

test("[SC70] the examples of docs/stream.md over streams of the system are planned, with their sinks", () => {
  const path = ["..", "..", "..", "..", "..", "..", "docs", "stream.md"];
  const page = readFileSync(join(import.meta.dirname, ...path), "utf8");
  const examples = [...page.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].flatMap(([, text = ""]) =>
    text.includes("FROM system.") ? [text] : [],
  );
  assert.equal(examples.length, 3);
  for (const text of examples) {
    const snapshot = { ...snapshotOf("CREATE SINK out TYPE Void;", three), tables: [] };
    const kinds = planStatements([text], snapshot).map(
      (planned) => planned.kind === "change" && planned.change.kind,
    );
    assert.deepEqual(kinds, ["createSink", "createQuery"], text);
  }
});
