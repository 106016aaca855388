/** A data directory with a real store, a real lake and a real DuckDB, for tests of streams. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compactFiles } from "../../../../data/lake/duckdb/compact.ts";
import {
  checkLakeFiles,
  LakeStore,
  LakeUpkeep,
  LakeWriter,
  tableSql,
  withFiles,
} from "../../../../data/lake/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { assert } from "../../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { randomText } from "../../../../ground/kernel/prng.ts";
import { openDataDir } from "../../../../ground/process/index.ts";
import { setupStore } from "../../../../ground/store/index.ts";
import { type OpenedStreamLake, openStreamLake } from "../lake/open-stream-lake.ts";
import type { StreamLake } from "../lake/stream-lake.ts";

const never = new AbortController().signal;

export interface LakeWorld extends OpenedStreamLake {
  readonly home: string;
  readonly dataDir: string;
  /** Values of `SELECT … FROM t`, where `t` is the table as it is now. */
  ask(table: string, select: string): Promise<readonly (readonly unknown[])[]>;
  /** Adds rows as a statement of a person would. */
  insert(table: string, select: string): Promise<void>;
  /** Merges the files of a table and deletes the old ones, as the lake's upkeep does in hours. */
  merge(table: string): Promise<void>;
  /** What `capstan lake check` finds. */
  check(): Promise<readonly string[]>;
}

export async function openLakeWorld(clock: Clock = realClock): Promise<LakeWorld> {
  const home = await mkdtemp(join(tmpdir(), "capstan-stream-lake-"));
  const dataDir = join(home, "data");
  const path = openDataDir(dataDir).storePath;
  await setupStore({ kind: "sqlite", path, clock, logger: silentLogger });
  const opened = await openStreamLake({ dataDir }, clock);
  const { lake } = opened;
  await opened.claim();
  await new LakeStore({ store: lake.store, prng: lake.prng }).declareDataPath(
    join(dataDir, "lake"),
  );
  return {
    ...opened,
    home,
    dataDir,
    ask: async (table, select) => await ask(lake, table, select),
    insert: (table, select) => insert(lake, table, select),
    merge: (table) => merge(lake, table),
    check: async () => {
      const { store, objects } = lake;
      const engine = lake.engine;
      return (await checkLakeFiles({ store, objects, engine, atOnce: 1 }, never)).findings;
    },
    close: async () => {
      await opened.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function ask(
  { catalog, objects, engine }: StreamLake,
  name: string,
  select: string,
): Promise<readonly (readonly unknown[])[]> {
  const moment = { kind: "current" } as const;
  const versions = await catalog.resolve([{ schema: undefined, name, moment }]);
  return await withFiles(objects, versions, never, async (localPaths) => {
    const [version] = versions;
    if (version === undefined) return [];
    const rows = tableSql(version, { rowIds: false, localPaths });
    return await engine.withSession([], never, (session) =>
      session.run(`WITH t AS (${rows}) ${select}`, never),
    );
  });
}

async function insert(lake: StreamLake, name: string, select: string): Promise<void> {
  const { catalog, prng } = lake;
  const moment = { kind: "current" } as const;
  const [version] = await catalog.resolve([{ schema: undefined, name, moment }]);
  if (version === undefined) return;
  const { table, snapshot } = version;
  const added = await lake.engine.withSession([], never, (duckdb) =>
    new LakeWriter({ ...lake, duckdb }).writeRows({ select, table, rowIds: "fresh" }, never),
  );
  await catalog.commit({
    readSnapshot: snapshot,
    token: randomText(prng, 24),
    changes: [
      {
        ...{ kind: "changeRows", tableId: table.tableId, added, deletes: [], ended: [] },
        isCompaction: false,
      },
    ],
    author: "person",
    message: "insert",
  });
}

async function merge(lake: StreamLake, name: string): Promise<void> {
  const { catalog, engine, objects, store } = lake;
  const moment = { kind: "current" } as const;
  const [version] = await catalog.resolve([{ schema: undefined, name, moment }]);
  assert(version !== undefined, "a table that is resolved has a version");
  const files = version.files.map(({ fileId }) => fileId);
  const change = await engine.withSession([], never, (duckdb) => {
    const writer = new LakeWriter({ ...lake, duckdb });
    return compactFiles({ version, files }, { writer, objects }, never);
  });
  assert(change !== undefined, "there are files to merge");
  await catalog.commit({
    readSnapshot: version.snapshot,
    token: randomText(lake.prng, 24),
    changes: [change],
    author: "upkeep",
    message: "merge",
  });
  const { scheduled } = await new LakeUpkeep({ store }).facts();
  assert(scheduled.length >= files.length, "the merged file replaces the old ones everywhere");
  await objects.delete(scheduled.map(({ path }) => path));
  await new LakeUpkeep({ store }).forget(scheduled.map(({ fileId }) => fileId));
}
