import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { openStore, setupStore } from "../../../ground/store/index.ts";
import { startTestEngine } from "../../duckdb/testing/test-engine.ts";
import { plainBooleans, plainNumbers, plainTexts } from "../../parquet/core/index.ts";
import { checkLakeFiles } from "../check/check-lake-files.ts";
import type { LakeTable } from "../core/index.ts";
import { withFiles } from "../duckdb/local-files.ts";
import { tableSql } from "../duckdb/relation-sql.ts";
import { emptyStaging } from "../duckdb/staging.ts";
import { openDirectoryStore } from "../objects/directory-store.ts";
import { LakeStore } from "../store/lake-store.ts";
import { GroupFile } from "./group-file.ts";

const never = new AbortController().signal;
const nullable = { nullable: true, defaultValue: undefined };
const columns = [
  { name: "id", type: "UBIGINT", nullable: false, defaultValue: undefined },
  { name: "flag", type: "BOOLEAN", ...nullable },
  { name: "note", type: "VARCHAR", ...nullable },
  { name: "score", type: "FLOAT", ...nullable },
  { name: "later", type: "TIMESTAMP", ...nullable },
];

async function openLake(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), "capstan-groups-"));
  const [root, stagingDir] = [join(home, "lake"), join(home, "staging")];
  const parts = { clock: realClock, logger: silentLogger };
  const config = { kind: "sqlite", path: join(home, "db"), ...parts } as const;
  await setupStore(config);
  const store = await openStore(config);
  const objects = await openDirectoryStore(root);
  const { engine, close } = await startTestEngine({ readableDirs: [root] });
  t.after(async () => {
    await close();
    await store.close();
    await rm(home, { recursive: true, force: true });
  });
  const prng = createPrng(home);
  const catalog = new LakeStore({ store, prng });
  await catalog.declareDataPath(root);
  await emptyStaging(stagingDir);
  const about = { author: "me", message: "" };
  await catalog.commit({
    ...about,
    readSnapshot: (await catalog.current()).snapshot,
    token: "create",
    changes: [
      { kind: "createTable", schema: "main", name: "t", columns, files: [], orReplace: false },
    ],
  });
  const [table] = await catalog.tables();
  assert.ok(table);
  const read = async (): Promise<readonly (readonly unknown[])[]> => {
    const version = await catalog.version(table.tableId, (await catalog.current()).snapshot);
    return await withFiles(objects, [version], never, (localPaths) =>
      engine.withSession([], never, (session) =>
        session.run(tableSql(version, { rowIds: false, localPaths }), never),
      ),
    );
  };
  const check = async () =>
    (await checkLakeFiles({ store, objects, engine, atOnce: 1 }, never)).findings;
  return { table, catalog, objects, stagingDir, prng, read, check, about };
}

function rowsOf(ids: readonly bigint[]) {
  const texts = ids.map((id) => new TextEncoder().encode(`n${id}`));
  const offsets = new Int32Array(ids.length + 1);
  for (const [at, { length }] of texts.entries())
    offsets[at + 1] = (offsets[at] as number) + length;
  const bytes = Uint8Array.from(texts.flatMap((text) => [...text]));
  const everySecond = new Uint8Array(ids.length).fill(0b0101_0101);
  return [
    plainNumbers(BigUint64Array.from(ids), undefined),
    plainBooleans(
      Uint8Array.from(ids, (id) => Number(id % 2n)),
      everySecond,
    ),
    plainTexts(offsets, bytes, everySecond),
    plainNumbers(Float32Array.from(ids, Number), undefined),
  ];
}

function create({ table, objects, stagingDir, prng }: Lake): GroupFile {
  const names = ["id", "flag", "note", "score"];
  return new GroupFile({ table: table as LakeTable, columns: names, objects, stagingDir, prng });
}

type Lake = Awaited<ReturnType<typeof openLake>>;

test("[LA4] row groups become one file, with what a commit wants to know of it", async (t) => {
  const lake = await openLake(t);
  const file = create(lake);
  await file.add(rowsOf([1n, 2n, 2n ** 64n - 1n]));
  await file.add(rowsOf([0n, 7n]));
  const added = await file.put();
  assert.deepEqual(
    [added.recordCount, added.columns.map(({ min, max, nullCount }) => [min, max, nullCount])],
    [
      5,
      [
        ["0", "18446744073709551615", 0],
        ["false", "true", 2],
        ["n0", "n18446744073709551615", 2],
        ["0", "18446744000000000000", 0],
        [undefined, undefined, 5],
      ],
    ],
  );
  await lake.catalog.commit({
    ...lake.about,
    readSnapshot: (await lake.catalog.current()).snapshot,
    token: "rows",
    changes: [
      {
        ...{ kind: "changeRows", tableId: lake.table.tableId, added: [added] },
        ...{ deletes: [], ended: [], isCompaction: false },
      },
    ],
  });
  assert.deepEqual(await lake.read(), [
    ["1", true, "n1", 1, null],
    ["2", null, null, 2, null],
    ["18446744073709551615", true, "n18446744073709551615", 18446744073709552000, null],
    ["0", false, "n0", 0, null],
    ["7", null, null, 7, null],
  ]);
  assert.deepEqual(await lake.check(), []);
  assert.deepEqual(await readdir(lake.stagingDir), []);
});

test("[LA5] a file that is discarded leaves nothing", async (t) => {
  const lake = await openLake(t);
  const file = create(lake);
  void file.add(rowsOf([1n]));
  await file.discard();
  assert.deepEqual(await readdir(lake.stagingDir), []);
});
