/** A preview's rows on their way: sink, outlet, HTTP/2, reader. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually, until } from "../../../../ground/kernel/testing/eventually.ts";
import {
  defaultDialect,
  LocalCatalog,
  parsePreviewText,
  parseStatements,
  planQuery,
} from "../../language/core/index.ts";
import { specOf, wholeFragment } from "../core/plan-fragments.ts";
import { EdgeHub } from "../exchange/edge-hub.ts";
import { HereHost } from "../host/here-host.ts";
import { unlimitedMemory } from "../host/stream-memory.ts";
import { createLocalConnectors } from "../local/local-connectors.ts";
import { PreviewOutlets } from "./preview-outlets.ts";
import { readPreview } from "./read-preview.ts";
import { servePreviews } from "./serve-previews.ts";

const run = { query: "7", epoch: 1 };
const headers = { authorization: "Bearer secret" };

async function serve(t: TestContext, previews: PreviewOutlets): Promise<string> {
  const server = createServer();
  const isAllowed = ({ authorization }: { authorization?: string | undefined }): boolean =>
    authorization === headers.authorization;
  server.on("session", (session) => {
    t.after(() => session.destroy());
    session.on("error", () => undefined);
  });
  server.on("stream", (stream, asked) => {
    if (!servePreviews(stream, asked, { previews, isAllowed })) stream.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs `SELECT` over a generator of so many rows, as a worker would. */
async function host(
  t: TestContext,
  previews: PreviewOutlets,
  rows: number,
  rowsMax: number,
  select = "v",
) {
  const catalog = new LocalCatalog(defaultDialect);
  const [source, physical] = parseStatements(`
    CREATE LOGICAL SOURCE s(v UINT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR s TYPE Generator SET(
      'SEQUENCE UINT64 0 ${rows} 1' AS "SOURCE".GENERATOR_SCHEMA);`);
  for (const statement of [source, physical]) assert.ok(statement && catalog.apply(statement));
  const { query } = parsePreviewText(`PREVIEW SELECT ${select} FROM s`);
  const sinks = [{ kind: "preview", rowsMax, position: query.position }] as const;
  const plan = planQuery({ ...query, sinks }, catalog, defaultDialect);
  const connectors = createLocalConnectors({
    ...{ sourceDir: ".", sinkDir: ".", print: () => undefined },
    preview: {
      clock: realClock,
      giverOf: (about) => ({
        open: async () => previews.open(about),
        give: (piece) => previews.give(about, piece),
        end: () => previews.end(about),
      }),
    },
  });
  const here = new HereHost({
    ...{ connectors, clock: realClock, hub: new EdgeHub(), memory: unlimitedMemory() },
    sendTo: () => assert.fail("it is in one process"),
  });
  t.after(async () => {
    previews.closeAll();
    await here.close();
  });
  let hasEnded = false;
  const cut = wholeFragment(plan);
  const [fragment] = cut.fragments;
  assert.ok(fragment !== undefined);
  const spec = specOf(cut, fragment, {
    ...{ restored: undefined, keepsState: true, addressOf: () => undefined },
  });
  await here.deploy(run, [spec], {
    acknowledged: () => undefined,
    ended: () => {
      hasEnded = true;
    },
    failed: (_, thrown) => {
      throw thrown;
    },
  });
  here.start(run);
  const progress = async () => (await here.progress(run))[0]?.rowsOut ?? 0;
  return { here, progress, hasEnded: () => hasEnded };
}

async function firstRows(address: string, count: number): Promise<readonly string[]> {
  const rows: string[] = [];
  const options = { headers, clock: realClock };
  for await (const { lines } of readPreview(address, run, options, new AbortController().signal)) {
    rows.push(...lines);
    if (rows.length >= count) break;
  }
  return rows;
}

const firstOf = (line: string): unknown => (JSON.parse(line) as readonly unknown[])[0];

