import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { testGoldenScript } from "../../../ground/kernel/testing/golden-script.ts";
import { startLakeCluster } from "./testing/lake-cluster.ts";

const cluster = await startLakeCluster();
after(() => cluster.close());
const { rows } = cluster;

/** A statement that is refused writes nothing. */
testGoldenScript(join(import.meta.dirname, "testdata", "lake.slt"), async (sql) => {
  const before = await cluster.catalog.current();
  try {
    return (await rows(sql)).map((row) => row.map((value) => JSON.stringify(value)).join(" "));
  } catch (thrown) {
    assert.equal((await cluster.catalog.current()).snapshot, before.snapshot, sql);
    throw thrown;
  }
});

test("[LS4] writers of one table at a time all succeed", async () => {
  await rows("CREATE TABLE counters AS SELECT range AS id, 0 AS n FROM range(4)");
  const writes = Array.from({ length: 12 }, (_, index) =>
    rows(`UPDATE counters SET n = n + 1 WHERE id = ${index % 4}`),
  );
  await Promise.all([...writes, rows("INSERT INTO counters VALUES (9, 9)")]);
  assert.deepEqual(await rows("SELECT id, n FROM counters ORDER BY id"), [
    [0, 3],
    [1, 3],
    [2, 3],
    [3, 3],
    [9, 9],
  ]);
});

async function upload(text: string): Promise<string> {
  const { uploads } = cluster;
  const id = uploads.begin();
  const bytes = Buffer.from(text);
  const half = Math.floor(bytes.length / 2);
  assert.equal(await uploads.append(id, 0, bytes.subarray(0, half)), half);
  assert.equal(await uploads.append(id, 0, bytes.subarray(0, half)), half);
  await assert.rejects(uploads.append(id, half + 1, bytes), { code: "bad_request" });
  assert.equal(await uploads.append(id, half, bytes.subarray(half)), bytes.length);
  return id;
}

test("[LS5] COPY takes a file that was sent, by DuckDB's rules, whole or not at all", async () => {
  await rows("CREATE TABLE copied (id BIGINT, name VARCHAR DEFAULT 'nobody', n INTEGER)");
  const good = await upload("id,name,n\n1,a,10\n2,b,\n");
  assert.deepEqual(await rows("COPY copied FROM 'good.csv'", good), [["copied", 2]]);
  const named = await upload("7;70\n8;80\n");
  assert.deepEqual(
    await rows("COPY copied (id, n) FROM 'x.csv' (HEADER false, DELIMITER ';')", named),
    [["copied", 2]],
  );
  const bad = "id,name,n\n3,c,30\n4,d,many\n5,e,50\n";
  await assert.rejects(rows("COPY copied FROM 'bad.csv' (HEADER)", await upload(bad)), {
    message:
      /^a line does not fit, and nothing was copied.*\nline 3: .*Could not convert string "many".*: 4,d,many$/s,
  });
  assert.deepEqual(
    await rows("COPY copied FROM 'bad.csv' (HEADER, IGNORE_ERRORS)", await upload(bad)),
    [["copied; a line left out", 2]],
  );
  assert.deepEqual(await rows("SELECT * FROM copied ORDER BY id"), [
    [1, "a", 10],
    [2, "b", null],
    [3, "c", 30],
    [5, "e", 50],
    [7, "nobody", 70],
    [8, "nobody", 80],
  ]);
  await assert.rejects(rows("COPY copied FROM 'x.csv'"), { code: "bad_request" });
  await assert.rejects(rows("COPY copied FROM 'x.csv'", "upload-none"), { code: "not_found" });
  await assert.rejects(rows("COPY copied FROM 'x.csv' (FILENAME)", await upload("1")), {
    message: /no option FILENAME/,
  });
  const left = readdirSync(cluster.lakeDir).filter((name) => name === "uploads");
  assert.deepEqual(left, []);
});

test("[LS8] of those who create one name at a time one wins, and the others are told", async () => {
  for (const create of ["(a INTEGER)", "AS SELECT 1 AS a", "AS SELECT 1 AS a WHERE false"]) {
    const all = Array.from({ length: 4 }, () => rows(`CREATE TABLE one_name ${create}`));
    const outcomes = await Promise.allSettled(all);
    const lost = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    assert.equal(lost.length, 3);
    for (const { code, message } of lost) {
      assert.deepEqual(
        [code, message],
        ["already_exists", "there is a table named one_name already"],
      );
    }
    const again = Array.from({ length: 3 }, () =>
      rows(`CREATE TABLE IF NOT EXISTS two_names ${create}`),
    );
    const answers = (await Promise.all(again)).map(([answer]) => answer?.[0]);
    assert.deepEqual(answers.sort(), ["already exists", "already exists", "created"]);
    const replaced = Array.from({ length: 3 }, () =>
      rows(`CREATE OR REPLACE TABLE one_name ${create}`),
    );
    for (const [answer] of await Promise.all(replaced)) assert.equal(answer?.[0], "created");
    await rows("DROP TABLE one_name");
    await rows("DROP TABLE two_names");
  }
});

