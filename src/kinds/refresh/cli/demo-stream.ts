/**
 * The demo's stream: clicks of a generator, counted every second into a table of the lake, and a
 * dynamic table of that. The query runs as long as `capstan demo --live` does; what it counted
 * stays until `--remove`.
 */
import { Failure } from "../../../ground/command/index.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";

type Run = (sql: string) => Promise<void>;

const definitions: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS demo_page_views
     (start UBIGINT, "end" UBIGINT, page UBIGINT, views UBIGINT)`,
  `CREATE DYNAMIC TABLE IF NOT EXISTS demo_popular_pages TARGET_LAG = '5 seconds' AS
   SELECT page, sum(views) AS views, count(*) AS seconds FROM demo_page_views GROUP BY page`,
  `CREATE OR REPLACE QUERY demo_count_views AS
     SELECT start, end, visitor % UINT64(5) AS page, COUNT(*) AS views
     FROM Generator(
       'SEQUENCE UINT64 0 1000000000 7' AS "SOURCE".GENERATOR_SCHEMA,
       'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES,
       200 AS "SOURCE".ROWS_PER_SECOND, SCHEMA(visitor UINT64 NOT NULL) AS "SOURCE"."SCHEMA")
     GROUP BY (page) WINDOW TUMBLING(SIZE 1 SEC)
     INTO Lake('demo_page_views' AS "SINK".TABLE)
     SET('2 SEC' AS "QUERY".CHECKPOINT_INTERVAL)`,
];

export async function startDemoStream(run: Run): Promise<void> {
  for (const sql of definitions) await run(sql);
}

export async function stopDemoStream(run: Run): Promise<void> {
  await run("DROP QUERY IF EXISTS demo_count_views SOFT");
}

const goneMsMax = 90_000;

/** The table can be dropped when the query that writes to it is confirmed gone. */
export async function removeDemoStream(run: Run, clock: Clock): Promise<void> {
  await run("DROP DYNAMIC TABLE IF EXISTS demo_popular_pages");
  await run("DROP QUERY IF EXISTS demo_count_views");
  const deadlineMs = clock.nowMs() + goneMsMax;
  for (;;) {
    try {
      await run("DROP TABLE IF EXISTS demo_page_views");
      return;
    } catch (thrown) {
      const isUsed = thrown instanceof Failure && thrown.code === "reference_violated";
      if (!isUsed || clock.nowMs() >= deadlineMs) throw thrown;
      await sleep(clock, 200);
    }
  }
}
