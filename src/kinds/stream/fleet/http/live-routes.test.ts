import assert from "node:assert/strict";
import { test } from "node:test";
import { startApi } from "../../../../faces/api/index.ts";
import { apiConfig, FakeCluster } from "../../../../faces/api/testing/fake-ports.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { LiveQueryBody } from "../core/live-body.ts";
import { liveRoutes } from "./live-routes.ts";

const body = (query_id: string): LiveQueryBody => ({
  ...{ query_id, epoch: 1, at_ms: 5, fragments: [], edges: [], checkpoints: [] },
  held_back_by: null,
});

test("[SC92] the figures of several queries come together, without those that are gone", async (t) => {
  const read = async (name: string): Promise<LiveQueryBody> => {
    if (name === "gone") throw new OperatingError("DoesNotExist", "never", "there is no gone");
    if (name === "led") throw new OperatingError("not_leader", "backoff", "ask another one");
    return body(name);
  };
  const ports = new FakeCluster().ports();
  const api = await startApi(apiConfig(), { ...ports, routes: [liveRoutes(read)] });
  t.after(async () => {
    api.force();
    await api.close();
  });
  const get = async (queries: string) => {
    const response = await fetch(`${api.url}/api/v1/streams/live?queries=${queries}`);
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
  };
  assert.deepEqual((await get("4,gone,%20hot")).answer, { items: [body("4"), body("hot")] });
  const elsewhere = await get("4,led");
  assert.deepEqual([elsewhere.status, elsewhere.answer.code], [503, "not_leader"]);
  const names = Array.from({ length: 31 }, (_, index) => `q${index}`);
  assert.equal((await get(names.join(","))).status, 400);
  assert.equal((await get(",")).status, 400);
  assert.equal((await get(names.slice(1).join(","))).status, 200);
});