test("[LS9] no table is dropped or replaced under a dynamic table that comes to read it", async () => {
  const ends = ["DROP TABLE source", "CREATE OR REPLACE TABLE source AS SELECT 2 AS a"];
  for (const [round, end] of [...ends, ...ends, ...ends].entries()) {
    await rows("CREATE OR REPLACE TABLE source AS SELECT 1 AS a");
    const reader = `reader_${round}`;
    const [created, ended] = await Promise.allSettled([
      rows(`CREATE DYNAMIC TABLE ${reader} TARGET_LAG = '1 hour' AS SELECT a FROM source`),
      rows(end),
    ]);
    if (created.status === "fulfilled") {
      assert.equal(ended.status, "rejected", `${end} after it was read`);
      assert.equal(ended.reason.code, "reference_violated");
      await rows(`DROP DYNAMIC TABLE ${reader}`);
    } else {
      assert.match(created.reason.message, /dropped meanwhile|there is no table/);
      assert.equal(ended.status, "fulfilled");
    }
  }
});

test("[LS5] every line of a CSV that does not fit is named; other files say what is wrong with them", async () => {
  await rows("CREATE TABLE strict (a INTEGER, b VARCHAR)");
  const bad = ["a,b", "1,x", "foo,y", "3,z", "bar,w", "4,5,6,7", "8"].join("\n");
  await assert.rejects(rows("COPY strict FROM 'x.csv' (HEADER)", await upload(bad)), (error) => {
    const lines = String(error).split("\n");
    assert.match(lines[0] ?? "", /4 lines do not fit, and nothing was copied/);
    const named = lines.slice(1).map((line) => /^line (\d+): /.exec(line)?.[1]);
    assert.deepEqual(named, ["3", "5", "6", "7"]);
    return true;
  });
  const many = ["a,b", ...Array.from({ length: 100 }, (_, at) => `x${at},y`)].join("\n");
  await assert.rejects(rows("COPY strict FROM 'x.csv' (HEADER)", await upload(many)), {
    message: /^100 lines do not fit.*\nand 80 more$/s,
  });
  const wrong = [
    ["x.json", '{"a":1}\n{oops\n', /JSON/],
    ["x.parquet", "no parquet at all", /No magic bytes|too small/],
    ["x.csv.gz", "no archive", /.+/],
  ] as const;
  for (const [name, text, message] of wrong) {
    await assert.rejects(rows(`COPY strict FROM '${name}'`, await upload(text)), (error: Error) => {
      assert.match(error.message, message);
      assert.ok(!error.message.includes(cluster.lakeDir), error.message);
      return true;
    });
  }
  assert.deepEqual(await rows("SELECT count(*) FROM strict"), [[0]]);
});

test("[LS5] options of COPY are texts and lists of them, and nothing that DuckDB would compute", async () => {
  await rows("CREATE TABLE opted (a INTEGER, b VARCHAR)");
  const text = "1;-\n2;none\n";
  const told = "HEADER false, DELIMITER ';', NULLSTR ['-', 'none']";
  assert.deepEqual(await rows(`COPY opted FROM 'x.csv' (${told})`, await upload(text)), [
    ["copied", 2],
  ]);
  const kept = "HEADER false, DELIMITER ';', FORCE_NOT_NULL (b)";
  await rows(`COPY opted FROM 'x.csv' (${kept})`, await upload("3;\n"));
  assert.deepEqual(await rows("SELECT * FROM opted ORDER BY a"), [
    [1, null],
    [2, null],
    [3, ""],
  ]);
  for (const option of [
    "NULLSTR [getenv('HOME')]",
    "NULLSTR ['x', (SELECT content FROM read_text('/etc/passwd'))]",
    "NULLSTR (SELECT 'x')",
    "FORCE_NOT_NULL (b), FILENAME '/etc/passwd'",
  ]) {
    const refused = rows(`COPY opted FROM 'x.csv' (${option})`, await upload(text));
    await assert.rejects(refused, { code: "bad_sql", message: /takes a text|no option/ }, option);
  }
});

test("[LS7] EXPLAIN gives DuckDB's plan, line by line, and reads nothing that a SELECT may not", async () => {
  await rows("CREATE TABLE planned AS SELECT range AS n FROM range(1000)");
  const lines = (answer: readonly (readonly unknown[])[]) =>
    answer.map(([line]) => line).join("\n");
  const plan = lines(await rows("EXPLAIN SELECT sum(n) FROM planned WHERE n > 10"));
  assert.match(plan, /UNGROUPED_AGGREGATE[\s\S]*READ_PARQUET/);
  assert.ok(!plan.includes(cluster.lakeDir), plan);
  assert.match(lines(await rows("EXPLAIN ANALYZE FROM planned")), /1,?000 rows/);
  assert.match(lines(await rows("EXPLAIN SELECT 42")), /DUMMY_SCAN/);
  await assert.rejects(rows("EXPLAIN SELECT * FROM read_csv('/etc/passwd')"), { code: "bad_sql" });
  await assert.rejects(rows("EXPLAIN ANALYZE SELECT * FROM '/etc/passwd'"), { code: "bad_sql" });
  await assert.rejects(rows("EXPLAIN SELECT 1; DROP TABLE planned"), { code: "bad_sql" });
  await assert.rejects(rows("EXPLAIN DELETE FROM planned"), { message: /EXPLAIN DELETE/ });
});
