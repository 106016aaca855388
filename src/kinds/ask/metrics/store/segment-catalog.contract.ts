/** Contract tests of the catalog and the claims, for any database. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { LeaseEpoch } from "../../../../ground/kernel/ids.ts";
import type { LeaseGrant, Store } from "../../../../ground/store/index.ts";
import {
  openFresh,
  openOn,
  type StoreFixture,
} from "../../../../ground/store/testing/store-fixture.ts";
import type { SegmentInfo } from "../core/model.ts";
import { acquireClaim, releaseClaim, renewClaim } from "./maintenance-claims.ts";
import { SegmentCatalog } from "./segment-catalog.ts";

const lease: LeaseGrant = { name: "coordinator", holder: "c1", epoch: 1 as LeaseEpoch };

function segment(segmentId: string, rest: Partial<SegmentInfo> = {}): SegmentInfo {
  return {
    segmentId,
    seq: 0,
    level: 0,
    minTs: 0,
    maxTs: 100,
    shardCount: 1,
    shard: 0,
    seriesCount: 1,
    sampleCount: 1,
    histogramCount: 0,
    sizeBytes: 10,
    metricNames: ["up", "é🦊"],
    path: `segments/${segmentId}`,
    sealSeq: 1,
    ...rest,
  };
}

async function grantLease(store: Store, { name, holder, epoch }: LeaseGrant): Promise<void> {
  await store.transaction(async ({ db }) => {
    await db.deleteFrom("coordinator_leases").execute();
    const row = { name, holder, epoch, expires_at_ms: 0, api_url: "" };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
}

export function testSegmentCatalog(fixture: StoreFixture): void {
  const open = async (t: TestContext) => {
    const { store, place } = await openFresh(fixture, t);
    await grantLease(store, lease);
    return { store, place, catalog: new SegmentCatalog({ store }) };
  };
  const ids = async (catalog: SegmentCatalog, range = {}): Promise<string[]> =>
    (await catalog.list(range)).map(({ segmentId }) => segmentId);

  describe("the catalog", () => {
    test("[MC1] what was published is listed as it was, by time, and other processes see it at once", async (t) => {
      const { catalog, place } = await open(t);
      const other = new SegmentCatalog({ store: await openOn(place, t) });
      assert.deepEqual(await other.list(), []);
      const add = [
        segment("a"),
        segment("b", { minTs: 200, maxTs: 300, metricNames: undefined, histogramCount: 1 }),
      ];
      const published = await catalog.publish({ add, remove: [] }, lease);
      assert.deepEqual(
        published,
        add.map((info) => ({ ...info, seq: 1 })),
      );
      const aged = await other.listAged();
      assert.deepEqual(
        aged.map(({ info }) => info.segmentId),
        ["a", "b"],
      );
      assert.ok(aged.every(({ ageMs }) => ageMs >= 0 && ageMs < 60_000));
      for (const one of [catalog, other]) {
        assert.deepEqual(await one.list(), published);
        assert.deepEqual(await ids(one, { minTs: 100, maxTs: 199 }), ["a"]);
        assert.deepEqual(await ids(one, { minTs: 101, maxTs: 199 }), []);
        assert.deepEqual(await ids(one, { minTs: 150 }), ["b"]);
      }
    });

    test("[MC2] publications get growing numbers; a compaction keeps the one it brings", async (t) => {
      const { catalog } = await open(t);
      await catalog.publish({ add: [segment("a"), segment("b")], remove: [] }, lease);
      await catalog.publish({ add: [segment("c")], remove: [] }, lease);
      await catalog.publish(
        { add: [segment("ab", { seq: 1, level: 1 })], remove: ["a", "b"] },
        lease,
      );
      await catalog.publish({ add: [segment("d")], remove: [] }, lease);
      const seqs = (await catalog.list()).map(({ segmentId, seq }) => [segmentId, seq]);
      assert.deepEqual(seqs, [
        ["ab", 1],
        ["c", 2],
        ["d", 4],
      ]);
    });

    test("[MC3] a publication can be repeated", async (t) => {
      const { catalog } = await open(t);
      await catalog.publish({ add: [segment("a")], remove: [] }, lease);
      const replacement = { add: [segment("b", { seq: 1 })], remove: ["a"] };
      const first = await catalog.publish(replacement, lease);
      assert.deepEqual(await catalog.publish(replacement, lease), first);
      assert.deepEqual(await ids(catalog), ["b"]);
    });

    test("[MC4] of two that replace the same segment one wins, and the other changes nothing", async (t) => {
      const { catalog } = await open(t);
      await catalog.publish({ add: [segment("a"), segment("b")], remove: [] }, lease);
      await catalog.publish({ add: [segment("x", { seq: 1 })], remove: ["a"] }, lease);
      const late = catalog.publish({ add: [segment("y", { seq: 1 })], remove: ["a", "b"] }, lease);
      await assert.rejects(late, { code: "not_found" });
      assert.deepEqual(await ids(catalog), ["b", "x"]);
    });

    test("[MC5] without the lease, or with an older claim, nothing is published", async (t) => {
      const { catalog, store } = await open(t);
      const old = { ...lease, epoch: 0 as LeaseEpoch };
      await assert.rejects(catalog.publish({ add: [segment("a")], remove: [] }, old), {
        code: "lease_lost",
      });
      const claim = await acquireClaim(store, { task: "compact", holder: "c1", claimMs: 0 });
      assert.ok(claim !== undefined);
      await catalog.publish({ add: [segment("b")], remove: [] }, lease, claim);
      await acquireClaim(store, { task: "compact", holder: "c2", claimMs: 1000 });
      await assert.rejects(catalog.publish({ add: [segment("c")], remove: [] }, lease, claim), {
        code: "lease_lost",
      });
      assert.deepEqual(await ids(catalog), ["b"]);
    });

    test("[MC6] a removed segment's row stays until its files are gone", async (t) => {
      const { catalog } = await open(t);
      await catalog.publish({ add: [segment("a"), segment("b")], remove: [] }, lease);
      await catalog.publish({ add: [], remove: ["a"] }, lease);
      assert.deepEqual(await ids(catalog), ["b"]);
      assert.deepEqual(await catalog.knownIds(), new Set(["a", "b"]));
      assert.deepEqual((await catalog.sweepable(600_000)).length, 0);
      assert.deepEqual(
        (await catalog.sweepable(0)).map(({ path }) => path),
        ["segments/a"],
      );
      await catalog.forget(["a", "b"], lease);
      assert.deepEqual([...(await catalog.knownIds())], ["b"]);
    });

    test("[MC7] it says what a line of heads has published, and who owns the head", async (t) => {
      const { catalog } = await open(t);
      const add = [segment("abc-1-x", { sealSeq: 4 }), segment("abd-1-x", { sealSeq: 9 })];
      await catalog.publish({ add, remove: [] }, lease);
      assert.equal(await catalog.publishedSealSeq("abc"), 4);
      assert.equal(await catalog.publishedSealSeq("abx"), 0);
      assert.equal(await catalog.head(), undefined);
      for (const incarnation of ["i1", "i2"]) {
        await catalog.setHead({ url: "http://127.0.0.1:1", incarnation }, lease);
        assert.deepEqual({ ...(await catalog.head()) }, { url: "http://127.0.0.1:1", incarnation });
      }
      const old = { ...lease, epoch: 0 as LeaseEpoch };
      await assert.rejects(catalog.setHead({ url: "", incarnation: "i3" }, old), {
        code: "lease_lost",
      });
    });

    test("[MC1] many segments at once", async (t) => {
      const { catalog } = await open(t);
      const add = Array.from({ length: 1200 }, (_, index) =>
        segment(`s${index}`, { shardCount: 2048, shard: index }),
      );
      await catalog.publish({ add, remove: [] }, lease);
      await catalog.publish(
        { add: [segment("one", { seq: 1 })], remove: add.map(({ segmentId }) => segmentId) },
        lease,
      );
      assert.deepEqual(await ids(catalog), ["one"]);
    });
  });

  describe("claims", () => {
    test("[MC8] one holder at a time, each with a higher fence", async (t) => {
      const { store } = await open(t);
      const ask = (holder: string, claimMs = 60_000) =>
        acquireClaim(store, { task: "compact", holder, claimMs });
      const first = await ask("a");
      assert.equal(first?.fence, 1);
      assert.equal(await ask("b"), undefined);
      assert.equal(await ask("a"), undefined, "not even the holder's other self");
      assert.ok(await renewClaim(store, first, 0));
      const second = await ask("b");
      assert.equal(second?.fence, 2);
      assert.equal(await renewClaim(store, first, 60_000), false);
      await releaseClaim(store, first);
      assert.equal(await ask("c"), undefined, "a stale release frees nothing");
      await releaseClaim(store, second as NonNullable<typeof second>);
      assert.equal((await ask("c"))?.fence, 3);
    });

    test("[MC8] of many at once one gets it", async (t) => {
      const { store } = await open(t);
      const asked = Array.from({ length: 10 }, (_, index) =>
        acquireClaim(store, { task: "compact", holder: `h${index}`, claimMs: 60_000 }),
      );
      assert.equal((await Promise.all(asked)).filter((claim) => claim !== undefined).length, 1);
    });
  });
}
