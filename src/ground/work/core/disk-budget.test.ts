import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DiskBudget, type DiskTenant, type Eviction } from "./disk-budget.ts";

/** 1,000 bytes, watermarks at 900 and 800, a floor of 300. */
function newBudget(): DiskBudget {
  return new DiskBudget({
    capacityBytes: 1_000,
    artifactFloorBytes: 300,
    highRatio: 0.9,
    lowRatio: 0.8,
  });
}

function admit(budget: DiskBudget, tenant: DiskTenant, name: string, sizeBytes: number): string[] {
  const admission = budget.admit(tenant, name, sizeBytes);
  assert.equal(admission.kind, "admitted", `${tenant}/${name} fits`);
  return admission.kind === "admitted" ? admission.evict.map(({ name }) => name) : [];
}

test("[QU30] what fits below the high watermark evicts nothing", () => {
  const budget = newBudget();
  assert.deepEqual(admit(budget, "artifacts", "a", 900), []);
  assert.deepEqual(budget.usage(), {
    usedBytes: 900,
    freeBytes: 0,
    byTenant: { decoded_columns: 0, parquet_cache: 0, artifacts: 900 },
  });
});

test("[QU31] eviction follows the order of the spec, one class after the other", () => {
  const budget = newBudget();
  admit(budget, "artifacts", "wanted-old", 100);
  admit(budget, "artifacts", "acked", 100);
  admit(budget, "artifacts", "expired", 100);
  admit(budget, "artifacts", "wanted-new", 100);
  admit(budget, "parquet_cache", "parquet", 100);
  admit(budget, "decoded_columns", "decoded", 100);
  budget.release("expired", "expired");
  budget.release("acked", "acked");
  const order: string[] = [];
  for (const name of ["x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"]) {
    order.push(...admit(budget, "artifacts", name, 150));
  }
  assert.deepEqual(order.slice(0, 6), [
    "decoded",
    "parquet",
    "acked",
    "expired",
    "wanted-old",
    "wanted-new",
  ]);
});

test("[QU31] within a cache the least recently used goes first", () => {
  const budget = newBudget();
  admit(budget, "parquet_cache", "first", 200);
  admit(budget, "parquet_cache", "second", 200);
  budget.touch("parquet_cache", "first");
  assert.deepEqual(admit(budget, "parquet_cache", "third", 300), ["second"]);
});

test("[QU32] caches go down to the low watermark, unacknowledged artifacts only as far as needed", () => {
  const budget = newBudget();
  for (const name of ["c1", "c2", "c3", "c4"]) admit(budget, "parquet_cache", name, 100);
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) admit(budget, "artifacts", name, 100);
  // 900 in use: one byte more would be above the high watermark, so 101 bytes are freed down to
  //     800.
  assert.deepEqual(admit(budget, "artifacts", "a6", 1), ["c1", "c2"]);
  const full = newBudget();
  for (const name of ["a1", "a2", "a3"]) admit(full, "artifacts", name, 300);
  assert.deepEqual(admit(full, "artifacts", "a4", 10), ["a1"], "one, not down to 800");
});

test("[QU33] a cache never displaces an artifact, nor a cache that yields after it", () => {
  const budget = newBudget();
  admit(budget, "artifacts", "acked", 500);
  budget.release("acked", "acked");
  admit(budget, "parquet_cache", "parquet", 300);
  assert.deepEqual(budget.admit("decoded_columns", "decoded", 200), {
    kind: "refused",
    roomBytesMax: 100,
  });
  assert.equal(budget.admit("parquet_cache", "large", 500).kind, "refused");
  assert.deepEqual(admit(budget, "parquet_cache", "fits", 400), ["parquet"]);
});

test("[QU33] caches leave the artifacts their floor", () => {
  const budget = newBudget();
  assert.equal(budget.admit("parquet_cache", "too large", 601).kind, "refused");
  assert.deepEqual(admit(budget, "parquet_cache", "cache", 600), []);
  assert.deepEqual(admit(budget, "artifacts", "within the floor", 300), []);
});

