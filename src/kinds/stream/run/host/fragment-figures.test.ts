import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import {
  defaultDialect,
  LocalCatalog,
  type Plan,
  parseStatements,
  planQuery,
} from "../../language/core/index.ts";
import { cutFragments, specOf } from "../core/plan-fragments.ts";
import type { FragmentProgress } from "../core/progress.ts";
import { openPool } from "../testing/run-sql.ts";

function planOf(text: string): Plan {
  const catalog = new LocalCatalog(defaultDialect);
  for (const statement of parseStatements(text)) {
    if (!catalog.apply(statement) && statement.kind === "query") {
      return planQuery(statement.query, catalog, defaultDialect);
    }
  }
  throw new Error("there is no query");
}

/** The figures of the fragments by name, once `isReady`. The sink takes nothing until `open`. */
async function watch(
  text: string,
  isReady: (fragments: ReadonlyMap<string, FragmentProgress>) => boolean,
): Promise<ReadonlyMap<string, FragmentProgress>> {
  const gate = Promise.withResolvers<void>();
  const places = { sourceDir: ".", sinkDir: ".", print: () => gate.promise };
  const pool = openPool(2, places);
  const run = { query: "q", epoch: 1 };
  const cut = cutFragments(planOf(text), 2);
  const options = { restored: undefined, keepsState: true, addressOf: () => undefined };
  const specs = cut.fragments.map((fragment) => specOf(cut, fragment, options));
  const ignore = (): void => undefined;
  try {
    await pool.deploy(run, specs, { acknowledged: ignore, ended: ignore, failed: ignore });
    pool.start(run);
    return await eventually("the figures", async () => {
      const fragments = await pool.progress(run);
      const named = new Map(fragments.map((each) => [each.fragment, each]));
      return isReady(named) ? named : undefined;
    });
  } finally {
    gate.resolve();
    await pool.stop(run);
    await pool.close();
  }
}

test("[SU100] a fragment tells how long it worked and waited, and what went over each edge", async () => {
  const text = `
    CREATE LOGICAL SOURCE s (k UINT64 NOT NULL, ts UINT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR s TYPE Generator SET('SEQUENCE UINT64 0 100000000 1,
      SEQUENCE UINT64 0 100000000 1' AS "SOURCE".GENERATOR_SCHEMA);
    SELECT k, ts, LAG(k) OVER (PARTITION BY k ORDER BY ts) AS before FROM s INTO Print() SET(2 AS "QUERY".PARALLELISM);`;
  const fragments = await watch(text, (named) => {
    const source = [...named.values()].find(({ sources }) => sources.length > 0);
    return (source?.waitedMs ?? 0) > 50;
  });
  const source = [...fragments.values()].find(({ sources }) => sources.length > 0);
  const sink = [...fragments.values()].find(({ rowsOut }) => rowsOut > 0);
  assert.ok(source !== undefined && sink !== undefined, "the sink has taken a first batch");
  assert.ok(source.busyMs > 0);
  assert.ok(sink.waitedMs > 0, "the sink waits for who prints");
  assert.ok(sink.bytesOut > sink.rowsOut, "each row is a line of several bytes");
  assert.deepEqual(
    source.edges.map(({ to }) => fragments.has(to)),
    [true, true],
  );
  for (const { to, rows, bytes, backlogBytes } of source.edges) {
    assert.ok(rows > 0 && bytes > 8 * rows, `${to}: ${rows} rows in ${bytes} bytes`);
    assert.ok(backlogBytes > 0 && backlogBytes <= bytes);
    const received = fragments.get(to)?.rowsReceived.all ?? 0;
    assert.ok(received > 0 && received < rows, "what waits is sent and not received");
  }
  assert.ok(
    source.edges.some(({ waitedMs }) => waitedMs > 0),
    "an edge is full",
  );
  const sent = source.edges.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.equal(source.bytesOut, sent);
});

test("[SU101] a fragment names the source that holds its time back, or who sends to it", async () => {
  const text = `
    CREATE LOGICAL SOURCE fast (k UINT64 NOT NULL, ts UINT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR fast TYPE Generator SET('SEQUENCE UINT64 0 9 1,
      SEQUENCE UINT64 1000 100000000 1000' AS "SOURCE".GENERATOR_SCHEMA,
      'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 1000 AS "SOURCE".ROWS_PER_SECOND);
    CREATE LOGICAL SOURCE slow (k UINT64 NOT NULL, ts UINT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR slow TYPE Generator SET('SEQUENCE UINT64 0 9 1,
      SEQUENCE UINT64 1 100000000 1' AS "SOURCE".GENERATOR_SCHEMA,
      'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 1000 AS "SOURCE".ROWS_PER_SECOND);
    SELECT fast.k, slow.ts FROM fast JOIN slow ON fast.k = slow.k
      WINDOW TUMBLING(fast.ts, slow.ts, SIZE 1 SEC) INTO Void();`;
  const isTold = ({ slowest, watermark }: FragmentProgress) =>
    slowest !== undefined && watermark !== undefined;
  const fragments = await watch(text, (named) => [...named.values()].every(isTold));
  const of = (source: string) =>
    [...fragments.values()].find(({ sources }) => sources.some(({ name }) => name === source));
  assert.deepEqual(of("slow")?.slowest, { kind: "source", name: "slow" });
  assert.deepEqual(of("fast")?.slowest, { kind: "source", name: "fast" });
  const joins = [...fragments.values()].filter(({ sources }) => sources.length === 0);
  assert.ok(joins.length > 0);
  for (const { slowest, watermark } of joins) {
    assert.deepEqual(slowest, { kind: "fragment", fragment: of("slow")?.fragment });
    assert.ok(Number(watermark) < Number(of("fast")?.watermark), "it has the slower one's time");
  }
});
