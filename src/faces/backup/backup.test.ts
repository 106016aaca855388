import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { crc32 } from "node:zlib";
import { LakeStore, LakeUpkeep, openLakeFiles, UpkeepLoop } from "../../data/lake/index.ts";
import type { Files } from "../../ground/kernel/files.ts";
import { silentLogger } from "../../ground/kernel/logger.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../ground/kernel/node/real-files.ts";
import { createPrng } from "../../ground/kernel/prng.ts";
import { withFlip } from "../../ground/kernel/testing/flip-bit.ts";
import { openStore, setupStore, storeTables } from "../../ground/store/index.ts";
import { encodeLogList } from "../../kinds/ask/metrics/fs/log-list.ts";
import { encodeFrames, encodeMark } from "../../kinds/ask/metrics/fs/wal-frames.ts";
import { readManifest } from "./manifest.ts";
import { runBackup } from "./run-backup.ts";
import { runRestore } from "./run-restore.ts";

const { signal } = new AbortController();
const parts = { files: realFiles, clock: realClock, prng: createPrng("backup"), version: "1.2.3" };

const logName = "1-1-000001.wal";
const records = encodeFrames([Buffer.from("a record"), Buffer.from("another")], 0);
/** The log's records with a mark that says that both are on the disk. */
const logBytes = Buffer.concat([records, encodeMark(records.length)]);

/** A store, and a lake with a table of one file. */
async function setUp(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "capstan-backup-test-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const config = {
    kind: "sqlite",
    path: join(root, "store.sqlite"),
    clock: realClock,
    logger: silentLogger,
  } as const;
  await setupStore(config);
  const store = await openStore(config);
  t.after(() => store.close());
  const lakeDir = join(root, "lake");
  const { objects } = await openLakeFiles(
    { kind: "directory", root: lakeDir },
    { clock: realClock },
  );
  const catalog = new LakeStore({ store, prng: createPrng(1) });
  let next = 0;
  const put = async (text: string) => {
    next += 1;
    const local = join(root, `file-${next}`);
    writeFileSync(local, text);
    const path = `main/t/${next}.parquet`;
    const { crc32: crc } = await objects.put(path, local);
    const counts = { recordCount: 1, sizeBytes: text.length, footerSize: 1 };
    return { path, crc32: crc, ...counts, columns: [], rowIds: "fresh" } as const;
  };
  const column = { name: "v", type: "BIGINT", nullable: true, defaultValue: undefined };
  const base = { author: "", message: "" };
  const created = await catalog.commit({
    ...base,
    readSnapshot: (await catalog.current()).snapshot,
    token: "create",
    changes: [
      {
        kind: "createTable",
        schema: "main",
        name: "t",
        columns: [column],
        files: [await put("one")],
        orReplace: false,
      },
    ],
  });
  const [tableId] = created.tableIds;
  assert.ok(tableId !== undefined);
  /** Replaces the table's file by another. */
  const replace = async (): Promise<void> => {
    const { snapshot } = await catalog.current();
    const { files } = await catalog.version(tableId, snapshot);
    const change = {
      kind: "changeRows",
      tableId,
      added: [await put("another")],
      deletes: [],
      ended: files.map(({ fileId }) => fileId),
      isCompaction: false,
    } as const;
    await catalog.commit({ ...base, readSnapshot: snapshot, token: `r${next}`, changes: [change] });
  };
  const metricsDir = lakeDir;
  mkdirSync(join(metricsDir, "wal"), { recursive: true });
  writeFileSync(join(metricsDir, "wal", logName), logBytes);
  const place = { name: logName, generation: 1, index: 1 };
  const listed = { ...place, bytes: undefined, hasGap: false, isNamed: false };
  const list = encodeLogList({ term: 1, lineage: "abcdefghijkl", files: [listed] });
  writeFileSync(join(metricsDir, "wal", "term-1"), list);
  writeFileSync(join(metricsDir, "wal", "lock"), "");
  const keptDirs = [lakeDir];
  return { root, config, store, objects, lakeDir, metricsDir, keptDirs, catalog, replace };
}

/** Runs one round of upkeep that deletes everything it may at once. */
async function tidy({ store, objects, catalog }: Awaited<ReturnType<typeof setUp>>) {
  const loop = new UpkeepLoop({
    upkeep: new LakeUpkeep({ store }),
    catalog,
    objects,
    manager: { run: () => assert.fail("nothing is merged") },
    lease: () => ({ epoch: 1 }),
    clock: realClock,
    prng: createPrng(2),
    logger: silentLogger,
    limits: { snapshotMsMax: 0, graceMs: 0, orphanMsMin: 0 },
  });
  return await loop.run();
}

