import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createRemoteHead } from "./remote-head.ts";

const snapshot = {
  url: "http://127.0.0.1:1",
  incarnation: "i",
  appendSeq: 7,
  minTs: null,
  maxTs: null,
  sampleCount: 0,
  seriesCount: 0,
};

test("[QP5] a replica asks the head's owner for its moment, and waits for one that restarts", async () => {
  let answers = 0;
  const server = createServer((request, response) => {
    answers += 1;
    assert.equal(request.headers.authorization, "Bearer secret");
    if (answers === 1) response.writeHead(503).end();
    else response.end(JSON.stringify(snapshot));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const remote = createRemoteHead({
    clock: realClock,
    clusterToken: "secret",
    owner: async () => ({ url: `http://127.0.0.1:${port}` }),
  });
  const found = await remote.snapshot();
  assert.deepEqual([found?.appendSeq, found?.maxTs, answers], [7, Number.NEGATIVE_INFINITY, 2]);
  remote.close();
  server.closeAllConnections();
  server.close();
});

test("[QP5] without an owner there is no head; an error of the store is told at once", async () => {
  const nobody = createRemoteHead({
    clock: realClock,
    clusterToken: "s",
    owner: async () => undefined,
  });
  assert.equal(await nobody.snapshot(), undefined);
  const failing = createRemoteHead({
    clock: realClock,
    clusterToken: "s",
    owner: async () => {
      throw new OperatingError("store_unavailable", "backoff", "gone");
    },
  });
  await assert.rejects(failing.snapshot(), /gone/);
  nobody.close();
  failing.close();
});
