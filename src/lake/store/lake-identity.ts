/**
 * Whose lake it is. Files that no row names are nobody's, and upkeep deletes them; so a store that
 * was lost, emptied or mixed up with another must not be put in front of a lake that has files.
 * Both sides keep the same random text: the store in a row, the lake's directory or bucket and the
 * metrics' directory in a file.
 *
 *   LI1  A lake with the text of another store, or with files and a store that never had any, is
 *        refused, and nothing changes.
 *   LI2  A lake of an earlier version, without a text, gets one when its store knows its files.
 *   LI3  The store's row is written first: a crash in between is mended by the next start.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OperatingError } from "../../kernel/errors.ts";
import type { Files } from "../../kernel/files.ts";
import { realFiles } from "../../kernel/node/real-files.ts";
import { type Prng, randomText } from "../../kernel/prng.ts";
import type { Store, Tx } from "../../store/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { openDirectoryStore } from "../objects/directory-store.ts";

export interface LakeClaim {
  readonly store: Store;
  readonly objects: ObjectStore;
  /** For people. */
  readonly place: string;
  readonly metricsDir: string;
  readonly prng: Prng;
  readonly files?: Files;
}

/** Beside the tables' folder, and beside the segments'. */
export const lakeIdFile = "lake-id";
/** What has files of tables and of metrics. */
const tablesPrefix = "main/";
const segmentsPrefix = "segments/";

/** Throws unless the lake is this store's, or nobody's yet. */
export async function claimLake(claim: LakeClaim): Promise<void> {
  const { store, objects, place, metricsDir, prng } = claim;
  const metrics = await openDirectoryStore(metricsDir, claim.files ?? realFiles);
  const known = await store.read(readKnown);
  const sides = [
    { objects, place, prefix: tablesPrefix, knowsFiles: known.hasTables },
    { objects: metrics, place: metricsDir, prefix: segmentsPrefix, knowsFiles: known.hasSegments },
  ];
  const texts = await Promise.all(sides.map((side) => readText(side.objects)));
  for (const [at, side] of sides.entries()) {
    const text = texts[at];
    const isOther = text !== undefined && text !== known.lakeId;
    const isLost = text === undefined && !side.knowsFiles && (await hasFiles(side));
    if (isOther || isLost) throw notOurs(side.place, known.lakeId === undefined); // LI1
  }
  const lakeId = known.lakeId ?? (await keepId(store, randomText(prng, 26))); // LI3
  for (const [at, side] of sides.entries()) {
    if (texts[at] === undefined) await writeText(side.objects, lakeId); // LI2
  }
}

interface Known {
  readonly lakeId: string | undefined;
  /** Whether anything was ever committed to its tables. */
  readonly hasTables: boolean;
  readonly hasSegments: boolean;
}

async function readKnown({ db }: Tx): Promise<Known> {
  const own = await db.selectFrom("lake_identity").select("lake_id").executeTakeFirst();
  const newest = await db
    .selectFrom("ducklake_snapshot")
    .select((eb) => eb.fn.max("snapshot_id").as("snapshot_id"))
    .executeTakeFirstOrThrow();
  const metrics = await db.selectFrom("metric_catalog").select("version").executeTakeFirst();
  return {
    lakeId: own?.lake_id,
    hasTables: newest.snapshot_id > 0,
    hasSegments: (metrics?.version ?? 0) > 0,
  };
}

/** Of several processes that start at once, one gives it. */
async function keepId(store: Store, fresh: string): Promise<string> {
  return await store.catalogTransaction(async ({ db }) => {
    await db
      .insertInto("lake_identity")
      .values({ id: 1, lake_id: fresh })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    return (await db.selectFrom("lake_identity").select("lake_id").executeTakeFirstOrThrow())
      .lake_id;
  });
}

async function hasFiles(side: {
  readonly objects: ObjectStore;
  readonly prefix: string;
}): Promise<boolean> {
  for await (const _ of side.objects.list(side.prefix)) return true;
  return false;
}

async function readText(objects: ObjectStore): Promise<string | undefined> {
  const info = await objects.stat(lakeIdFile);
  if (info === undefined) return undefined;
  const copy = await objects.fetch({ path: lakeIdFile, sizeBytes: info.sizeBytes });
  try {
    return (await realFiles.read(copy.localPath)).toString("utf8").trim();
  } finally {
    copy.release();
  }
}

async function writeText(objects: ObjectStore, lakeId: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "capstan-lake-id-"));
  try {
    const file = join(folder, lakeIdFile);
    await writeFile(file, `${lakeId}\n`);
    await objects.put(lakeIdFile, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function notOurs(place: string, isNewStore: boolean): OperatingError {
  const message = isNewStore
    ? `${place} has tables or metrics, and this store has never seen them: theirs is gone, or it is another one`
    : `the lake at ${place} belongs to another store`;
  return new OperatingError("data_dir_unusable", "never", message, { hint: lostStoreHint });
}

export const lostStoreHint =
  "Nothing was changed. Put the store back that belongs to it (--store, or `capstan restore` from a backup), or name another place with --lake and --metrics-dir.";