test("[BU4] files that the backup's moment names stay while it is copied, and go afterwards", async (t) => {
  const world = await setUp(t);
  const { root, lakeDir, replace } = world;
  const target = join(root, "backup");
  const afterSnapshot = async (): Promise<void> => {
    await replace();
    await tidy(world);
    const { deleted, swept } = await tidy(world);
    assert.deepEqual([deleted, swept], [0, 0]);
    assert.ok(existsSync(join(lakeDir, "main", "t", "1.parquet")));
  };
  await runBackup(world, target, { ...parts, afterSnapshot }, signal);
  assert.equal(readFileSync(join(target, "lake", "main", "t", "1.parquet"), "utf8"), "one");
  assert.ok(!existsSync(join(target, "lake", "main", "t", "2.parquet")), "it came later");
  const { deleted } = await tidy(world);
  assert.equal(deleted, 1, "the hold ended with the backup");
});

test("[BU6] a backup is not written into what it copies, nor around it, by whatever name", async (t) => {
  const world = await setUp(t);
  const { root, lakeDir } = world;
  const dataDir = join(root, "data");
  const elsewhere = join(root, "elsewhere");
  mkdirSync(dataDir);
  symlinkSync(lakeDir, elsewhere);
  const source = { ...world, keptDirs: [dataDir, lakeDir] };
  for (const target of [
    lakeDir,
    join(lakeDir, "backups", "monday"),
    join(elsewhere, "monday"),
    join(dataDir, "monday"),
    root,
  ]) {
    await assert.rejects(
      runBackup(source, target, parts, signal),
      { code: "bad_request", message: /is no place for a backup/ },
      target,
    );
  }
  assert.ok(!existsSync(join(lakeDir, "backups")), "nothing is made there");
  await runBackup(source, join(root, "lake-backup"), parts, signal);
});

test("[BU1] a damaged file fails the backup by name, and there is no manifest", async (t) => {
  const world = await setUp(t);
  writeFileSync(join(world.lakeDir, "main", "t", "1.parquet"), "onf");
  const target = join(world.root, "backup");
  await assert.rejects(runBackup(world, target, parts, signal), {
    code: "data_corrupt",
    message: /main\/t\/1\.parquet/,
  });
  await assert.rejects(readManifest(realFiles, target), { code: "bad_request" });
  await assert.rejects(runBackup(world, target, parts, signal), { code: "already_exists" });
});

test("[BU1] a damaged log, or list of its files, fails the backup by name", async (t) => {
  const world = await setUp(t);
  for (const [attempt, name] of [logName, "term-1"].entries()) {
    const path = join(world.metricsDir, "wal", name);
    const target = join(world.root, `backup-${attempt}`);
    await withFlip(createPrng(attempt), [path], async () => {
      await assert.rejects(runBackup(world, target, parts, signal), {
        code: "store_corrupt",
        message: new RegExp(`the metrics log is damaged: ${name} at byte`),
      });
    });
    await assert.rejects(readManifest(realFiles, target), { code: "bad_request" });
  }
  await runBackup(world, join(world.root, "backup"), parts, signal);
});

test("[BU2] [BU3] rows and files are those of the backup, and each byte of it is verified first", async (t) => {
  const world = await setUp(t);
  const { root, store } = world;
  const backup = join(root, "backup");
  await runBackup(world, backup, parts, signal);
  const restored = join(root, "restored");
  mkdirSync(restored);
  const lake = { kind: "directory", root: join(restored, "lake") } as const;
  const { objects } = await openLakeFiles(lake, { clock: realClock });
  const config = { ...world.config, path: join(restored, "store.sqlite") };
  const target = { store: config, lake, objects, metricsDir: lake.root };
  const { files } = await readManifest(realFiles, backup);
  assert.ok(!files.some(({ path }) => path === "log/lock"));
  for (const { path, bytes } of files.filter((file) => file.bytes > 0)) {
    const place = join(backup, path);
    const sound = readFileSync(place);
    const rotten = Buffer.from(sound);
    rotten[bytes - 1] = (rotten[bytes - 1] ?? 0) ^ 1;
    writeFileSync(place, rotten);
    await assert.rejects(runRestore(backup, target, realFiles, signal), {
      code: "data_corrupt",
      message: new RegExp(path.replaceAll(".", "\\.")),
    });
    writeFileSync(place, sound);
  }
  assert.ok(!existsSync(config.path) && !existsSync(join(lake.root, "main")));
  await runRestore(backup, target, realFiles, signal);
  const copy = await openStore(config);
  t.after(() => copy.close());
  const rowsOf = (of: typeof store) =>
    of.read(async ({ db }) => [
      await db.selectFrom("ducklake_data_file").selectAll().execute(),
      await db.selectFrom("lake_file_checksums").selectAll().execute(),
      await db.selectFrom("ducklake_snapshot").selectAll().execute(),
    ]);
  assert.deepEqual(await rowsOf(copy), await rowsOf(store));
  assert.deepEqual(readFileSync(join(lake.root, "wal", logName)), logBytes);
  await assert.rejects(runRestore(backup, target, realFiles, signal), { code: "already_exists" });
});

