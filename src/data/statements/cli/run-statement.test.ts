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
