import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { QueryId } from "../../ground/kernel/ids.ts";
import { silentLogger } from "../../ground/kernel/logger.ts";
import { createPrng } from "../../ground/kernel/prng.ts";
import { VirtualClock } from "../../ground/kernel/testing/virtual-clock.ts";
import { ApiWorkManager } from "../../ground/work/core/index.ts";
import { FakeWorkerPool } from "../../ground/work/core/testing/fake-worker-pool.ts";
import { ManualFetcher } from "../../ground/work/core/testing/manual-fetcher.ts";
import type { RowStream } from "./engine.ts";
import { runSql, type SqlResult } from "./run-sql.ts";

const columns = [{ name: "a", type: "INTEGER" }];

function rowsOf(chunks: readonly (string | Error)[]): RowStream {
  return {
    columns,
    isWhole: chunks.length <= 1,
    async *[Symbol.asyncIterator]() {
      for (const chunk of chunks) {
        if (chunk instanceof Error) throw chunk;
        yield await Promise.resolve(Buffer.from(chunk));
      }
    },
  };
}

function newBench(rows: RowStream | Error) {
  const clock = new VirtualClock();
  const pool = new FakeWorkerPool();
  const fetcher = new ManualFetcher();
  const manager = new ApiWorkManager({ pool, fetcher, clock, logger: silentLogger });
  const openRows = () => (rows instanceof Error ? Promise.reject(rows) : Promise.resolve(rows));
  const engine = { with: () => ({ openRows }) };
  const prng = createPrng(1);
  const abort = new AbortController();
  const queryId = "q1" as QueryId;
  const start = async (): Promise<SqlResult> => {
    pool.up("w1");
    const running = runSql({ manager, engine, clock, prng }, "SELECT 1", { queryId }, abort.signal);
    running.catch(() => undefined);
    if (abort.signal.aborted) return await running;
    await clock.advance(2);
    pool.ready();
    await clock.advance(3);
    fetcher.arrive();
    await clock.advance(0);
    return await running;
  };
  return { clock, pool, fetcher, manager, queryId, abort, start };
}

async function chunksOf(stream: AsyncIterable<Uint8Array>): Promise<readonly string[]> {
  const chunks: string[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk).toString());
  return chunks;
}

const header = '{"query_id":"q1","columns":[{"name":"a","type":"INTEGER"}]}\n';
const summary =
  '{"summary":{"row_count":3,"duration_ms":5,"worker_id":"w1","artifact_bytes":10}}\n';

test("[QU60] header, rows and summary; a small answer in one chunk", async () => {
  const { fetcher, manager, queryId, pool, start } = newBench(rowsOf(["[1]\n[2]\n[3]\n"]));
  const { stream } = await start();
  assert.equal(manager.get(queryId)?.state, "running");
  assert.deepEqual(await chunksOf(stream), [`${header}[1]\n[2]\n[3]\n${summary}`]);
  assert.equal(manager.get(queryId)?.state, "done");
  assert.equal(fetcher.alive.size, 0);
  const { work } = pool.lastAssigned().command;
  assert.deepEqual([work.kind, work.body], ["sql", '{"sql":"SELECT 1"}']);
});

test("[QU60] an answer without rows has its header and its summary", async () => {
  const { start } = newBench(rowsOf([]));
  assert.deepEqual(await chunksOf((await start()).stream), [header + summary]);
});

test("[QU60] a large answer comes as it is read", async () => {
  const { start } = newBench(rowsOf(["[1]\n", "[2]\n"]));
  assert.deepEqual(await chunksOf((await start()).stream), [`${header}[1]\n`, "[2]\n", summary]);
});

test("[QU61] what fails before the first row is thrown as it is", async () => {
  const unreadable = newBench(new OperatingError("artifact_corrupt", "never", "unreadable"));
  await assert.rejects(unreadable.start(), /unreadable/);
  assert.equal(unreadable.fetcher.alive.size, 0);
  assert.equal(unreadable.manager.get(unreadable.queryId)?.state, "failed");

  const gone = newBench(rowsOf([]));
  gone.abort.abort();
  await assert.rejects(gone.start(), (thrown) => {
    return thrown instanceof OperatingError && thrown.code === "cancelled";
  });
});

test("[QU61] what fails later is the last line", async () => {
  const broken = new OperatingError("artifact_corrupt", "never", "torn", { hint: "again" });
  const { fetcher, manager, queryId, start } = newBench(rowsOf(["[1]\n", broken]));
  const chunks = await chunksOf((await start()).stream);
  assert.deepEqual(chunks, [
    `${header}[1]\n`,
    '{"error":{"code":"artifact_corrupt","message":"torn","hint":"again"}}\n',
  ]);
  assert.equal(manager.get(queryId)?.state, "failed");
  assert.equal(fetcher.alive.size, 0);
});

test("[QU13] [QU61] a query that is cancelled while it is read says so", async () => {
  const rows = rowsOf(["[1]\n", "[2]\n"]);
  const { fetcher, manager, queryId, start } = newBench(rows);
  const iterator = (await start()).stream[Symbol.asyncIterator]();
  await iterator.next();
  manager.cancel(queryId, "by request");
  const rest: string[] = [];
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    rest.push(Buffer.from(next.value).toString());
  }
  assert.equal(rest.at(-1), '{"error":{"code":"cancelled","message":"by request"}}\n');
  assert.equal(fetcher.alive.size, 0);
});

test("[QU62] a reader that leaves ends the query and deletes the copy", async () => {
  const { clock, fetcher, manager, queryId, start } = newBench(rowsOf(["[1]\n", "[2]\n"]));
  for await (const chunk of (await start()).stream) {
    assert.ok(chunk.length > 0);
    break;
  }
  assert.equal(manager.get(queryId)?.state, "cancelled");
  assert.equal(fetcher.alive.size, 0);
  assert.equal(clock.pendingCount, 0);
});

test("[QU62] a reader that never comes, or does not come back, ends it too", async () => {
  const never = newBench(rowsOf(["[1]\n"]));
  await never.start();
  await never.clock.advance(300_000);
  assert.equal(never.manager.get(never.queryId)?.error?.code, "deadline_exceeded");
  assert.equal(never.fetcher.alive.size, 0);

  const once = newBench(rowsOf(["[1]\n", "[2]\n"]));
  const iterator = (await once.start()).stream[Symbol.asyncIterator]();
  await iterator.next();
  await once.clock.advance(300_000);
  assert.equal(once.fetcher.alive.size, 0);
  let last = "";
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    last = Buffer.from(next.value).toString();
  }
  assert.match(last, /^\{"error":\{"code":"deadline_exceeded"/);
});

test("[QU62] a caller that goes away before it reads leaves nothing", async () => {
  const { abort, clock, fetcher, manager, queryId, start } = newBench(rowsOf(["[1]\n"]));
  await start();
  abort.abort();
  await clock.advance(0);
  assert.equal(manager.get(queryId)?.state, "cancelled");
  assert.equal(fetcher.alive.size, 0);
  assert.equal(clock.pendingCount, 0);
});