/** A file system that records, in `open`, which paths a power loss would take (FP1, FP2). */
function watchedFiles(): { readonly files: Files; readonly open: Set<string> } {
  const open = new Set<string>();
  const files: Files = {
    ...realFiles,
    open: async (path, mode) => {
      if (mode !== "change") open.add(dirname(path));
      return await realFiles.open(path, mode);
    },
    copy: async (from, to, abort) => {
      for (const path of [to, dirname(to), dirname(dirname(to))]) open.add(path);
      await realFiles.copy(from, to, abort);
    },
    rename: async (from, to) => {
      open.add(dirname(to));
      await realFiles.rename(from, to);
    },
    sync: async (path) => {
      await realFiles.sync(path);
      open.delete(path);
    },
  };
  return { files, open };
}

test("[BU1] [BU3] a power loss takes nothing of a backup with a manifest, or of a store that was restored", async (t) => {
  const world = await setUp(t);
  const backup = join(world.root, "backup");
  const saved = watchedFiles();
  const files: Files = {
    ...saved.files,
    rename: async (from, to) => {
      const unsafe = [...saved.open].filter((path) => path !== dirname(to)); // Synced later.
      assert.deepEqual(unsafe, [], `before ${to} has its name`);
      await saved.files.rename(from, to);
    },
  };
  await runBackup(world, backup, { ...parts, files }, signal);
  assert.deepEqual([...saved.open], []);
  const restored = join(world.root, "restored");
  mkdirSync(restored);
  const lake = { kind: "directory", root: join(restored, "lake") } as const;
  const { objects } = await openLakeFiles(lake, { clock: realClock });
  const store = { ...world.config, path: join(restored, "store.sqlite") };
  const target = { store, lake, objects, metricsDir: lake.root };
  const loaded = watchedFiles();
  let renamed = 0;
  await runRestore(
    backup,
    target,
    {
      ...loaded.files,
      rename: async (from, to) => {
        renamed += 1;
        assert.deepEqual([...loaded.open], [], `before ${to} has its name`);
        await loaded.files.rename(from, to);
      },
    },
    signal,
  );
  assert.deepEqual([renamed, [...loaded.open]], [1, []]);
});

test("[BU5] a backup of an earlier version is migrated, one of a newer version refused", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "capstan-backup-test-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const backup = join(root, "backup");
  mkdirSync(join(backup, "store"), { recursive: true });
  const row = `${JSON.stringify({ key: "kept", value: "yes", scope: null, scope_id: null })}\n`;
  writeFileSync(join(backup, "store", "ducklake_metadata.jsonl"), row);
  const entry = { path: "store/ducklake_metadata.jsonl", bytes: row.length, crc32: crc32(row) };
  const write = (schemaVersion: number): void => {
    const manifest = { format: 1, createdAt: "", version: "1", schemaVersion, files: [entry] };
    const text = JSON.stringify(manifest);
    writeFileSync(join(backup, "manifest.json"), `${text}\n${crc32(text)}\n`);
  };
  const lake = { kind: "directory", root: join(root, "lake") } as const;
  const { objects } = await openLakeFiles(lake, { clock: realClock });
  const path = join(root, "store.sqlite");
  const store = { kind: "sqlite", path, clock: realClock, logger: silentLogger } as const;
  const target = { store, lake, objects, metricsDir: lake.root };
  write(9_999);
  await assert.rejects(runRestore(backup, target, realFiles, signal), { code: "schema_newer" });
  write(7);
  await runRestore(backup, target, realFiles, signal);
  const database = new DatabaseSync(path);
  assert.deepEqual(
    database
      .prepare("SELECT value FROM ducklake_metadata")
      .all()
      .map(({ value }) => value),
    ["yes"],
  );
  const versions = database.prepare("SELECT max(version) AS newest FROM schema_version").get();
  assert.ok(Number(versions?.newest) > 7);
  database.close();
});

test("[BU2] every table of the store has its place, after those that it refers to", () => {
  const order = storeTables();
  const at = (name: string): number => order.indexOf(name);
  assert.ok(order.length > 60 && new Set(order).size === order.length);
  for (const [table, other] of [
    ["workers", "worker_states"],
    ["dynamic_table_columns", "dynamic_table_sources"],
    ["refresh_subtasks", "refresh_claims"],
    ["test_results", "run_status"],
  ] as const) {
    assert.ok(at(other) >= 0 && at(other) < at(table), `${other} before ${table}`);
  }
});
