import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Worker } from "node:worker_threads";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { DialectError } from "../../language/core/index.ts";
import type { LocalQuery } from "../local/local-query.ts";
import { openPool, runSql } from "../testing/run-sql.ts";

const folder = await mkdtemp(join(tmpdir(), "capstan-stream-pool-"));
after(() => rm(folder, { recursive: true, force: true }));
const places = { sourceDir: folder, sinkDir: folder, print: () => undefined };

const generator = (rows: number): string => `
  CREATE LOGICAL SOURCE s (k UINT64 NOT NULL, ts UINT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE Generator SET('SEQUENCE UINT64 0 ${rows} 1,
    SEQUENCE UINT64 0 ${rows} 1' AS "SOURCE".GENERATOR_SCHEMA);`;

const isNumber = (number: number) => (thrown: unknown) =>
  thrown instanceof DialectError && thrown.number === number;

test("[SU25] hundreds of fragments of many queries share two threads, and all end", async () => {
  const pool = openPool(2, places);
  try {
    const query = `SELECT start, k, COUNT(*) AS n FROM s GROUP BY k
      WINDOW TUMBLING(ts, SIZE 10 MS) INTO Checksum() SET(8 AS "QUERY".PARALLELISM);`;
    const { queries } = await runSql(`${generator(200)}${query.repeat(20)}`, { folder, pool });
    for (const each of queries) {
      const { rowsOut, rowsReceived, sources } = await each.progress();
      assert.equal(sources[0]?.rows, 200);
      assert.equal(rowsOut, 200);
      assert.equal(rowsReceived.all, 400); // Each row to its key, each result to the sink.
    }
    assert.equal(queries.length, 20);
    assert.equal(pool.threadCount, 2);
  } finally {
    await pool.close();
  }
});

test("[SU27] a query that passes its limit fails with the operator, and others go on", async () => {
  const pool = openPool(2, places);
  const text = (limit: number, rows: number): string => `${generator(rows)}
    SELECT start, k, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 DAY)
    INTO Void() SET(2 AS "QUERY".PARALLELISM, ${limit} AS "QUERY".MEMORY_LIMIT);`;
  try {
    const modest = runSql(text(1 << 30, 20_000), { folder, pool });
    await assert.rejects(
      runSql(text(16 << 20, 2_000_000), { folder, pool }),
      (thrown) =>
        isNumber(3003)(thrown) &&
        /the query takes .* the limit is 16.8 MB; operator \d+ \((partial|window)Aggregate\) holds/.test(
          (thrown as Error).message,
        ),
    );
    const { queries } = await modest;
    assert.equal((await queries[0]?.progress())?.rowsOut, 20_000);
    assert.equal(pool.heldBytes, 0);
  } finally {
    await pool.close();
  }
});

test("[SU27] queries that together pass the limit of the worker: one fails, and says so", async () => {
  const pool = openPool(1, places, 24 << 20);
  const text = `${generator(2_000_000)}
    SELECT start, k, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 DAY) INTO Void();`;
  try {
    await assert.rejects(
      runSql(text, { folder, pool }),
      (thrown) =>
        isNumber(3003)(thrown) && /the streams of the worker take/.test((thrown as Error).message),
    );
    assert.equal(pool.heldBytes, 0);
  } finally {
    await pool.close();
  }
});

test("[SU21] a slow sink slows its source, and memory stays bounded", async () => {
  const rows = 3_000_000;
  const slow = Promise.withResolvers<void>();
  let printed = 0;
  const pool = openPool(2, {
    ...places,
    print: (_, text) => {
      printed += text.split("\n").length - 1;
      return slow.promise;
    },
  });
  let query: LocalQuery | undefined;
  const running = runSql(
    `${generator(rows)} CREATE SINK out TYPE Print;
     SELECT k FROM s INTO out SET(2 AS "QUERY".PARALLELISM);`,
    {
      folder,
      pool,
      onOpen: ([opened]) => {
        query = opened;
      },
    },
  );
  try {
    const rowsRead = async (): Promise<number> => (await query?.progress())?.sources[0]?.rows ?? 0;
    let before = 0;
    let still = 0;
    await eventually("the source waits", async () => {
      const now = await rowsRead();
      still = now > 0 && now === before ? still + 1 : 0;
      before = now;
      return still >= 20 ? true : undefined;
    });
    assert.ok(before < rows / 2, `${before} rows were read while nobody took them`);
    const { stateBytes } = (await query?.progress()) ?? { stateBytes: 0 };
    assert.ok(stateBytes > 0 && stateBytes < 16 << 20, `${stateBytes} bytes`);
    slow.resolve();
    await running;
    assert.equal(printed, rows);
  } finally {
    slow.resolve();
    await pool.close();
  }
});

test("[SU25] a thread that dies fails its own queries, and is replaced for the next one", async () => {
  const threads: Worker[] = [];
  const seen = (thread: Worker): void => void threads.push(thread);
  process.on("worker", seen);
  const pool = openPool(2, places);
  const endless = (parallelism: number): string => `${generator(1_000_000_000)}
    SELECT start, k, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 10 MS)
    INTO Checksum() SET(${parallelism} AS "QUERY".PARALLELISM);`;
  const opened: LocalQuery[] = [];
  const options = {
    folder,
    pool,
    onOpen: (all: readonly LocalQuery[]) => void opened.push(...all),
  };
  try {
    // Lanes of runs begin on one thread after the other: the first is on the first thread alone.
    const alone = runSql(endless(1), options);
    await eventually("the first query", () => opened[0]);
    const both = assert.rejects(runSql(endless(2), options), {
      code: "query_failed",
      retry: "backoff",
      message: /a stream thread ended/,
    });
    const rowsOut = async (query: LocalQuery | undefined): Promise<number> =>
      (await query?.progress())?.rowsOut ?? 0;
    await eventually("rows of both", async () =>
      (await rowsOut(opened[0])) > 0 && (await rowsOut(opened[1])) > 0 ? true : undefined,
    );
    assert.equal(threads.length, 2);
    await threads[1]?.terminate();
    await both;
    const before = await rowsOut(opened[0]);
    await eventually("more rows", async () =>
      (await rowsOut(opened[0])) > before ? true : undefined,
    );
    const text = `${generator(2_000)} SELECT start, k, COUNT(*) AS n FROM s GROUP BY k
      WINDOW TUMBLING(ts, SIZE 10 MS) INTO Checksum() SET(2 AS "QUERY".PARALLELISM);`;
    const { queries } = await runSql(text, { folder, pool });
    assert.equal(await rowsOut(queries[0]), 2_000);
    assert.equal(threads.length, 3);
    await opened[0]?.close();
    await alone;
    assert.equal(pool.heldBytes, 0);
  } finally {
    process.off("worker", seen);
    await pool.close();
  }
});
