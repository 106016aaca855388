import assert from "node:assert/strict";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import { Labels } from "../../promql/core/index.ts";
import { batchOf } from "../testing/sample-batches.ts";
import type { MetricsDb } from "./metrics-db.ts";
import { createLogGate, type LogLease, noLease, raiseFence } from "./take-log.ts";
import { DbFixture } from "./testing/db-fixture.ts";

const series = Labels.of({ __name__: "up" });
const at = (ts: number) => batchOf([[series, { ts, value: ts }]]);

/** The store's side of the lease: only the newest epoch is valid. */
class Leases {
  newest = 0;
  /** How long a holder may rely on its lease after asking. */
  validForMs = 0;

  grant(): LogLease {
    this.newest += 1;
    const epoch = this.newest;
    return {
      epoch,
      confirm: async () => {
        if (epoch === this.newest) return { validForMs: this.validForMs };
        throw new OperatingError("lease_lost", "never", `epoch ${epoch} is over`);
      },
    };
  }
}

function timesIn(fixture: DbFixture, db: MetricsDb): number[] {
  return fixture.readAll(db).flatMap(({ samples }) => [...samples.ts].slice(0, samples.count));
}

test("[MH21] the successor has all that was acknowledged; the one before acknowledges nothing more", async (t) => {
  const fixture = new DbFixture(t);
  const leases = new Leases();
  // The old owner still relies on its lease, so only the fence can stop it.
  leases.validForMs = 60_000;
  const before = await fixture.open({ lease: leases.grant() });
  await before.append(at(1));
  await before.append(at(2));
  const successor = await fixture.open({ lease: leases.grant() });
  assert.deepEqual(timesIn(fixture, successor), [1, 2]);
  await assert.rejects(before.append(at(3)), { code: "lease_lost" });
  await assert.rejects(before.append(at(4)), { code: "lease_lost" });
  assert.equal((await before.failed).code, "lease_lost");
  await successor.append(at(5));
  await before.close();
  assert.deepEqual(timesIn(fixture, successor), [1, 2, 5]);
  const third = await fixture.open({ lease: leases.grant() });
  assert.deepEqual(timesIn(fixture, third), [1, 2, 5], "what the first wrote late is not there");
  await successor.close();
  await third.append(at(6));
  await third.seal();
  await third.close();
  const again = await fixture.open({ lease: leases.grant() });
  assert.deepEqual(timesIn(fixture, again), [1, 2, 5, 6]);
  await again.close();
});

test("[MH21] a lease that is in doubt acknowledges nothing, and goes on when it is confirmed", async (t) => {
  const fixture = new DbFixture(t);
  let isAway = false;
  const lease: LogLease = {
    epoch: 1,
    confirm: async () => {
      if (isAway) throw new OperatingError("store_unavailable", "backoff", "the store is away");
      return { validForMs: 0 };
    },
  };
  const db = await fixture.open({ lease });
  await db.append(at(1));
  isAway = true;
  await assert.rejects(db.append(at(2)), { code: "store_unavailable" });
  assert.deepEqual(timesIn(fixture, db), [1]);
  isAway = false;
  const repeated = await db.append(at(2));
  assert.equal(repeated.duplicates, 1, "what was not acknowledged is in the log nevertheless");
  assert.deepEqual(timesIn(fixture, db), [1, 2]);
  await db.close();
});

test("[MH21] the store is asked again when the answer no longer holds, counted from the question", async (t) => {
  const fixture = new DbFixture(t);
  mkdirSync(fixture.walDir);
  const clock = new VirtualClock();
  let asked = 0;
  const lease: LogLease = {
    epoch: 4,
    confirm: async () => {
      asked += 1;
      await clock.advance(asked === 2 ? 500 : 0); // The process is stopped for a while.
      return { validForMs: 1_000 };
    },
  };
  const directory = fixture.walDir;
  const term = await raiseFence(realFiles, directory, lease);
  assert.equal(term, 4);
  const gate = createLogGate({ files: realFiles, directory, term, lease, clock });
  await gate();
  await gate();
  assert.equal(asked, 2, "once for the fence, once for the gate");
  await clock.advance(499);
  await gate();
  assert.equal(asked, 2);
  await clock.advance(1);
  await gate();
  assert.equal(asked, 3);
});

test("[MH21] an older owner that comes late does not fence a newer one", async (t) => {
  const fixture = new DbFixture(t);
  mkdirSync(fixture.walDir);
  const leases = new Leases();
  const [late, newer] = [leases.grant(), leases.grant()];
  const term = await raiseFence(realFiles, fixture.walDir, newer);
  await assert.rejects(raiseFence(realFiles, fixture.walDir, late), { code: "lease_lost" });
  assert.equal(term, 2);
});