test("[QU34] what is pinned stays; when that leaves no room, nothing is evicted", () => {
  const budget = newBudget();
  admit(budget, "artifacts", "pinned", 500);
  admit(budget, "artifacts", "other", 300);
  assert.equal(budget.pin("artifacts", "pinned"), true);
  assert.deepEqual(budget.admit("artifacts", "large", 600), {
    kind: "refused",
    roomBytesMax: 400,
  });
  assert.equal(budget.has("artifacts", "other"), true);
  assert.deepEqual(admit(budget, "artifacts", "fits", 400), ["other"]);
  budget.unpin("artifacts", "pinned");
  assert.deepEqual(admit(budget, "artifacts", "now", 500), ["pinned"]);
  assert.equal(budget.pin("artifacts", "pinned"), false);
});

const ranks = ["decoded_columns", "parquet_cache", "acked", "expired", "wanted"];
function rankOf({ tenant, state }: Eviction): number {
  return ranks.indexOf(tenant === "artifacts" ? state : tenant);
}

test("[QU30] [QU31] [QU33] [QU34] whatever is done, the accounts are right", () => {
  const tenant = fc.constantFrom<DiskTenant>("decoded_columns", "parquet_cache", "artifacts");
  const operation = fc.oneof(
    fc.record({ kind: fc.constant("admit" as const), tenant, sizeBytes: fc.nat(400) }),
    fc.record({
      kind: fc.constantFrom(
        "remove" as const,
        "pin" as const,
        "touch" as const,
        "acked" as const,
        "expired" as const,
      ),
      pick: fc.nat(),
    }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      const budget = newBudget();
      const model = new Map<string, { tenant: DiskTenant; sizeBytes: number; pinned: boolean }>();
      for (const [index, step] of operations.entries()) {
        const keys = [...model.keys()];
        if (step.kind === "admit") {
          const name = String(index);
          const admission = budget.admit(step.tenant, name, step.sizeBytes);
          if (admission.kind === "admitted") {
            const order = admission.evict.map(rankOf);
            assert.deepEqual(order, order.toSorted(), "in the order of the spec");
            for (const evicted of admission.evict) {
              const key = `${evicted.tenant}/${evicted.name}`;
              assert.equal(model.get(key)?.pinned, false, "only what is there and not pinned");
              if (step.tenant !== "artifacts") assert.notEqual(evicted.tenant, "artifacts");
              model.delete(key);
            }
            const { tenant, sizeBytes } = step;
            model.set(`${tenant}/${name}`, { tenant, sizeBytes, pinned: false });
          } else {
            assert.ok(step.sizeBytes > admission.roomBytesMax);
          }
        } else {
          const key = keys[step.pick % Math.max(1, keys.length)];
          if (key === undefined) continue;
          const [ofTenant, name] = key.split("/") as [DiskTenant, string];
          const entry = model.get(key);
          if (step.kind === "remove") {
            budget.remove(ofTenant, name);
            model.delete(key);
          } else if (step.kind === "pin" && entry !== undefined) {
            budget.pin(ofTenant, name);
            entry.pinned = true;
          } else if (step.kind === "touch") {
            budget.touch(ofTenant, name);
          } else if (step.kind === "acked" || step.kind === "expired") {
            if (ofTenant === "artifacts") budget.release(name, step.kind);
          }
        }
        const { usedBytes, byTenant } = budget.usage();
        let modelBytes = 0;
        for (const { sizeBytes } of model.values()) modelBytes += sizeBytes;
        assert.equal(usedBytes, modelBytes);
        assert.ok(usedBytes <= 900, "the high watermark");
        const cacheBytes = byTenant.decoded_columns + byTenant.parquet_cache;
        assert.ok(cacheBytes <= 600, "the floor");
      }
    }),
  );
});
