import assert from "node:assert/strict";
import { after, test } from "node:test";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { startApi } from "./server.ts";
import { apiConfig, FakeCluster } from "./testing/fake-ports.ts";

const cluster = new FakeCluster();
const api = await startApi(apiConfig(), cluster.ports());
after(async () => {
  api.drain();
  api.force();
  await api.close();
});

async function get(path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${api.url}${path}`);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test("[AP32] KEDA reads the refreshes that wait as flat JSON", async () => {
  assert.deepEqual((await get("/api/v1/monitor/refresh")).body, {
    pending_refresh_count: 3,
    pending_refresh_parts: 2,
    blocked_refresh_counts: { source_stopped: 1 },
    refresh_backlog_seconds: 1.5,
    refresh_duration_p95: null,
  });
});

test("[AP30] Kubernetes discovers the external metrics and reads one", async () => {
  const base = "/apis/external.metrics.k8s.io/v1beta1";
  assert.equal((await get(base)).body.kind, "APIResourceList");
  const { body } = await get(`${base}/namespaces/any/pending_refresh_count`);
  const [item] = body.items as { value: string }[];
  assert.equal(item?.value, "3");
  const labelled = `${base}/namespaces/any/pending_refresh_count?labelSelector=a%3Db`;
  assert.deepEqual((await get(labelled)).body.items, []);
  const unknown = await get(`${base}/namespaces/any/nothing`);
  assert.deepEqual([unknown.status, unknown.body.kind], [404, "Status"]);
});

test("[AP37] a refresh over HTTP waits for its end where it is asked to", async () => {
  const verbs: string[] = [];
  cluster.tables = {
    change: async (_name: string, verb: string) => {
      verbs.push(verb);
      if (verb === "refreshed") throw new OperatingError("query_failed", "never", "no such column");
      return true;
    },
  } as unknown as NonNullable<typeof cluster.tables>;
  const other = await startApi(apiConfig(), cluster.ports());
  const post = async (query: string): Promise<number> => {
    const path = `/api/v1/dynamic-tables/t/refresh${query}`;
    return (await fetch(`${other.url}${path}`, { method: "POST" })).status;
  };
  assert.equal(await post(""), 200);
  assert.ok((await post("?wait=true")) >= 400);
  assert.equal(await post("?wait=perhaps"), 400);
  assert.deepEqual(verbs, ["refresh", "refreshed"]);
  other.drain();
  other.force();
  await other.close();
});

test("[AP33] a file for COPY is sent in chunks", async () => {
  const begun = await fetch(`${api.url}/api/v1/uploads`, { method: "POST" });
  const { upload_id: id } = (await begun.json()) as { upload_id: string };
  const send = async (offset: number, text: string): Promise<unknown> => {
    const response = await fetch(`${api.url}/api/v1/uploads/${id}/chunks?offset=${offset}`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: text,
    });
    return await response.json();
  };
  assert.deepEqual(await send(0, "id\n1\n"), { size_bytes: 5 });
  assert.deepEqual(await send(5, "2\n"), { size_bytes: 7 });
  assert.equal(cluster.uploads.get(id)?.toString(), "id\n1\n2\n");
  await fetch(`${api.url}/api/v1/uploads/${id}`, { method: "DELETE" });
  assert.equal(cluster.uploads.has(id), false);
});
