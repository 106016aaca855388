import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { openPool, runSql } from "../testing/run-sql.ts";
import type { LocalQuery } from "./local-query.ts";

const folder = await mkdtemp(join(tmpdir(), "capstan-late-side-"));
const pool = openPool(2, { sourceDir: folder, sinkDir: folder, print: () => undefined });
after(async () => {
  await pool.close();
  await rm(folder, { recursive: true, force: true });
});

const prng = createPrng("late side");
const rowCount = 20_000;
/** Rows whose times are up to `disorderMs` behind the newest one, and some of them far behind. */
function rows(disorderMs: number, farEvery: number): string {
  let text = "";
  for (let row = 0; row < rowCount; row += 1) {
    const far = farEvery > 0 && row % farEvery === farEvery - 1 ? 60_000 : 0;
    const at = 100_000 + row * 10 - prng.below(disorderMs) - far;
    text += `${row},${row % 23},t${row % 7},${at}\n`;
  }
  return text;
}

const aggregates = {
  "halves on both sides": "COUNT(*) AS n, MAX(id) AS last",
  "a whole one behind the exchange": "COUNT(*) AS n, MEDIAN(id) AS middle",
};

function statements(files: readonly string[], columns: string, out: string, threads: number) {
  const sources = files.map(
    (file) => `CREATE PHYSICAL SOURCE FOR s TYPE File SET('${file}' AS "SOURCE".FILE_PATH);`,
  );
  return `
    CREATE LOGICAL SOURCE s(id UINT64, k UINT64, note VARSIZED, ts UINT64) WATERMARK(ts, 1 SEC);
    ${sources.join("\n")}
    CREATE SINK out TYPE File SET('${out}' AS "SINK".FILE_PATH);
    CREATE SINK late TYPE File SET('late-${out}' AS "SINK".FILE_PATH);
    SELECT start, k, ${columns} FROM s GROUP BY k WINDOW SLIDING(ts, SIZE 4 SEC, ADVANCE BY 2 SEC)
      INTO out SET('side' AS "QUERY".LATE, 'late' AS "QUERY".LATE_SINK, ${threads} AS "QUERY".PARALLELISM,
        4096 AS "QUERY".BUFFER_SIZE, '5 MS' AS "QUERY".CHECKPOINT_INTERVAL);`;
}

const linesOf = async (file: string): Promise<readonly string[]> =>
  (await readFile(join(folder, file), "utf8")).trimEnd().split("\n").sort();

function withoutLateness(line: string): string {
  return line.slice(0, line.lastIndexOf(","));
}

for (const [what, columns] of Object.entries(aggregates)) {
  test(`[SU18, SY94] ${what}: late rows have their sink in several fragments, too`, async () => {
    await writeFile(join(folder, "far.csv"), rows(900, 50));
    for (const threads of [1, 2, 3]) {
      await runSql(statements(["far.csv"], columns, `far-${threads}.csv`, threads), { folder });
    }
    const pooled = statements(["far.csv"], columns, "far-pool.csv", 2);
    const checkpoints = join(folder, what);
    for (let end = 0; end < 3; end += 1) {
      const onOpen = ([query]: readonly LocalQuery[]): void => {
        setTimeout(() => void query?.close(), prng.below(100));
      };
      await runSql(pooled, { folder, pool, checkpoints, onOpen });
    }
    await runSql(pooled, { folder, pool, checkpoints });
    const late = await linesOf("late-far-1.csv");
    assert.ok(late.length > 300, `${late.length} late rows`);
    assert.match(late[0] ?? "", /^\d+,\d+,t\d,\d+,\d+$/);
    for (const other of ["2", "3", "pool"]) {
      assert.deepEqual(await linesOf(`far-${other}.csv`), await linesOf("far-1.csv"));
    }
    for (const other of ["2", "3"]) assert.deepEqual(await linesOf(`late-far-${other}.csv`), late);
    // A run that goes on inside a record has other read buffers, and so other watermarks: how late
    // a row is may differ then (SU90), and that it is late may not.
    const again = await linesOf("late-far-pool.csv");
    assert.deepEqual(again.map(withoutLateness).sort(), late.map(withoutLateness).sort());
  });

  test(`[SU18, SY94] ${what}: within the bound no row is late, however many sources`, async () => {
    for (const file of ["one.csv", "two.csv"]) await writeFile(join(folder, file), rows(900, 0));
    const files = ["one.csv", "two.csv"];
    for (const threads of [1, 2]) {
      const text = statements(files, columns, `near-${threads}.csv`, threads);
      await runSql(text, { folder, ...(threads === 1 ? {} : { pool }) });
    }
    assert.deepEqual(await linesOf("near-2.csv"), await linesOf("near-1.csv"));
    assert.deepEqual(await linesOf("late-near-2.csv"), [""]);
  });
}
