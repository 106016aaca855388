import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { DialectError } from "../../language/core/index.ts";
import { runSql } from "../testing/run-sql.ts";

const root = await mkdtemp(join(tmpdir(), "capstan-ended-"));
after(() => rm(root, { recursive: true, force: true }));

const rowCount = 60_000;
const statements = (out: string): string => `
  CREATE LOGICAL SOURCE s(k UINT64 NOT NULL, v INT64 NOT NULL, ts UINT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE File SET('in.csv' AS "SOURCE".FILE_PATH);
  CREATE SINK out TYPE File SET('${out}' AS "SINK".FILE_PATH);
  SELECT start, k, SUM(v) AS total, COUNT(*) AS n FROM s GROUP BY k
    WINDOW SLIDING(ts, SIZE 4 SEC, ADVANCE BY 1 SEC)
    INTO out SET(4096 AS "QUERY".BUFFER_SIZE, '20 MS' AS "QUERY".CHECKPOINT_INTERVAL);`;

async function linesOf(file: string): Promise<string[]> {
  return (await readFile(join(root, file), "utf8")).split("\n").sort();
}

await writeFile(
  join(root, "in.csv"),
  Array.from({ length: rowCount }, (_, row) => `${row % 17},${row},${row * 3}\n`).join(""),
);

test("[SU15] a query that ends at any moment gives each result once when it runs again", async () => {
  await runSql(statements("whole.csv"), { folder: root });
  const expected = await linesOf("whole.csv");
  assert.ok(expected.length > 1_000, `${expected.length} results`);
  let ends = 0;
  const checkpoints = join(root, "state");
  for (let seed = 1; ends < 40; seed += 1) {
    const prng = createPrng(seed);
    let isEnded = false;
    await runSql(statements("again.csv"), {
      folder: root,
      checkpoints,
      onOpen: (queries) => {
        const endMs = prng.below(90);
        setTimeout(() => {
          isEnded = queries.some(({ progress }) => (progress?.sources[0]?.rows ?? 0) < rowCount);
          for (const query of queries) void query.close();
        }, endMs);
      },
    });
    if (!isEnded) break;
    ends += 1;
  }
  await runSql(statements("again.csv"), { folder: root, checkpoints });
  assert.deepEqual(await linesOf("again.csv"), expected);
  assert.ok(ends > 0, "it was ended in the middle at least once");
});

test("[SU1] the first error ends everything and is the answer", async () => {
  await writeFile(join(root, "bad.csv"), "1,2,3\n1,x,4\n");
  const text = statements("never.csv").replace("in.csv", "bad.csv");
  const running = runSql(text, { folder: root });
  await assert.rejects(
    running,
    (thrown) => thrown instanceof DialectError && thrown.number === 3002,
  );
});

test("[SU1] a parallelism that one process does not have is refused by name", async () => {
  const text = statements("never.csv").replace("SET(4096", 'SET(2 AS "QUERY".PARALLELISM, 4096');
  await assert.rejects(
    runSql(text, { folder: root }),
    (thrown) => thrown instanceof DialectError && thrown.number === 2008,
  );
});
