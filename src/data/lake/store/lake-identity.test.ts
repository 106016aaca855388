/** A lost, emptied or mixed-up store is never connected to a lake that has files. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { createSharedSqlite, openSimStore, type Store } from "../../../ground/store/index.ts";
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
  const setId = (side: string, bytes: string | Buffer): void =>
    writeFileSync(join(root, side, lakeIdFile), bytes);
  const removeId = (side: string): void => rmSync(join(root, side, lakeIdFile));
  return { put, newStore, claim, idOf, setId, removeId };
}

const refusal = { code: "data_dir_unusable", retry: "never", hint: /capstan restore/ };

test("[LK17] a new lake gets its store's text on both sides, and is opened again by it", async (t) => {
  const { newStore, claim, idOf } = place(t);
  const store = newStore();
  await Promise.all([claim(store), claim(store)]);
  await claim(store);
  assert.equal(idOf("lake"), idOf("metrics"));
  assert.match(idOf("lake"), /^[0-9a-z]{26} [0-9a-f]{8}\n$/);
});

test("[LK17] a text without a checksum, as it was written first, is taken and gets one", async (t) => {
  const { newStore, claim, idOf, setId } = place(t);
  const store = newStore();
  await claim(store);
  const whole = idOf("lake");
  setId("lake", `${whole.slice(0, 26)}\n`);
  await claim(store);
  assert.equal(idOf("lake"), whole);
});

const damage = {
  code: "data_corrupt",
  retry: "never",
  message: /lake-id.* is damaged/,
  hint: /[Dd]elete the file lake-id/,
};
for (const side of ["lake", "metrics"]) {
  test(`[LK17] a bit that flips in the text of the ${side} is damage, and no other lake`, async (t) => {
    const { newStore, claim, idOf, setId } = place(t);
    const store = newStore();
    await claim(store);
    const sound = Buffer.from(idOf(side));
    const old = Buffer.from(`${idOf(side).slice(0, 26)}\n`);
    for (const text of [sound, old]) {
      for (let bit = 0; bit < text.length * 8; bit += 3) {
        const rotten = Buffer.from(text);
        rotten[bit >> 3] = (rotten[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        setId(side, rotten);
        await assert.rejects(claim(store), damage, `bit ${bit} of ${text.length} bytes`);
        assert.deepEqual(Buffer.from(idOf(side), "utf8"), Buffer.from(rotten.toString("utf8")));
      }
    }
    for (const text of ["", "x", sound.subarray(0, 20)]) {
      setId(side, text);
      await assert.rejects(claim(store), damage);
    }
    // A new store reports the first side that is not its own.
    await assert.rejects(claim(newStore()), side === "lake" ? damage : refusal);
    setId(side, sound);
    await claim(store);
  });
}

test("[LK17] a damaged text that was deleted, as the hint says, is written again", async (t) => {
  const { put, newStore, claim, idOf, setId, removeId } = place(t);
  const store = newStore();
  await claim(store);
  const sound = idOf("lake");
  setId("lake", "rotten");
  await assert.rejects(claim(store), damage);
  removeId("lake");
  await claim(store);
  assert.equal(idOf("lake"), sound);
  put("lake", "main", "orders", "a.parquet");
  removeId("lake");
  await assert.rejects(claim(newStore()), refusal, "but not for a store that knows no files");
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
