import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { DialectError } from "../../language/core/index.ts";
import { openPool, runSql } from "../testing/run-sql.ts";
import type { LocalQuery } from "./local-query.ts";

const root = await mkdtemp(join(tmpdir(), "capstan-ended-"));
after(() => rm(root, { recursive: true, force: true }));

const rowCount = 60_000;
/** Of two sources, the second of which ends long before the first. */
const statements = (out: string, parallelism: number): string => `
  CREATE LOGICAL SOURCE s(k UINT64 NOT NULL, v INT64 NOT NULL, ts UINT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE File SET('in.csv' AS "SOURCE".FILE_PATH);
  CREATE PHYSICAL SOURCE FOR s TYPE File SET('short.csv' AS "SOURCE".FILE_PATH);
  CREATE SINK out TYPE File SET('${out}' AS "SINK".FILE_PATH);
  SELECT start, k, SUM(v) AS total, COUNT(*) AS n FROM s GROUP BY k
    WINDOW SLIDING(ts, SIZE 4 SEC, ADVANCE BY 1 SEC)
    INTO out SET(4096 AS "QUERY".BUFFER_SIZE, '20 MS' AS "QUERY".CHECKPOINT_INTERVAL,
      ${parallelism} AS "QUERY".PARALLELISM);`;

async function linesOf(file: string): Promise<string[]> {
  return (await readFile(join(root, file), "utf8")).split("\n").sort();
}

const rowsOf = (count: number): string =>
  Array.from({ length: count }, (_, row) => `${row % 17},${row},${row * 3}\n`).join("");
await writeFile(join(root, "in.csv"), rowsOf(rowCount));
await writeFile(join(root, "short.csv"), rowsOf(500));

const pool = openPool(2, { sourceDir: root, sinkDir: root, print: () => undefined });
after(() => pool.close());
await runSql(statements("whole.csv", 1), { folder: root });
const expected = await linesOf("whole.csv");

for (const [ways, parallelism, host] of [
  ["one fragment", 1, {}],
  ["several fragments", 2, {}],
  ["several threads", 3, { pool }],
] as const) {
  const out = `again-${parallelism}.csv`;
  const text = statements(out, parallelism);
  const place = { folder: root, ...host };

  test(`[SU15] ${ways}: a query that ends at any moment gives each result once when it runs again`, async () => {
    assert.ok(expected.length > 1_000, `${expected.length} results`);
    let ends = 0;
    const checkpoints = join(root, `state-${parallelism}`);
    for (let seed = 1; ends < 25; seed += 1) {
      const prng = createPrng(seed);
      let isEnded = false;
      let isOver = false;
      await runSql(text, {
        ...place,
        checkpoints,
        onOpen: (queries) => {
          const target = prng.below(rowCount / 2);
          // A busy source gives way every 10 ms, long before it has read all rows.
          const look = async (query: LocalQuery): Promise<void> => {
            const [source] = (await query.progress()).sources;
            if (source === undefined || isOver) return;
            if (source.rows >= target) {
              isEnded = true;
              await query.close();
            } else setImmediate(() => void look(query));
          };
          for (const query of queries) void look(query);
        },
      });
      isOver = true;
      if (!isEnded) break;
      ends += 1;
    }
    await runSql(text, { ...place, checkpoints });
    assert.deepEqual(await linesOf(out), expected);
    assert.ok(ends > 0, "it was ended in the middle at least once");
  });

  test(`[SU4] ${ways}: a query that is drained again and again gives what one run gives`, async () => {
    const checkpoints = join(root, `drained-${parallelism}`);
    for (const endMs of [5, 30, 60, undefined]) {
      await runSql(text.replace(out, `drained-${out}`), {
        ...place,
        checkpoints,
        onOpen: (queries) => {
          if (endMs === undefined) return;
          setTimeout(() => {
            for (const query of queries) query.drain();
          }, endMs);
        },
      });
    }
    assert.deepEqual(await linesOf(`drained-${out}`), expected);
  });
}

test("[SU1] the first error ends everything and is the answer", async () => {
  await writeFile(join(root, "bad.csv"), "1,2,3\n1,x,4\n");
  for (const parallelism of [1, 3]) {
    const text = statements("never.csv", parallelism).replace("in.csv", "bad.csv");
    await assert.rejects(
      runSql(text, { folder: root }),
      (thrown) => thrown instanceof DialectError && thrown.number === 3002,
    );
  }
});
