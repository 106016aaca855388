/**
 * Opens the lake of a data directory for streams of this process, beside whatever else uses it: the
 * store is shared by transactions, the files never change. DuckDB starts when rows are read first.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";
import { startEngine } from "../../../../data/duckdb/index.ts";
import {
  claimLake,
  decideLakePlaces,
  emptyStaging,
  LakeStore,
  openDownloadCache,
  openLakeFiles,
  showLakeLocation,
  type TableId,
  visibleColumns,
} from "../../../../data/lake/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { createSystemPrng } from "../../../../ground/kernel/node/system-random.ts";
import {
  decideMemory,
  decideMemoryBytes,
  machine,
  openDataDir,
} from "../../../../ground/process/index.ts";
import { openStore, parseStoreUrl, type Store } from "../../../../ground/store/index.ts";
import { DiskBudget, defaultDiskRatios } from "../../../../ground/work/index.ts";
import { type FilledTable, filledBySomebody, type LakeTable } from "../../language/core/index.ts";
import { lakeTableOf } from "../core/lake-types.ts";
import type { StreamLake } from "./stream-lake.ts";

export interface StreamLakeOptions {
  readonly dataDir: string;
  readonly store?: string;
  readonly lake?: string;
  /** The tables that another kind of work fills. */
  readonly readFilled?: FilledTables;
}

export type FilledTables = (store: Store) => Promise<ReadonlyMap<TableId, FilledTable>>;

export interface OpenedStreamLake {
  readonly lake: StreamLake;
  /** Throws unless store and lake belong together; what belongs to nobody is the store's then. */
  claim(): Promise<void>;
  /** Throws where the lake's upkeep would delete the files of a directory. */
  refuseInside(directory: string): void;
  /** The tables as they are now. */
  tables(): Promise<readonly LakeTable[]>;
  close(): Promise<void>;
}

/** The disk space for copies of remote files. */
const copyBytes = 10 * 1024 ** 3;
const connections = 2;

export async function openStreamLake(
  options: StreamLakeOptions,
  clock: Clock,
): Promise<OpenedStreamLake> {
  const dataDir = (): ReturnType<typeof openDataDir> => openDataDir(existing(options.dataDir));
  const location = parseStoreUrl(options.store ?? dataDir().storePath);
  const { tables } = decideLakePlaces(options, options.lake ?? dataDir().lakeDir);
  const prng = createSystemPrng();
  const parts = { clock, logger: silentLogger };
  const store = await openStore({ ...location, ...parts, prng: prng.fork("store") });
  const spoolDir = await mkdtemp(join(tmpdir(), "capstan-stream-"));
  const [copiesDir, stagingDir] = [join(spoolDir, "copies"), join(spoolDir, "staging")];
  const closers: (() => Promise<void> | void)[] = [
    () => rm(spoolDir, { recursive: true, force: true }),
    () => store.close(),
  ];
  const close = async (): Promise<void> => {
    for (const each of closers.splice(0).toReversed()) await each();
  };
  try {
    await emptyStaging(stagingDir);
    const ratios = { artifactFloorBytes: 0, ...defaultDiskRatios };
    const budget = new DiskBudget({ capacityBytes: copyBytes, ...ratios });
    const cache = await openDownloadCache({ dir: copiesDir, budget, ...parts });
    closers.push(() => cache.close());
    const files = await openLakeFiles(tables, { clock, cache });
    closers.push(() => files.close());
    const { cores, totalBytes } = machine();
    const memoryBytes = decideMemoryBytes("worker", { totalBytes, workers: 1 });
    const engine = await startEngine({
      memoryLimitBytes: decideMemory(memoryBytes, 0).engineBytes,
      treeLimitBytes: memoryBytes,
      threads: cores,
      spoolDir,
      readableDirs: [tables.kind === "directory" ? tables.root : copiesDir],
      connections,
      ...parts,
    });
    closers.push(() => engine.close());
    const catalog = new LakeStore({ store, prng: prng.fork("catalog") });
    const { readFilled = () => Promise.resolve(new Map<TableId, FilledTable>()) } = options;
    const own = { store, catalog, objects: files.objects, engine, spoolDir, stagingDir };
    const refuseWrite: StreamLake["refuseWrite"] = async ({ tableId, name }) => {
      const filled = (await readFilled(store)).get(tableId);
      if (filled !== undefined) throw filledBySomebody(name, filled);
    };
    const place = showLakeLocation(tables);
    const claim = { store, objects: files.objects, place, prng: prng.fork("lake-id") };
    return {
      lake: { ...own, refuseWrite, clock, prng: prng.fork("files") },
      claim: () => claimLake(claim),
      refuseInside: (directory) => {
        if (tables.kind === "directory") refuseInside(directory, tables.root);
      },
      tables: async () => {
        const [all, filled] = await Promise.all([catalog.tables(), readFilled(store)]);
        return all.map((table) =>
          lakeTableOf({ ...table, columns: visibleColumns(table) }, filled.get(table.tableId)),
        );
      },
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

function existing(path: string): string {
  if (existsSync(path)) return path;
  throw new OperatingError(
    "not_found",
    "never",
    `the statements use the lake, and there is no data directory ${path}`,
    {
      hint: "Say where it is with --data-dir, or name its --store and --lake. `capstan up` makes one.",
    },
  );
}

function refuseInside(directory: string, root: string): void {
  const way = relative(root, resolve(directory));
  if (way.startsWith("..") || isAbsolute(way)) return;
  throw new OperatingError(
    "bad_request",
    "never",
    `checkpoints cannot be kept in ${directory}: the lake in ${root} deletes files that it does not know`,
    { hint: "Name a directory with --checkpoint that is not in the lake's." },
  );
}
