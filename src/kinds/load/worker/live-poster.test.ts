import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../ground/kernel/testing/eventually.ts";
import type { LivePost } from "../core/worker-snapshot.ts";
import { testRun } from "../testing/ids.ts";
import { LivePoster } from "./live-poster.ts";

const body = { test_id: "t", worker_id: "worker-0", phase: "WARMUP", metrics: {} };

test("[LW16] posts go to the run's address with the cluster's token; failures are counted and cost nothing", async (t) => {
  const got: { request: IncomingMessage; text: string }[] = [];
  let status = 204;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      got.push({ request, text });
      response.writeHead(status).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const options = { runId: testRun("r/1"), clusterToken: "secret", clock: realClock };
  const poster = new LivePoster({ ...options, coordinatorUrl: `http://127.0.0.1:${port}/` });
  const posted = (sent: number, failed: number) =>
    eventually(`${sent} sent and ${failed} failed`, () => {
      const { figures } = poster;
      return figures.sent === sent && figures.failed === failed ? true : undefined;
    });
  poster.post(body as unknown as LivePost);
  poster.post(body as unknown as LivePost); // One at a time.
  await posted(1, 1);
  const [first] = got;
  assert.equal(first?.request.url, "/api/runs/r%2F1/metrics/live");
  assert.equal(first?.request.headers.authorization, "Bearer secret");
  assert.deepEqual(JSON.parse(first?.text ?? ""), body);
  status = 503;
  poster.post(body as unknown as LivePost);
  await posted(1, 2);
  server.close();
  server.closeAllConnections();
  poster.post(body as unknown as LivePost);
  await posted(1, 3);
  const lost = new LivePoster({ ...options, coordinatorUrl: "nowhere" });
  lost.post(body as unknown as LivePost);
  await eventually("a failure", () => (lost.figures.failed === 1 ? true : undefined));
});
