/** A store that is lost, emptied or mixed up is never put in front of a lake that has files. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createPrng } from "../../kernel/prng.ts";
import { createSharedSqlite, openSimStore, type Store } from "../../store/index.ts";
import { openDirectoryStore } from "../objects/directory-store.ts";
import { claimLake, lakeIdFile } from "./lake-identity.ts";
import { LakeStore } from "./lake-store.ts";

let seeds = 0;

function place(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "capstan-identity-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const [lake, metricsDir] = [join(root, "lake"), join(root, "metrics")];
  const put = (...path: string[]): void => {
    const file = join(root, ...path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, "x");
  };
  const newStore = (): Store => {
    const store = openSimStore({ database: createSharedSqlite(() => 1_000) });
    t.after(() => store.close());
    return store;
  };
  const claim = async (store: Store): Promise<void> => {
    seeds += 1;
    const objects = await openDirectoryStore(lake);
    await claimLake({ store, objects, place: lake, metricsDir, prng: createPrng(seeds) });
  };
  const idOf = (side: string): string => readFileSync(join(root, side, lakeIdFile), "utf8");
  return { put, newStore, claim, idOf };
}

const refusal = { code: "data_dir_unusable", retry: "never", hint: /capstan restore/ };

test("[LK17] a new lake gets its store's text on both sides, and is opened again by it", async (t) => {
  const { newStore, claim, idOf } = place(t);
  const store = newStore();
  await Promise.all([claim(store), claim(store)]);
  await claim(store);
  assert.equal(idOf("lake"), idOf("metrics"));
  assert.match(idOf("lake"), /^[0-9a-z]{26}\n$/);
});

test("[LK17] a lake of another store is refused, with files or without", async (t) => {
  const { newStore, claim, idOf } = place(t);
  await claim(newStore());
  const before = idOf("lake");
  await assert.rejects(claim(newStore()), refusal);
  assert.equal(idOf("lake"), before, "nothing changes");
});

for (const [what, file] of [
  ["tables", ["lake", "main", "orders", "a.parquet"]],
  ["segments", ["metrics", "segments", "s1", "samples.parquet"]],
] as const) {
  test(`[LK17] an earlier version's ${what} are refused by a store that never saw any`, async (t) => {
    const { put, newStore, claim, idOf } = place(t);
    put(...file);
    await assert.rejects(claim(newStore()), refusal);
    assert.throws(() => idOf("lake"), "nothing is written");
  });
}

test("[LK17] an earlier version's lake is taken over by the store that knows its tables", async (t) => {
  const { put, newStore, claim, idOf } = place(t);
  put("lake", "main", "orders", "a.parquet");
  const store = newStore();
  const catalog = new LakeStore({ store, prng: createPrng(1) });
  const column = { name: "v", type: "BIGINT", nullable: true, defaultValue: undefined };
  const create = { kind: "createTable", schema: "main", orReplace: false, files: [] } as const;
  const { snapshot: readSnapshot } = await catalog.current();
  const changes = [{ ...create, name: "orders", columns: [column] }];
  await catalog.commit({ readSnapshot, token: "t", changes, author: "", message: "" });
  await claim(store);
  assert.equal(idOf("lake"), idOf("metrics"));
});
