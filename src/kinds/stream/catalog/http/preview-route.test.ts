/** `POST /api/v1/streams/preview`, over HTTP; where the rows come from is given. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startApi } from "../../../../faces/api/index.ts";
import {
  apiConfig,
  bothTokens,
  FakeCluster,
  operateToken,
  readToken,
} from "../../../../faces/api/testing/fake-ports.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { OpenPreview, PreviewEvent } from "../core/preview.ts";
import { previewRoute } from "./preview-route.ts";

async function start(t: TestContext, open: OpenPreview) {
  const ports = new FakeCluster().ports();
  const api = await startApi(apiConfig(bothTokens), { ...ports, routes: [previewRoute(open)] });
  t.after(async () => {
    api.force();
    await api.close();
  });
  return (body: unknown, token = operateToken, signal?: AbortSignal) =>
    fetch(`${api.url}/api/v1/streams/preview`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
}

const columns = [{ name: "ts", type: "UINT64" }];
const end: PreviewEvent = {
  ...{ kind: "end", reason: "limit", rowCount: 2, leftOut: 4, durationMs: 12.3, workerId: "w1" },
};

test("[SC60] the events of a preview, in their order", async (t) => {
  const asked: unknown[] = [];
  const post = await start(t, async (request) => {
    asked.push(request);
    const events = (async function* (): AsyncGenerator<PreviewEvent> {
      yield { kind: "waiting", reason: "it is being deployed" };
      yield { kind: "rows", lines: ["[18446744073709551615]", "[2]"], leftOut: 4 };
      yield end;
    })();
    return { queryId: "7", columns, events };
  });
  const response = await post({ statement: "SELECT ts FROM bids" });
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
  assert.equal(
    await response.text(),
    `: capstan

event: columns
data: {"query_id":"7","columns":[{"name":"ts","type":"UINT64"}]}

event: waiting
data: {"reason":"it is being deployed"}

event: rows
data: {"rows":[[18446744073709551615],[2]],"left_out":4}

event: end
data: {"reason":"limit","row_count":2,"left_out":4,"duration_ms":12,"worker_id":"w1"}

`,
  );
  await (await post({ statement: "SELECT ts FROM bids", limit: 5 })).text();
  assert.deepEqual(asked, [
    { text: "SELECT ts FROM bids", rowsMax: 1_000 },
    { text: "SELECT ts FROM bids", rowsMax: 5 },
  ]);
});

test("[SC60] a refused preview has its status; one that fails later says so at its end", async (t) => {
  const post = await start(t, async ({ text }) => {
    if (text === "bad") throw new OperatingError("bad_request", "never", "it is bad");
    // biome-ignore lint/correctness/useYield: it fails before the first row
    const events = (async function* (): AsyncGenerator<PreviewEvent> {
      throw new OperatingError("query_failed", "never", "the worker was lost");
    })();
    return { queryId: "7", columns, events };
  });
  assert.equal((await post({ statement: "bad" })).status, 400);
  assert.equal((await post({ statement: "x", limit: 0 })).status, 400);
  assert.equal((await post({ statement: "x", limit: 100_001 })).status, 400);
  assert.equal((await post({ statement: "x" }, readToken)).status, 403);
  const failed = await (await post({ statement: "x" })).text();
  assert.match(
    failed,
    /event: error\ndata: {"code":"query_failed","message":"the worker was lost"}\n\n$/,
  );
});

test("[SC60] a client that leaves ends its preview", async (t) => {
  const left = Promise.withResolvers<void>();
  const post = await start(t, async (_, signal) => {
    const events = (async function* (): AsyncGenerator<PreviewEvent> {
      try {
        yield { kind: "rows", lines: ["[1]"], leftOut: 0 };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        left.resolve();
      }
    })();
    return { queryId: "7", columns, events };
  });
  const client = new AbortController();
  const response = await post({ statement: "x" }, operateToken, client.signal);
  const reader = response.body?.getReader();
  await reader?.read();
  client.abort();
  await left.promise;
});
