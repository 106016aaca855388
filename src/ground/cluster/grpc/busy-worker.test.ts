import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { Worker } from "node:worker_threads";
import type { ControllerId, Incarnation, LeaseEpoch, WorkerId } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createPrng } from "../../kernel/prng.ts";
import { until } from "../../kernel/testing/eventually.ts";
import { SessionPool, WorkerEndpoint } from "../core/index.ts";
import { RecordingObserver, workerId } from "../core/testing/cluster-fixture.ts";
import {
  payloadOf,
  RecordingChannel,
  RecordingListener,
  spoken,
} from "../core/testing/recording-listener.ts";
import { GrpcFixture } from "./testing/grpc-fixture.ts";

const one = workerId("worker-1");

/** A pool and a worker in this process, connected by real sockets. */
async function openSession() {
  const grpc = new GrpcFixture();
  const handler = new RecordingChannel();
  const endpoint = new WorkerEndpoint({
    clock: realClock,
    workerId: one,
    incarnation: "i" as Incarnation,
    dataUrl: () => "http://127.0.0.1:1",
    capacity: 1,
    softwareVersion: "test",
    channels: [handler],
    logger: silentLogger,
  });
  const address = await grpc.listen(endpoint.accept);
  const observer = new RecordingObserver();
  const listener = new RecordingListener();
  const pool = new SessionPool({
    clock: realClock,
    prng: createPrng(1),
    dialer: grpc.dialer(),
    controllerId: "c" as ControllerId,
    role: "coordinator",
    leaseEpoch: () => 1 as LeaseEpoch,
    channels: [spoken],
    logger: silentLogger,
    observer,
  });
  pool.listen(listener);
  pool.setTargets([{ address, workerId: one as WorkerId }]);
  await until(() => pool.view(one)?.state === "live");
  return {
    endpoint,
    handler,
    observer,
    listener,
    pool,
    close: async () => {
      pool.close();
      endpoint.close("the test is over");
      await grpc.close();
    },
  };
}

/** Heartbeat failures during more than 4 s in which every core is busy. */
async function missedWhileBusy(): Promise<readonly unknown[]> {
  const session = await openSession();
  const spinners = Array.from(
    { length: availableParallelism() },
    () => new Worker("for (;;);", { eval: true }),
  );
  const { observer, pool } = session;
  try {
    await until(() => observer.rttsMs.length + observer.misses + observer.downs.length >= 5);
    return [observer.misses, [...observer.downs], pool.view(one)?.live?.misses];
  } finally {
    await Promise.all(spinners.map((spinner) => spinner.terminate()));
    await session.close();
  }
}

test("[CL36] with every core kept busy by the worker's other threads no heartbeat is missed", async () => {
  const none = [0, [], 0];
  let missed: readonly unknown[] | undefined;
  // The best of three: other processes may delay this one for half a second.
  for (let tries = 0; tries < 3 && !isDeepStrictEqual(missed, none); tries += 1) {
    missed = await missedWhileBusy();
  }
  assert.deepEqual(missed, none);
});

test("[CL1] a whole session over real sockets: frames both ways, facts, admission, drop", async () => {
  const session = await openSession();
  try {
    assert.equal(session.pool.send(one, spoken.name, payloadOf("to")), true);
    await until(() => session.handler.lines.length === 1);
    const [key] = session.endpoint.sessions().map((open) => open.key);
    session.endpoint.send(String(key), spoken.name, payloadOf("fro"));
    session.endpoint.setAdmission({ accepting: false, draining: true });
    session.endpoint.setFact("queue_depth", "1");
    await until(() => session.pool.view(one)?.live?.facts.queue_depth === "1");
    assert.deepEqual(session.listener.take(), [
      "up worker-1 i",
      "frame worker-1 fro",
      "admission worker-1 accepting=false draining=true",
    ]);
    session.pool.drop(one);
    await until(() => session.handler.lines.length === 2);
    assert.deepEqual(session.handler.take(), ["frame c#1 to", "lost c#1"]);
  } finally {
    await session.close();
  }
});
