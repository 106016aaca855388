import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startApi } from "../../../faces/api/index.ts";
import { apiConfig, FakeCluster } from "../../../faces/api/testing/fake-ports.ts";
import { ApiClient } from "../../../ground/command/client/api-client.ts";
import { createPaint } from "../../../ground/command/output/terminal.ts";
import type { WatchRequest } from "../http/watch-messages.ts";
import { runStatement } from "./run-statement.ts";

const cluster = new FakeCluster();
const api = await startApi(apiConfig(), cluster.ports());
after(async () => {
  api.drain();
  api.force();
  await api.close();
});

test("[CM17] a WATCH statement is followed until it is ended, comments before it or not", async () => {
  const asked: WatchRequest[] = [];
  const over = new AbortController();
  cluster.watch = async function* (request) {
    asked.push(request);
    yield { type: "SNAPSHOT", revision: 1, data: [{ dynamic_table: "revenue", status: "ACTIVE" }] };
    yield { type: "EVENT", op: "DROP", key: "revenue", revision: 2 };
  };
  let said = "";
  const terminal = {
    out: (text: string) => {
      said += text;
      if (text.includes("DROP")) over.abort();
    },
    err: () => undefined,
    interactive: false,
    columns: 80,
    paint: createPaint(false),
    paintError: createPaint(false),
  };
  const context = {
    client: new ApiClient({ url: api.url, token: undefined }),
    terminal,
    json: false,
  };
  const text = "-- what happens\nWATCH DYNAMIC TABLES;";
  await runStatement(context, text, undefined, over.signal);
  assert.equal(asked[0]?.select, "WATCH DYNAMIC TABLES;");
  assert.match(said, /SNAPSHOT revision 1, rows: 1\n.*\nrevenue +ACTIVE\n.* DROP {3}revenue\n$/);
});

/** Runs a statement whose answer is these lines. */
async function shown(sql: string, answer: AsyncGenerator<string>, json = false) {
  cluster.sql = async () => ({
    stream: (async function* () {
      for await (const line of answer) yield Buffer.from(`${line}\n`);
    })(),
  });
  const said = { out: "", err: "" };
  const over = new AbortController();
  const terminal = {
    out: (text: string) => {
      said.out += text;
      if (text.includes("last")) over.abort();
    },
    err: (text: string) => {
      said.err += text;
    },
    ...{ interactive: false, columns: 80 },
    ...{ paint: createPaint(false), paintError: createPaint(false) },
  };
  const context = { client: new ApiClient({ url: api.url, token: undefined }), terminal, json };
  await runStatement(context, sql, undefined, over.signal);
  return said;
}

const header = '{"query_id":"q","columns":[{"name":"v","type":"UINT64"}],"preview":"7"}';
const summary = {
  ...{ row_count: 1, duration_ms: 12, worker_id: "w1", artifact_bytes: 0 },
  ...{ left_out: 3, ended: "limit" },
};

async function* lines(...all: readonly string[]): AsyncGenerator<string> {
  yield* all;
}

test("[SR8] a preview says why nothing comes, once, and how it ended", async () => {
  const waiting = '{"waiting":"it is being deployed"}';
  const all = [header, waiting, waiting, "[18446744073709551615]", JSON.stringify({ summary })];
  const said = await shown("PREVIEW SELECT v FROM s", lines(...all));
  assert.equal(said.out, "                   v\n18446744073709551615\n");
  assert.equal(
    said.err,
    "it is being deployed\n(1 row in 12 ms; 3 rows left out because they came faster than they were shown; that is the limit; LIMIT n sets another one)\n",
  );
  const json = await shown("PREVIEW SELECT v FROM s", lines(...all), true);
  assert.deepEqual(json, {
    out: `${[header, "[18446744073709551615]", JSON.stringify({ summary })].join("\n")}\n`,
    err: "",
  });
});

test("[SR8] rows of a preview are shown while it goes on, and Ctrl-C is no error", async () => {
  const endless = async function* (): AsyncGenerator<string> {
    yield header.replace("UINT64", "VARSIZED");
    yield '["first"]';
    yield '["last"]';
    await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
  };
  const said = await shown("preview select v from s", endless());
  assert.equal(said.out, "v\nfirst\nlast\n");
  assert.equal(said.err, "(2 rows; the preview is over)\n");
});

test("[CM22] an answer whose connection breaks is a failure, and its rows are shown", async () => {
  const broken = async function* (): AsyncGenerator<string> {
    yield header.replace(',"preview":"7"', "");
    yield "[1]";
    await new Promise((resolve) => setTimeout(resolve, 50));
    throw new Error("the process is gone");
  };
  await assert.rejects(shown("SELECT 1", broken()), { code: "truncated", exitCode: 3 });
});
