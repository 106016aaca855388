import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterFixture } from "../../../../ground/cluster/core/testing/cluster-fixture.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { streamChannel, streamChannelOf } from "../wire/stream-channel.ts";
import { speaksStreams } from "./create-fleet.ts";

test("[SC80] the session of a worker of an older version says that it does not know streams", async () => {
  const cluster = new ClusterFixture();
  const parts = { worker: { obey: () => undefined }, sessions: () => [], logger: silentLogger };
  const current = cluster.worker("current", { channels: [streamChannelOf(parts)] });
  const older = cluster.worker("older");
  const future = { ...streamChannelOf(parts), oldest: 98, newest: 99 };
  const newer = cluster.worker("newer", { channels: [future] });
  const pool = cluster.pool("coordinator", { channels: [streamChannel] });
  const speaks = speaksStreams({ pool });
  assert.equal(speaks("current"), undefined, "there is no session yet");
  pool.setTargets([current, older, newer]);
  await cluster.clock.advance(10);
  assert.deepEqual(["current", "older", "newer", "nobody"].map(speaks), [
    true,
    false,
    false,
    undefined,
  ]);
  pool.close();
});
