import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../ground/kernel/testing/eventually.ts";
import type { LocalQuery } from "./local/local-query.ts";
import { RealPlan } from "./testing/plans/run-real.ts";
import { runSql } from "./testing/run-sql.ts";

const counts = "SELECT k, COUNT(*) AS n, start FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 100 MS)";
const over = "WINDOW TUMBLING(start, SIZE 100 MS)";

/** The counts of each key beside what a window over all counts gives. */
const joins: Readonly<Record<string, string>> = {
  "without keys": `JOIN (SELECT MAX(k) AS top, MAX(n) AS most, start AS s2 FROM (${counts}) ${over}) ON k = top`,
  "with keys": `JOIN (SELECT k % 2 AS j, MAX(n) AS most, start AS s2 FROM (${counts}) GROUP BY k % 2 ${over}) ON k = j`,
  "with keys, by another column": `LEFT JOIN (SELECT n AS j, MAX(k) AS most, start AS s2 FROM (${counts}) GROUP BY n ${over}) ON k = most`,
};

for (const [name, joined] of Object.entries(joins)) {
  test(`[SY95] windows joined with a window over them give the same in one fragment and in several: ${name}`, () => {
    const sql = `CREATE LOGICAL SOURCE s (ts UINT64 NOT NULL, k INT64 NOT NULL) WATERMARK(ts, 0 MS);
      CREATE PHYSICAL SOURCE FOR s TYPE File SET('file0' AS "SOURCE".FILE_PATH);
      CREATE PHYSICAL SOURCE FOR s TYPE File SET('file1' AS "SOURCE".FILE_PATH);
      SELECT k, n, most FROM (SELECT k, n, start AS s1 FROM (${counts})) ${joined}
        WINDOW TUMBLING(s1, s2, SIZE 100 MS) INTO Print();`;
    const file = (seed: number): Uint8Array =>
      new TextEncoder().encode(
        Array.from({ length: 90 }, (_, row) => `${row * 7},${(row * row + seed) % 7}\n`).join(""),
      );
    const [whole, parted] = [1, 2].map((places) => {
      const plan = new RealPlan(sql, [file(1), file(2)], places, true);
      for (const each of [0, 1]) plan.buffer(each, 1_000_000, 0);
      for (const each of [0, 1]) plan.end(each, 0);
      return plan.output.split("\n").sort();
    });
    assert.ok((whole?.length ?? 0) > 5);
    assert.deepEqual(parted, whole);
  });
}

test("[SY95] checkpoints of windows joined with a window over them are complete", async () => {
  const folder = await mkdtemp(join(tmpdir(), "capstan-joined-windows-"));
  let query: LocalQuery | undefined;
  const running = runSql(
    `CREATE LOGICAL SOURCE rows (k INT64 NOT NULL, ts UINT64 NOT NULL);
     CREATE PHYSICAL SOURCE FOR rows TYPE Generator SET('SEQUENCE INT64 0 1000000000 1,
       SEQUENCE UINT64 0 1000000000 1' AS "SOURCE".GENERATOR_SCHEMA);
     CREATE VIEW s AS SELECT k % 5 AS k, ts FROM rows;
     SELECT k, n, most FROM (SELECT k, n, start AS s1 FROM (${counts})) ${joins["without keys"]}
       WINDOW TUMBLING(s1, s2, SIZE 100 MS)
       INTO Checksum() SET(2 AS "QUERY".PARALLELISM, '20 MS' AS "QUERY".CHECKPOINT_INTERVAL);`,
    {
      folder,
      checkpoints: join(folder, "state"),
      onOpen: ([opened]) => {
        query = opened;
      },
    },
  );
  try {
    await eventually("two checkpoints", () => ((query?.checkpoint ?? 0) >= 2 ? true : undefined));
    query?.drain();
    await running;
    assert.ok(((await query?.progress())?.rowsOut ?? 0) > 0);
  } finally {
    await query?.close();
    await running;
    await rm(folder, { recursive: true, force: true });
  }
});
