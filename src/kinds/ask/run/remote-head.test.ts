import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
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
    owner: async () => ({ url: `http://127.0.0.1:${port}`, incarnation: "i" }),
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

/**
 * A server that sends what `answer` returns. On `undefined` it is silent, like a stopped process.
 */
async function startOwner(t: TestContext, answer: () => string | number | undefined) {
  const server = createServer((_, response) => {
    const given = answer();
    if (typeof given === "number") response.writeHead(given).end();
    else if (given !== undefined) response.end(given);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const hours = 60 * 60_000;
const patient = { clock: realClock, clusterToken: "s", silenceMs: hours, patienceMs: hours };

test("[QP17] an owner that is stopped is not waited for once the store names another", async (t) => {
  const stopped = await startOwner(t, () => undefined);
  const successor = await startOwner(t, () =>
    JSON.stringify({ ...snapshot, incarnation: "second" }),
  );
  let asked = 0;
  const remote = createRemoteHead({
    ...patient,
    owner: async () => {
      asked += 1;
      const isFirst = asked < 3;
      return isFirst
        ? { url: stopped, incarnation: "first" }
        : { url: successor, incarnation: "second" };
    },
  });
  t.after(() => remote.close());
  assert.equal((await remote.snapshot())?.incarnation, "second");
});

test("[QP17] times that only segments can have are answered without an owner that is stopped", async (t) => {
  let given: string | number | undefined = 503;
  let incarnation = "i";
  const url = await startOwner(t, () => given);
  const remote = createRemoteHead({
    ...patient,
    patienceMs: 0,
    owner: async () => ({ url, incarnation }),
  });
  t.after(() => remote.close());
  const refused = { code: "leader_unreachable" };
  await assert.rejects(remote.snapshot(Promise.resolve(0)), refused, "nothing is known of it yet");
  given = JSON.stringify({ ...snapshot, minTs: 100 * hours, maxTs: 100.5 * hours, sampleCount: 1 });
  assert.equal((await remote.snapshot())?.minTs, 100 * hours);
  given = undefined;
  // The owner may have taken samples an hour older than its newest since then.
  assert.equal(await remote.snapshot(Promise.resolve(99.5 * hours - 1)), undefined);
  given = 503;
  await assert.rejects(remote.snapshot(Promise.resolve(99.5 * hours)), refused);
  await assert.rejects(remote.snapshot(), refused);
  incarnation = "another";
  await assert.rejects(
    remote.snapshot(Promise.resolve(0)),
    refused,
    "another head has other samples",
  );
});

test("[QP17] an outage is waited out once, and the error names the owner's trouble and who leads", async (t) => {
  let asked = 0;
  const url = await startOwner(t, () => {
    asked += 1;
    return 503;
  });
  const remote = createRemoteHead({
    ...patient,
    patienceMs: 500,
    owner: async () => ({ url, incarnation: "i" }),
    leader: async () => "nobody leads",
  });
  t.after(() => remote.close());
  const refused = {
    code: "leader_unreachable",
    retry: "backoff",
    message: /the newest samples does not answer: it answered 503; nobody leads/,
    hint: /start another/,
  };
  await assert.rejects(remote.snapshot(), refused);
  assert.ok(asked >= 2, "it was asked again");
  asked = 0;
  await assert.rejects(remote.snapshot(), refused);
  assert.equal(asked, 1);
});
