import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { DialectError } from "../../language/core/index.ts";
import { openLakeWorld } from "../testing/lake-world.ts";
import { runSql } from "../testing/run-sql.ts";

const world = await openLakeWorld();
after(() => world.close());
const { home } = world;
const run = (text: string, checkpoints?: string) =>
  runSql(text, {
    folder: home,
    lake: world,
    ...(checkpoints === undefined ? {} : { checkpoints: join(home, checkpoints) }),
  });

const everything = (table: string): string => `
  CREATE LOGICAL SOURCE s(i8 INT8 NOT NULL, u16 UINT16, i64 INT64 NOT NULL, u64 UINT64, f32 FLOAT32, f64 FLOAT64, b BOOLEAN, t VARSIZED, c CHAR NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE File SET('all.csv' AS "SOURCE".FILE_PATH);
  CREATE SINK out TYPE Lake SET('${table}' AS "SINK".TABLE);
  SELECT * FROM s INTO out;`;

test("[SU42, SU50] a table is made of the query's columns, and has its rows", async () => {
  await writeFile(
    join(home, "all.csv"),
    [
      '-128,65535,-9223372036854775808,18446744073709551615,0.5,0.1,true,"a ""quoted"", text",x',
      "127,,9223372036854775807,,,,,,y",
      '0,0,0,0,nan,-inf,false,"",z',
    ].join("\n"),
  );
  await run(everything("every"));
  assert.deepEqual(await world.ask("every", "SELECT * FROM t"), [
    [
      -128,
      65535,
      "-9223372036854775808",
      "18446744073709551615",
      0.5,
      0.1,
      true,
      'a "quoted", text',
      "x",
    ],
    [127, null, "9223372036854775807", null, null, null, null, null, "y"],
    [0, 0, "0", "0", "NaN", "-Infinity", false, "", "z"],
  ]);
  await run(everything("every"));
  assert.deepEqual(await world.ask("every", "SELECT count(*) FROM t"), [["6"]]);
  assert.deepEqual(await world.check(), []);
});

test("[SY82] what does not fit the table is refused with its place", async () => {
  const refuse = async (select: string, pattern: RegExp): Promise<void> => {
    const text = everything("every").replace("SELECT * FROM s", `SELECT ${select} FROM s`);
    await assert.rejects(run(text), (thrown) => {
      assert.ok(thrown instanceof DialectError, `${thrown}`);
      assert.match(thrown.message, pattern);
      assert.ok(thrown.position !== undefined);
      return true;
    });
  };
  await refuse("i8, i64, c, i8 AS nothing", /has no column nothing/);
  await refuse("i8, i64, c, t AS b", /b is VARSIZED, the table every has BOOLEAN/);
  await refuse("i8, i64", /c of the table every cannot be left out/);
  await run(everything("every").replace("SELECT * FROM s", "SELECT i64, i8, c FROM s"));
  assert.deepEqual(await world.ask("every", "SELECT count(*), count(t) FROM t"), [["9", "4"]]);
});

const rowCount = 60_000;
const counted = (table: string): string => `
  CREATE LOGICAL SOURCE s(v UINT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE Generator
    SET('SEQUENCE UINT64 0 ${rowCount} 1' AS "SOURCE".GENERATOR_SCHEMA, 200000 AS "SOURCE".ROWS_PER_SECOND);
  SELECT v FROM s INTO Lake('${table}' AS "SINK".TABLE) SET('20 MS' AS "QUERY".CHECKPOINT_INTERVAL);`;

test("[SU42, SU15] a query that ends at any moment adds each row once", async () => {
  const prng = createPrng("ends");
  let ends = 0;
  for (let isEnded = true; isEnded && ends < 30; ends += 1) {
    isEnded = false;
    await runSql(counted("once"), {
      folder: home,
      lake: world,
      checkpoints: join(home, "once"),
      onOpen: (queries) => {
        setTimeout(() => {
          isEnded = true;
          for (const query of queries) void query.close();
        }, 20 + prng.below(200));
      },
    });
    const [[rows] = []] = await world.ask("once", "SELECT count(*) FROM t");
    isEnded &&= Number(rows) < rowCount;
  }
  await run(counted("once"), "once");
  assert.ok(ends > 1, `it was ended ${ends} times`);
  assert.deepEqual(await world.ask("once", "SELECT count(*), count(DISTINCT v), max(v) FROM t"), [
    [`${rowCount}`, `${rowCount}`, `${rowCount - 1}`],
  ]);
  assert.deepEqual(await world.check(), []);
});

test("[SU41] without checkpoints rows are committed meanwhile, and two runs add them twice", async () => {
  const running = run(counted("twice"));
  const again = run(counted("twice"));
  await Promise.all([running, again]);
  assert.deepEqual(await world.ask("twice", "SELECT count(*), count(DISTINCT v) FROM t"), [
    [`${rowCount * 2}`, `${rowCount}`],
  ]);
  const names = await readdir(join(world.dataDir, "lake/main/twice"));
  assert.ok(names.length > 2, `${names.length} files`);
});
