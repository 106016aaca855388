/**
 * Makes sure that store and lake belong together (LK17). Upkeep deletes files that no row names, so
 * a lost, emptied or mixed-up store must never be connected to a lake that has files. Both sides
 * keep the same random text: the store in a row, the lake and the metrics' directory in a file.
 *
 * A text without a checksum, as earlier versions wrote it, counts as damaged if it differs from the
 * store's in a few characters, because two random ones differ in most.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Files } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import type { Store, Tx } from "../../../ground/store/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { openDirectoryStore } from "../objects/directory-store.ts";
import { showCrc32 } from "../objects/file-verifier.ts";

export interface LakeClaim {
  readonly store: Store;
  readonly objects: ObjectStore;
  /** The lake's location, for messages. */
  readonly place: string;
  /** Absent for who has only to do with tables. */
  readonly metricsDir?: string;
  readonly prng: Prng;
  readonly files?: Files;
}

/** Beside the tables' folder, and beside the segments' folder. */
export const lakeIdFile = "lake-id";
/** The folders of tables' and of metrics' files. */
const tablesPrefix = "main/";
const segmentsPrefix = "segments/";

/** Throws unless the lake is this store's or nobody's yet. Writes the row before the files. */
export async function claimLake(claim: LakeClaim): Promise<void> {
  const { store, objects, place, metricsDir, prng } = claim;
  const known = await store.read(readKnown);
  const sides = [{ objects, place, prefix: tablesPrefix, knowsFiles: known.hasTables }];
  if (metricsDir !== undefined) {
    const metrics = await openDirectoryStore(metricsDir, claim.files ?? realFiles);
    const knowsFiles = known.hasSegments;
    sides.push({ objects: metrics, place: metricsDir, prefix: segmentsPrefix, knowsFiles });
  }
  const texts = await Promise.all(sides.map((side) => readText(side.objects)));
  for (const [at, side] of sides.entries()) {
    const text = texts[at] ?? damagedText;
    if (text.kind === "damaged" || isAlmost(text, known.lakeId)) throw damagedId(side.place);
    const isOther = text.kind === "there" && text.lakeId !== known.lakeId;
    const isLost = text.kind === "absent" && !side.knowsFiles && (await hasFiles(side));
    if (isOther || isLost) throw notOurs(side.place, known.lakeId === undefined);
  }
  const lakeId = known.lakeId ?? (await keepId(store, randomText(prng, idLength)));
  for (const [at, side] of sides.entries()) {
    const text = texts[at];
    const isWhole = text?.kind === "there" && text.isChecked;
    if (!isWhole) await writeText(side.objects, lakeId);
  }
}

type LakeText =
  | { readonly kind: "absent" | "damaged" }
  | { readonly kind: "there"; readonly lakeId: string; readonly isChecked: boolean };

const damagedText: LakeText = { kind: "damaged" };
const idLength = 26;
const textPattern = /^([0-9a-z]{26})(?: ([0-9a-f]{8}))?\n$/;
/** Two random texts differ in this few characters about once in 10^32 pairs. */
const damagedCharsMax = 3;
const textBytesMax = 1024;

function encodeText(lakeId: string): string {
  return `${lakeId} ${showCrc32(crc32(lakeId))}\n`;
}

function decodeText(bytes: Buffer): LakeText {
  const [, lakeId, checksum] = textPattern.exec(bytes.toString("latin1")) ?? [];
  if (lakeId === undefined) return damagedText;
  if (checksum === undefined) return { kind: "there", lakeId, isChecked: false };
  return checksum === showCrc32(crc32(lakeId))
    ? { kind: "there", lakeId, isChecked: true }
    : damagedText;
}

/** Whether a text without a checksum is a damaged copy of the store's. */
function isAlmost(text: LakeText, known: string | undefined): boolean {
  if (text.kind !== "there" || text.isChecked || known === undefined) return false;
  const differing = [...text.lakeId].filter((char, at) => char !== known[at]).length;
  return differing > 0 && differing <= damagedCharsMax;
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

/** Of several processes that start at once, one sets it. */
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

async function readText(objects: ObjectStore): Promise<LakeText> {
  const info = await objects.stat(lakeIdFile);
  if (info === undefined) return { kind: "absent" };
  if (info.sizeBytes > textBytesMax) return damagedText;
  try {
    const stored = await objects.checksum(lakeIdFile); // Bypasses the cache.
    if (stored === undefined) return { kind: "absent" };
    const file = { path: lakeIdFile, sizeBytes: info.sizeBytes, crc32: stored };
    const copy = await objects.fetch(file);
    try {
      return decodeText(await realFiles.read(copy.localPath));
    } finally {
      copy.release();
    }
  } catch (thrown) {
    if (thrown instanceof OperatingError && thrown.code === "data_corrupt") return damagedText;
    throw thrown;
  }
}

async function writeText(objects: ObjectStore, lakeId: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "capstan-lake-id-"));
  try {
    const file = join(folder, lakeIdFile);
    await writeFile(file, encodeText(lakeId));
    await objects.put(lakeIdFile, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function damagedId(place: string): OperatingError {
  const message = `the file ${lakeIdFile} of ${place}, which says whose lake it is, is damaged`;
  return new OperatingError("data_corrupt", "never", message, {
    hint: `Nothing was changed. If --store is the store of this lake, delete the file ${lakeIdFile} and start again: a store that knows the lake's files writes it anew, and any other one refuses the lake.`,
  });
}

function notOurs(place: string, isNewStore: boolean): OperatingError {
  const message = isNewStore
    ? `${place} has tables or metrics, and this store has never seen them: theirs is gone, or it is another one`
    : `the lake at ${place} belongs to another store`;
  return new OperatingError("data_dir_unusable", "never", message, { hint: lostStoreHint });
}

export const lostStoreHint =
  "Nothing was changed. Put the store back that belongs to it (--store, or `capstan restore` from a backup), or name another place with --lake and --metrics-dir.";