test("[SU71] the first rows come as they are, and the query waits then", async (t) => {
  const previews = new PreviewOutlets();
  const address = await serve(t, previews);
  const { progress, hasEnded } = await host(t, previews, 1_000_000, 250);
  const rows = await firstRows(address, 250);
  assert.deepEqual(
    rows.map(firstOf),
    Array.from({ length: 250 }, (_, at) => at),
  );
  const before = await progress();
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(await progress(), before);
  assert.equal(hasEnded(), false);
});

test("[SU71] sources that end leave nothing unread, whenever the reader comes", async (t) => {
  const previews = new PreviewOutlets();
  const address = await serve(t, previews);
  const { hasEnded } = await host(t, previews, 100, 1_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(hasEnded(), false);
  const rows: unknown[] = [];
  const options = { headers, clock: realClock };
  for await (const { lines, leftOut } of readPreview(
    address,
    run,
    options,
    new AbortController().signal,
  )) {
    rows.push(...lines.map(firstOf));
    assert.equal(leftOut, 0);
  }
  assert.deepEqual(
    rows,
    Array.from({ length: 100 }, (_, at) => at),
  );
  await until(hasEnded);
});

const wide = `v, '${"x".repeat(1_000)}' AS t`;

test("[SU70] a reader that does not read costs rows, not memory, and is told how many", async (t) => {
  const previews = new PreviewOutlets();
  const address = await serve(t, previews);
  const { progress, hasEnded } = await host(t, previews, 20_000, 100_000, wide);
  // Nobody reads 20 MB: what is kept is a part of it, and the query goes on to its end.
  await eventually("all rows went by", async () => (await progress()) >= 20_000 || undefined);
  assert.equal(hasEnded(), false);
  let [count, missed, bytes] = [0, 0, 0];
  const options = { headers, clock: realClock };
  for await (const { lines, leftOut } of readPreview(
    address,
    run,
    options,
    new AbortController().signal,
  )) {
    count += lines.length;
    bytes += lines.reduce((sum, line) => sum + line.length, 0);
    missed = leftOut;
  }
  assert.ok(missed > 5_000, `${missed} rows were left out`);
  assert.equal(count + missed, 20_000);
  assert.ok(bytes < 12 * 1024 * 1024, `${bytes} bytes were kept`);
});

test("[SU70] a stopped run ends its reader; others and strangers find nothing", async (t) => {
  const previews = new PreviewOutlets();
  const address = await serve(t, previews);
  previews.open(run);
  const unreachable = (thrown: unknown): boolean =>
    thrown instanceof OperatingError && thrown.code === "worker_unreachable";
  const read = async (who = headers, about = run): Promise<void> => {
    const signal = AbortSignal.timeout(20_000);
    for await (const _ of readPreview(address, about, { headers: who, clock: realClock }, signal));
  };
  await assert.rejects(read({ authorization: "Bearer other" }), unreachable);
  await assert.rejects(read(headers, { query: "8", epoch: 1 }), unreachable);
  await assert.rejects(read(headers, { query: "../7", epoch: 1 }), unreachable);
  const reading = read();
  void previews.give(run, { lines: new TextEncoder().encode("[1]\n"), leftOut: 0 });
  const second = assert.rejects(read(), unreachable);
  await second;
  previews.close(run);
  await assert.rejects(reading, unreachable);
  assert.equal(previews.count, 0);
});

test("[SU70] rows keep every digit, and say what is no number", async (t) => {
  const previews = new PreviewOutlets();
  const address = await serve(t, previews);
  const select = `18446744073709551615 AS u, 'a"\\\\' AS t, 0.1 AS f, SQRT(0.0 - 1.0) AS n, v > 5 AS b,
    CASE WHEN v > 0 THEN v END AS v`;
  await host(t, previews, 1, 10, select);
  const [row = ""] = await firstRows(address, 1);
  assert.equal(row, '[18446744073709551615,"a\\"\\\\",0.1,"not finite",false,null]');
});
