import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runSql } from "../testing/run-sql.ts";

const folder = await mkdtemp(join(tmpdir(), "capstan-local-query-"));
after(() => rm(folder, { recursive: true, force: true }));

const read = async (name: string): Promise<string> => await readFile(join(folder, name), "utf8");
const write = async (name: string, text: string): Promise<void> =>
  await writeFile(join(folder, name), text);
const sorted = (text: string): readonly string[] => text.split("\n").sort();

test("[SU18] records that cannot be read go to the dead-letter sink, the others on", async () => {
  await write("bad.csv", "1,10\nx,20\n3,30\n4\n");
  const { printed, queries } = await runSql(
    `CREATE LOGICAL SOURCE s (a UINT64, b UINT64);
     CREATE PHYSICAL SOURCE FOR s TYPE File SET('bad.csv' AS "SOURCE".FILE_PATH,
       'dead_letter' AS INPUT_FORMATTER.ON_MALFORMED, 'bad' AS INPUT_FORMATTER.DEAD_LETTER_SINK);
     CREATE SINK out TYPE Print;
     CREATE SINK bad TYPE File SET('bad.json' AS "SINK".FILE_PATH, 'JSON' AS "SINK".OUTPUT_FORMAT);
     SELECT a, b FROM s INTO out;`,
    { folder },
  );
  assert.equal(printed, "1,10\n3,30\n");
  const letters = (await read("bad.json"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, string>);
  assert.deepEqual(
    letters.map(({ source, place, record }) => ({ source, place, record })),
    [
      { source: "s", place: `${join(folder, "bad.csv")}, byte 5`, record: "x,20" },
      { source: "s", place: `${join(folder, "bad.csv")}, byte 15`, record: "4" },
    ],
  );
  assert.ok(letters.every(({ reason = "" }) => reason.length > 0));
  assert.equal((await queries[0]?.progress())?.sources[0]?.malformed, 2);
});

for (const parallelism of [1, 2]) {
  test(`[SU18] late rows go to their sink with how late they are, parallelism ${parallelism}`, async () => {
    const rows = ["1,1000,10", "1,9000,20", "1,1500,30", "2,9500,40"];
    // Each row is a buffer, at whose end the watermark advances.
    await write("late.csv", rows.map((row) => `${`${row},`.padEnd(63, "x")}\n`).join(""));
    const { printed } = await runSql(
      `CREATE LOGICAL SOURCE s (id UINT64, ts UINT64, v UINT64, pad VARSIZED);
       CREATE PHYSICAL SOURCE FOR s TYPE File SET('late.csv' AS "SOURCE".FILE_PATH);
       CREATE SINK out TYPE Print;
       CREATE SINK late TYPE File SET('late-rows.csv' AS "SINK".FILE_PATH,
         TRUE AS OUTPUT_FORMATTER.HEADER);
       SELECT start, id, SUM(v) AS total FROM s GROUP BY id WINDOW TUMBLING(ts, SIZE 1 SEC)
       INTO out SET('side' AS "QUERY".LATE, 'late' AS "QUERY".LATE_SINK,
         64 AS "QUERY".BUFFER_SIZE, ${parallelism} AS "QUERY".PARALLELISM);`,
      { folder },
    );
    assert.equal(printed, "1000,1,10\n9000,1,20\n9000,2,40\n");
    assert.equal(
      await read("late-rows.csv"),
      `id,ts,v,pad,late_ms\n1,1500,30,${"x".repeat(53)},7500\n`,
    );
  });
}

test("[SU16] every file of a directory has its own header, after a restart, too", async () => {
  await mkdir(join(folder, "parts"), { recursive: true });
  for (const part of [1, 2]) {
    const rows = Array.from({ length: 50 }, (_, row) => `${part},${row}\n`).join("");
    await write(`parts/${part}.csv`, `part,row\n${rows}`.replace(/\n$/, ""));
  }
  const text = `CREATE LOGICAL SOURCE s (part UINT64, row UINT64);
    CREATE PHYSICAL SOURCE FOR s TYPE File SET('parts' AS "SOURCE".FILE_PATH,
      TRUE AS INPUT_FORMATTER.HEADER);
    CREATE SINK out TYPE File SET('parts.csv' AS "SINK".FILE_PATH);
    SELECT part, row FROM s INTO out
    SET(64 AS "QUERY".BUFFER_SIZE, '1 MS' AS "QUERY".CHECKPOINT_INTERVAL);`;
  const checkpoints = join(folder, "parts-state");
  const run = async (stop: boolean): Promise<void> => {
    await runSql(text, {
      folder,
      checkpoints,
      onOpen: (queries) => {
        if (stop) setTimeout(() => void queries[0]?.drain(), 5);
      },
    });
  };
  for (const stop of [true, true, true, false, false]) await run(stop);
  const expected = [1, 2].flatMap((part) =>
    Array.from({ length: 50 }, (_, row) => `${part},${row}\n`),
  );
  assert.equal(await read("parts.csv"), expected.join(""));
});

test("[SU4] a drained query without checkpoints closes its windows", async () => {
  let url = "";
  const { printed } = await runSql(
    `CREATE LOGICAL SOURCE s (ts UINT64, v UINT64);
     CREATE PHYSICAL SOURCE FOR s TYPE HTTP;
     CREATE SINK out TYPE Print;
     SELECT start, SUM(v) AS total FROM s WINDOW TUMBLING(ts, SIZE 1 SEC) INTO out;`,
    {
      folder,
      tell: (text) => {
        url = text.split(" ").at(-1) ?? "";
      },
      onOpen: (queries) => {
        void fetch(url, { method: "POST", body: "1,5\n2,6\n1001,7" }).then((response) => {
          assert.equal(response.status, 202);
          for (const query of queries) query.drain();
        });
      },
    },
  );
  assert.equal(printed, "0,11\n1000,7\n");
});

test("[SU4] a drained query with checkpoints goes on where it was", async () => {
  const rows = Array.from({ length: 150_000 }, (_, row) => `${row},${row % 7}\n`).join("");
  await write("long.csv", rows);
  const text = (out: string): string => `CREATE LOGICAL SOURCE s (ts UINT64, k UINT64);
    CREATE PHYSICAL SOURCE FOR s TYPE File SET('long.csv' AS "SOURCE".FILE_PATH);
    CREATE SINK out TYPE File SET('${out}' AS "SINK".FILE_PATH);
    SELECT start, k, COUNT(*) AS n FROM s GROUP BY k
    WINDOW SLIDING(ts, SIZE 1 SEC, ADVANCE BY 250 MS) INTO out SET(512 AS "QUERY".BUFFER_SIZE);`;
  await runSql(text("whole.csv"), { folder });
  const checkpoints = join(folder, "long-state");
  let drains = 0;
  for (const drainsAtRow of [1, 1, 1, undefined]) {
    const { queries } = await runSql(text("cut.csv"), {
      folder,
      checkpoints,
      onOpen: ([query]) => {
        // A source that never waits gives way every 10 ms, long before it has read all rows.
        const look = async (): Promise<void> => {
          const rows = (await query?.progress())?.sources[0]?.rows ?? 0;
          if (drainsAtRow !== undefined && rows >= drainsAtRow) query?.drain();
          else if (drainsAtRow !== undefined) setImmediate(() => void look());
        };
        void look();
      },
    });
    if (((await queries[0]?.progress())?.sources[0]?.rows ?? 0) > 0) drains += 1;
  }
  assert.ok(drains > 1, `${drains} runs read something`);
  // Within a window, groups come in any order.
  assert.deepEqual(sorted(await read("cut.csv")), sorted(await read("whole.csv")));
});

test("[SU14] a source that never waits can be drained, and others have their turn", async () => {
  let turns = 0;
  const { queries } = await runSql(
    `CREATE LOGICAL SOURCE s (n UINT64);
     CREATE PHYSICAL SOURCE FOR s TYPE Generator
       SET('SEQUENCE UINT64 0 1000000000000 1' AS "SOURCE".GENERATOR_SCHEMA);
     SELECT n FROM s INTO Void();`,
    {
      folder,
      onOpen: (opened) => {
        const ticking = setInterval(() => {
          turns += 1;
          if (turns < 5) return;
          clearInterval(ticking);
          for (const query of opened) query.drain();
        }, 5);
      },
    },
  );
  assert.ok(((await queries[0]?.progress())?.sources[0]?.rows ?? 0) > 0);
});