for (const existing of [0, 90]) {
  test(`[MH21] nor does one that was stopped after its lease was confirmed, above term ${existing}`, async (t) => {
    const fixture = new DbFixture(t);
    const directory = fixture.walDir;
    mkdirSync(directory);
    if (existing > 0) await raiseFence(realFiles, directory, { ...noLease, epoch: existing });
    const leases = new Leases();
    const late = leases.grant();
    let newerTerm: number | undefined;
    const stopped: LogLease = {
      epoch: late.epoch,
      confirm: async () => {
        const answer = await late.confirm();
        newerTerm ??= await raiseFence(realFiles, directory, leases.grant());
        return answer;
      },
    };
    await assert.rejects(raiseFence(realFiles, directory, stopped), { code: "lease_lost" });
    const terms = readdirSync(directory).map((name) => Number(name.replace("term-", "")));
    assert.equal(Math.max(...terms), newerTerm, "the newer one is not fenced");
  });
}

test("[MH21] epochs that begin again, as those of a new store do, still fence", async (t) => {
  const fixture = new DbFixture(t);
  mkdirSync(fixture.walDir);
  const high = { ...noLease, epoch: 90 };
  assert.equal(await raiseFence(realFiles, fixture.walDir, high), 90);
  assert.equal(await raiseFence(realFiles, fixture.walDir, { ...noLease, epoch: 1 }), 91);
});

test("[MH21] a directory that vanished, or is another one, acknowledges nothing", async (t) => {
  const fixture = new DbFixture(t);
  const db = await fixture.open();
  await db.append(at(1));
  rmSync(fixture.walDir, { recursive: true });
  await assert.rejects(db.append(at(2)), { code: "data_dir_unusable" });
  mkdirSync(fixture.walDir);
  writeFileSync(join(fixture.walDir, "lineage"), "abcdefghijkl");
  await assert.rejects(db.append(at(3)), { code: "data_dir_unusable" });
  await db.close();
  assert.deepEqual(readdirSync(fixture.walDir), ["lineage"]);
});

test("[MH21] whoever takes over whenever, and whoever wakes up: what was acknowledged is there, once", async (t) => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("append" as const), who: fc.nat(3) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("take" as const), who: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("seal" as const), who: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("close" as const), who: fc.nat(3) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const fixture = new DbFixture(t);
      const leases = new Leases();
      leases.validForMs = 60_000;
      const owners: (MetricsDb | undefined)[] = [];
      const opened: MetricsDb[] = [];
      const acknowledged: number[] = [];
      let ts = 0;
      const under: Promise<unknown>[] = [];
      for (const { kind, who } of steps) {
        const owner = owners[who];
        if (kind === "take") {
          const grant = leases.grant();
          const taken = await fixture.open({
            lease: grant,
            walFileBytesMax: 300,
            publish: async (add) => {
              await grant.confirm(); // Like the catalog's transaction.
              await fixture.publish(add);
            },
          });
          owners[who] = taken;
          opened.push(taken);
        } else if (kind === "append" && owner !== undefined) {
          ts += 1;
          const sent = ts;
          const appended = owner.append(at(sent)).then(
            () => void acknowledged.push(sent),
            (thrown: unknown) => assert.ok(thrown instanceof OperatingError, String(thrown)),
          );
          under.push(appended);
          if (sent % 2 === 0) await appended; // Every second append stays in flight.
        } else if (kind === "seal") await owner?.seal().catch(() => undefined);
        else if (kind === "close") await owner?.close();
      }
      await Promise.all(under);
      const last = await fixture.open({ lease: leases.grant() });
      const found = timesIn(fixture, last);
      assert.deepEqual(
        acknowledged.filter((sent) => !found.includes(sent)),
        [],
      );
      assert.equal(new Set(found).size, found.length);
      for (const db of [...opened, last]) await db.close();
    }),
    { numRuns: 25 },
  );
});

test("[MH21] a directory that was replaced by another acknowledges nothing, also the first time", async (t) => {
  const fixture = new DbFixture(t);
  const db = await fixture.open();
  await db.append(at(1));
  renameSync(fixture.walDir, `${fixture.walDir}-moved`);
  mkdirSync(fixture.walDir); // The log's file is open, and takes writes that nobody will ever read.
  await assert.rejects(db.append(at(2)), { code: "data_dir_unusable" });
  await db.close();
});
