import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { openLakeWorld } from "../testing/lake-world.ts";
import { openPool, type RunSqlOptions, runSql } from "../testing/run-sql.ts";
import { fragmentLake } from "./answer-calls.ts";

const world = await openLakeWorld();
const { home } = world;
const places = { sourceDir: home, sinkDir: home, print: () => undefined };
const pool = openPool(2, { ...places, lake: fragmentLake(world.lake) });
after(async () => {
  await pool.close();
  await world.close();
});
const run = (text: string, options: Partial<RunSqlOptions> = {}) =>
  runSql(text, { folder: home, lake: world, ...options });

const rowCount = 40_000;
const fill = (table: string, select: string): string => `
  CREATE LOGICAL SOURCE numbers(v INT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR numbers TYPE Generator
    SET('SEQUENCE INT64 0 ${rowCount} 1' AS "SOURCE".GENERATOR_SCHEMA);
  ${select} INTO Lake('${table}' AS "SINK".TABLE);`;

/** A source, a lookup table and two sinks of the lake, with windows by key between them. */
const joined = (sums: string, all: string): string => `
  CREATE LOGICAL SOURCE s(id INT64 NOT NULL, person INT64 NOT NULL, ts INT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE Lake SET('orders' AS "SOURCE".TABLE);
  SELECT start, name, COUNT(*) AS n, MAX(id) AS last
    FROM (SELECT s.id AS id, p.name AS name, s.ts AS ts FROM s JOIN TABLE people AS p ON s.person = p.person)
    GROUP BY name WINDOW TUMBLING(ts, SIZE 1 SEC)
    INTO Lake('${sums}' AS "SINK".TABLE), Lake('${all}' AS "SINK".TABLE)
    SET('20 MS' AS "QUERY".CHECKPOINT_INTERVAL, 2 AS "QUERY".PARALLELISM);`;

const rowsOf = (table: string) =>
  world.ask(table, "SELECT start, name, n, last FROM t ORDER BY ALL");

test("[SU49] fragments on several threads read, join and write the lake", async () => {
  await run(fill("orders", "SELECT v AS id, v % INT64(7) AS person, v AS ts FROM numbers"));
  await run(
    fill(
      "people",
      "SELECT v AS person, CAST(v AS VARSIZED) AS name FROM numbers WHERE v < INT64(6)",
    ),
  );
  await run(joined("here", "here_too"));
  const wanted = await rowsOf("here");
  assert.ok(wanted.length >= 240, `${wanted.length} results`);

  await run(joined("there", "there_too"), { pool });
  assert.equal(pool.threadCount, 2);
  assert.deepEqual(await rowsOf("there"), wanted);
  assert.deepEqual(await rowsOf("there_too"), wanted);
});

test("[SU49, SU15] sinks on several threads are committed by one checkpoint", async () => {
  const wanted = await rowsOf("here");
  const prng = createPrng("threads");
  const checkpoints = join(home, "threads");
  const both = joined("once", "once_too");
  for (let end = 0; end < 6; end += 1) {
    await run(both, {
      pool,
      checkpoints,
      onOpen: (queries) => {
        setTimeout(() => {
          for (const query of queries) void query.close();
        }, prng.below(200));
      },
    });
    const [one, other] = await Promise.all([rowsOf("once"), rowsOf("once_too")]);
    assert.deepEqual(one, other);
  }
  await run(both, { pool, checkpoints });
  assert.deepEqual(await rowsOf("once"), wanted);
  assert.deepEqual(await rowsOf("once_too"), wanted);
  assert.deepEqual(await world.check(), []);
});

test("[SU49] what the lake refuses is told as it was said", async () => {
  const refused = run(fill("_at_1", "SELECT v FROM numbers"), { pool });
  await assert.rejects(refused, (thrown) => {
    assert.ok(thrown instanceof OperatingError, `${thrown}`);
    assert.equal(thrown.code, "bad_sql");
    return true;
  });
});
