/** Opens what only a process with a store has: the lake, its tables, and statements on them. */
import { join } from "node:path";
import type { ObjectStore } from "../data/lake/index.ts";
import {
  claimLake,
  LakeStatements,
  LakeStore,
  openDownloadCache,
  openLakeFiles,
  openUploads,
  showLakeLocation,
} from "../data/lake/index.ts";
import type { ControllerContext, ControllerPart, CoordinatorContext } from "../data/parts/index.ts";
import { createQueriesPort, StatementRouter } from "../data/statements/index.ts";
import type { Part } from "../ground/process/index.ts";
import { closing } from "../ground/process/index.ts";
import type { Store } from "../ground/store/index.ts";
import { DiskBudget, defaultDiskRatios } from "../ground/work/index.ts";
import type { ControllerOptions } from "./options.ts";

/** The size limit of local copies of S3 files (records of load tests) that DuckDB reads here. */
const copiesBytesMax = 2 * 1024 ** 3;

export function copiesDirOf(ownDir: string): string {
  return join(ownDir, "downloads");
}

export async function openTables(
  context: ControllerContext,
  options: ControllerOptions,
  store: Store,
): Promise<{ readonly context: CoordinatorContext; readonly parts: readonly Part[] }> {
  const { objects, part } = await openObjects(context);
  const uploads = await openUploadsHere(context);
  const catalog = new LakeStore({ store, prng: context.prng.fork("lake") });
  if (context.role === "coordinator") await claimOwnLake(context, store, objects, catalog);
  const storeUrl = options.store ?? context.dataDir.storePath;
  const lake = { store, storeUrl, catalog, objects, uploads };
  return {
    context: { ...context, ...lake, ...createStatements(context, lake) },
    parts: [part, closing("uploads", 1_000, () => uploads.close())],
  };
}

type LakeParts = Pick<CoordinatorContext, "store" | "catalog" | "objects" | "uploads">;

function createStatements(context: ControllerContext, lake: LakeParts) {
  const { engine, node, leadership, clock, logger, prng, tracing } = context;
  const { manager } = node;
  const lakeStatements = new LakeStatements({
    ...lake,
    engine,
    manager,
    clock,
    prng: prng.fork("statements"),
    logger,
  });
  const statements = new StatementRouter({ clock, prng: prng.fork("query-ids") });
  statements.register(lakeStatements);
  const checkLeads = (): Promise<void> => leadership.check();
  const queries = createQueriesPort({ manager, statements, tracing, checkLeads });
  return { lakeStatements, statements, queries };
}

/**
 * Registers the statements, relations and guards of every part before the first statement arrives.
 */
export function registerParts(
  { statements, lakeStatements }: CoordinatorContext,
  parts: readonly ControllerPart[],
): readonly ControllerPart[] {
  for (const part of parts) {
    lakeStatements.join(part);
    if (part.statements !== undefined) statements.register(part.statements);
  }
  return parts;
}

async function openObjects({ places, ownDir, clock, logger }: ControllerContext) {
  const capacityBytes = copiesBytesMax;
  const budget = new DiskBudget({ capacityBytes, artifactFloorBytes: 0, ...defaultDiskRatios });
  const copies =
    places.tables.kind === "directory"
      ? undefined
      : await openDownloadCache({ dir: copiesDirOf(ownDir), budget, clock, logger });
  const lake = await openLakeFiles(places.tables, { clock, ...(copies && { cache: copies }) });
  const part = closing("lake", 1_000, async () => {
    lake.close();
    await copies?.close();
  });
  return { objects: lake.objects, part };
}

async function openUploadsHere({ ownDir, clock, prng, limits }: ControllerContext) {
  return await openUploads({
    dir: join(ownDir, "uploads"),
    clock,
    prng: prng.fork("uploads"),
    uploadsMax: limits.uploads,
    bytesMax: limits.upload_bytes,
    idleMsMax: limits.upload_idle_seconds * 1_000,
  });
}

async function claimOwnLake(
  { places, prng }: ControllerContext,
  store: Store,
  objects: ObjectStore,
  catalog: LakeStore,
): Promise<void> {
  const { metricsDir } = places;
  const place = showLakeLocation(places.tables);
  await claimLake({ store, objects, place, metricsDir, prng: prng.fork("lake-id") });
  await catalog.declareDataPath(place);
}
