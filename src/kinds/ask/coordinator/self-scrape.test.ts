import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { LeafId, QueryId, WorkId } from "../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { Metrics } from "../../../ground/observe/index.ts";
import type { ControllerNode } from "../../../ground/work/node/controller-node.ts";
import {
  createApiQueryMetrics,
  createWorkerQueryMetrics,
} from "../../../ground/work/query-metrics.ts";
import type { SelfTargetOptions } from "../metrics/index.ts";
import { scrapeSelf } from "./self-scrape.ts";

const work = { queryId: "q-1" as QueryId, leafId: "l" as LeafId, workId: "0" as WorkId };

test("[OB11] Capstan scrapes itself and its workers as OpenMetrics, with the works as exemplars", async (t) => {
  const own = new Metrics({ process: "coordinator", version: "1" });
  createApiQueryMetrics(own).artifactFetched(3, 20, 10, work);
  const workers = new Metrics({ process: "worker", version: "1" });
  createWorkerQueryMetrics(workers).executionEnded("sql", "done", 20, undefined, work);
  const server = createServer(async (request, response) => {
    const { contentType, text } = await workers.exposition(request.headers.accept);
    response.setHeader("content-type", contentType).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const metricsUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  const view = { workerId: "worker-1", live: { facts: { metrics_url: metricsUrl } } };
  const node = { role: "coordinator", pool: { views: () => [view] } } as unknown as ControllerNode;
  const added: SelfTargetOptions[] = [];
  const ingest = { addSelfTarget: async (self: SelfTargetOptions) => void added.push(self) };
  const stop = scrapeSelf(ingest, {
    node,
    metrics: own,
    clock: new VirtualClock(),
    logger: silentLogger,
    clusterToken: "token",
  });
  t.after(stop);
  assert.deepEqual(
    added.map(({ instance }) => instance),
    ["coordinator", "worker-1"],
  );
  for (const { instance, read } of added) {
    const { contentType, text } = await read();
    assert.match(contentType, /^application\/openmetrics-text/, instance);
    assert.match(text, /# \{query_id="q-1",work_id="0"\}/, instance);
  }
});
