/** The coordinator's loop, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { type Logger, silentLogger } from "../../../ground/kernel/logger.ts";
import { setTargetLag } from "./definitions.ts";
import { readRefreshHistory } from "./refresh-history.ts";
import type { SourceChanges } from "./source-changes.ts";
import { RefreshWorld } from "./testing/refresh-world.ts";
import { items, orders, tableId } from "./testing/tables-fixture.ts";

const secondsLag = (seconds: number) =>
  ({ targetLag: { kind: "time", ms: seconds * 1_000 } }) as const;

test("[TS1, TS13] a table stays within a lag of half a second while its source changes all the time", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders] }, secondsLag(0.5));
  await world.startScheduler();
  world.startWorker("w1", { refreshMs: () => 40 });
  await world.clock.advance(2_000);
  for (let step = 0; step < 200; step += 1) {
    await world.lake.write(orders);
    await world.clock.advance(20);
    const { data_time_ms } = await world.row(10);
    const lagMs = world.clock.wallMs() - (data_time_ms ?? 0);
    assert.ok(lagMs <= 500, `${lagMs}`);
  }
  assert.equal((await world.row(10)).lag_missed_count, 0);
});

test("[TS5, TS6] a chain of five with a lag of a second holds it, every table of one snapshot", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders], 11: [10], 12: [11], 13: [12] }, downstream);
  await world.create({ 14: [13, orders] }, secondsLag(1));
  await world.startScheduler();
  for (const name of ["w1", "w2"]) world.startWorker(name, { refreshMs: () => 30 });
  await world.clock.advance(3_000);
  for (let step = 0; step < 100; step += 1) {
    await world.lake.write(orders);
    await world.clock.advance(50);
    const row = await world.row(14);
    assert.ok(world.clock.wallMs() - (row.data_time_ms ?? 0) <= 1_000);
    const { snapshot } = await world.lake.current();
    const content = world.lake.at(tableId(14), snapshot);
    assert.equal(new Set(content.match(/1\.\d+/g)).size, 1, content);
  }
});

test("[TS8] nothing changes: no worker is needed, and the data grows no older", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders], 11: [10] }, secondsLag(1));
  await world.startScheduler();
  const loop = world.startWorker("w1");
  await world.clock.advance(2_000);
  await loop.stop();
  await world.clock.advance(60_000);
  for (const id of [10, 11]) {
    const row = await world.row(id);
    assert.ok(world.clock.wallMs() - (row.data_time_ms ?? 0) <= 1_000);
    assert.equal(row.lag_missed_count, 0);
  }
  const records = await world.store.read((tx) => readRefreshHistory(tx, { limit: 50 }));
  assert.ok(records.length <= 6, `${records.length} rows for a minute of nothing`);
});

test("[TS14] without the lease nothing is scheduled; with an older one neither", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders] });
  const none = await world.startScheduler({ lease: () => undefined });
  await world.clock.advance(20_000);
  assert.equal((await world.row(10)).target_snapshot, null);
  await none.stop();
  const old = await world.startScheduler();
  await world.lead();
  await world.clock.advance(20_000);
  assert.equal((await world.row(10)).target_snapshot, null);
  await old.stop();
  await world.startScheduler();
  await world.clock.advance(100);
  assert.equal((await world.row(10)).target_snapshot, 1);
});

test("[TS12] a target that is missed is a line in the log, and so is that it is met again", async () => {
  const world = new RefreshWorld();
  const lines: unknown[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (fields, message) => lines.push([message, fields.dynamic_table]),
    warn: (fields, message) => lines.push([message, fields.dynamic_table]),
  };
  await world.create({ 10: [orders] }, secondsLag(5));
  await world.startScheduler({ logger });
  const first = world.startWorker("w1");
  await world.clock.advance(3_000);
  await first.stop();
  await world.lake.write(orders);
  await world.clock.advance(30_000);
  assert.deepEqual(lines.splice(0), [["a dynamic table misses its target lag", "t10"]]);
  world.startWorker("w2");
  await world.clock.advance(30_000);
  assert.deepEqual(lines, [["a dynamic table meets its target lag again", "t10"]]);
});

test("[TS15] a lake that cannot be asked is asked again", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders] });
  let failures = 3;
  await world.startScheduler({
    lake: {
      current: async () => {
        failures -= 1;
        if (failures >= 0) throw new OperatingError("store_unavailable", "backoff", "away");
        return await world.lake.current();
      },
      mayHaveChanged: (ranges, to) => world.lake.mayHaveChanged(ranges, to),
      hasChanged: (ranges, to) => world.lake.hasChanged(ranges, to),
      isThere: (path) => world.lake.isThere(path),
    },
  });
  await world.clock.advance(2_000);
  assert.equal((await world.row(10)).target_snapshot, 1);
});

test("[TS1] a shorter lag counts at once; another coordinator goes on where one stopped", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders] }, secondsLag(3_600));
  const first = await world.startScheduler();
  world.startWorker("w1");
  await world.clock.advance(1_000);
  await world.lake.write(orders);
  await world.clock.advance(10_000);
  assert.equal((await world.row(10)).data_snapshot, 1);
  await first.stop();
  await world.startScheduler();
  await world.store.catalogTransaction((tx) =>
    setTargetLag(tx, tableId(10), { kind: "time", ms: 1_000 }),
  );
  await world.clock.advance(1_000);
  assert.ok(((await world.row(10)).data_snapshot ?? 0) > 1);
});

test("[TS7] a slow reader does not hold up what it reads, and gets its turn", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders], 11: [items] }, secondsLag(1));
  await world.create({ 12: [10, 11] }, secondsLag(30));
  await world.startScheduler();
  for (const name of ["w1", "w2", "w3"]) {
    world.startWorker(name, { refreshMs: ({ tableId: id }) => (id === 12 ? 10_000 : 50) });
  }
  await world.clock.advance(15_000);
  let seen = 0;
  for (let step = 0; step < 1_200; step += 1) {
    await world.lake.write(step % 2 === 0 ? orders : items);
    await world.clock.advance(100);
    for (const id of [10, 11]) {
      const { data_time_ms } = await world.row(id);
      assert.ok(world.clock.wallMs() - (data_time_ms ?? 0) <= 1_000, `${id} is late`);
    }
    const { data_snapshot } = await world.row(12);
    assert.ok((data_snapshot ?? 0) >= seen, "forward only");
    seen = data_snapshot ?? 0;
  }
  const reader = await world.row(12);
  assert.ok(world.clock.wallMs() - (reader.data_time_ms ?? 0) <= 30_000);
  assert.equal(reader.lag_missed_count, 0);
});

test("[TS5, TC13] expired claims are freed although nobody asks for work", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders] });
  await world.startScheduler();
  await world.clock.advance(100);
  await world.claimOne("gone");
  await world.clock.advance(121_000);
  const claims = await world.store.read(({ db }) =>
    db.selectFrom("refresh_claims").selectAll().execute(),
  );
  assert.deepEqual(claims, []);
});

test("[TS17] looks that are dear are rare: pokes all the time get a quarter of its time", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders] }, secondsLag(1));
  let looks = 0;
  const lake: SourceChanges = {
    current: async () => {
      looks += 1;
      await sleep(world.clock, 40);
      return await world.lake.current();
    },
    mayHaveChanged: (ranges, to) => world.lake.mayHaveChanged(ranges, to),
    hasChanged: (ranges, to) => world.lake.hasChanged(ranges, to),
    isThere: (path) => world.lake.isThere(path),
  };
  await world.startScheduler({ lake });
  for (let step = 0; step < 400; step += 1) {
    world.poke();
    await world.clock.advance(10);
  }
  assert.ok(looks >= 20 && looks <= 26, `${looks} looks in 4 s`);
});

const downstream = { targetLag: { kind: "downstream" } } as const;
