import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterFixture } from "../../../../ground/cluster/core/testing/cluster-fixture.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { createWorkerDial } from "./dial-worker.ts";

function open() {
  const cluster = new ClusterFixture();
  const { clock, network } = cluster;
  const dial = createWorkerDial({ dialer: network, clock, prng: createPrng("dial") });
  return { cluster, dial };
}

test("[SC16] a worker that is dialled says who it is, and keeps its sessions", async () => {
  const { cluster, dial } = open();
  const worker = cluster.worker("edge");
  const pool = cluster.pool();
  pool.setTargets([{ address: worker.address }]);
  await cluster.clock.advance(100);
  const answer = dial({ host: "edge-host", grpcPort: worker.port });
  await cluster.clock.advance(100);
  assert.deepEqual(await answer, {
    workerId: "edge",
    incarnation: `edge-${worker.port}`,
    capacity: 4,
    softwareVersion: "test",
    dataPort: worker.port + 1_000,
  });
  assert.equal(pool.views()[0]?.state, "live");
});

test("[SC16] nobody there, silence and no address are refused", async () => {
  const { cluster, dial } = open();
  const nobody = dial({ host: "nowhere", grpcPort: 1 });
  const refusedDial = assert.rejects(nobody, {
    code: "NetworkError",
    message: /nowhere:1 cannot be/,
  });
  await cluster.clock.advance(100);
  await refusedDial;
  const worker = cluster.worker("edge");
  cluster.network.silence(worker.port);
  const late = assert.rejects(dial({ host: "edge", grpcPort: worker.port }), {
    code: "NetworkError",
    message: /it did not answer within 2 s/,
  });
  await cluster.clock.advance(2_000);
  await late;
  for (const address of [
    { host: "a b", grpcPort: 1 },
    { host: "", grpcPort: 1 },
    { host: "a", grpcPort: 0 },
    { host: "a", grpcPort: 65_536 },
  ]) {
    await assert.rejects(dial(address), { code: "InvalidAddress" });
  }
});
