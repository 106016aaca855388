/** Makes the lake's files that a statement reads available to DuckDB while it runs. */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { LogFields } from "../../../ground/kernel/logger.ts";
import {
  type ChangeScan,
  type LocalCopy,
  MissingFile,
  type NeededFile,
  type ObjectStore,
  type TableVersion,
} from "../core/index.ts";
import { damaged, otherChecksum } from "../objects/object-errors.ts";
import { filesOf } from "./relation-sql.ts";

/** Concurrent fetches. They cost nothing in a directory, and a request each in S3. */
const atOnceMax = 16;

export interface OwnedFile extends NeededFile {
  /** What the file is part of, for messages: a lost file is an error of that alone. */
  readonly owner: string;
}

/** `fields` say who needs the files, for log lines. */
export async function withFiles<T>(
  objects: ObjectStore,
  relations: readonly (TableVersion | ChangeScan)[],
  signal: AbortSignal,
  use: (localPaths: ReadonlyMap<string, string>) => Promise<T>,
  fields: LogFields = {},
): Promise<T> {
  return await withLocalFiles(objects, neededFiles(relations, fields), signal, use);
}

/** The files of all relations, without duplicates. */
export function neededFiles(
  relations: readonly (TableVersion | ChangeScan)[],
  fields: LogFields,
): readonly OwnedFile[] {
  const needed = new Map<string, OwnedFile>();
  for (const relation of relations) {
    const { schema, name } = "table" in relation ? relation.table : relation.after;
    const owner = `table ${schema}.${name}`;
    for (const file of filesOf(relation)) needed.set(file.path, { ...file, owner, fields });
  }
  return [...needed.values()];
}

/** Reserves room for all files before the first is fetched. */
export async function withLocalFiles<T>(
  objects: ObjectStore,
  files: readonly OwnedFile[],
  signal: AbortSignal,
  use: (localPaths: ReadonlyMap<string, string>) => Promise<T>,
): Promise<T> {
  const reserved = await objects.reserve(files, signal);
  const copies: LocalCopy[] = [];
  try {
    const localPaths = new Map<string, string>();
    const waiting = [...files];
    const fetchNext = async (): Promise<void> => {
      for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
        const copy = await fetch(objects, file, signal);
        copies.push(copy);
        localPaths.set(file.path, copy.localPath);
      }
    };
    const fetching = await Promise.allSettled(Array.from({ length: atOnceMax }, fetchNext));
    const failed = fetching.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return await use(localPaths).catch(async (thrown: unknown) => {
      throw (await damageBehind(objects, files, thrown)) ?? thrown;
    });
  } finally {
    for (const copy of copies) copy.release();
    reserved.release();
  }
}

async function fetch(
  objects: ObjectStore,
  { owner, ...file }: OwnedFile,
  signal: AbortSignal,
): Promise<LocalCopy> {
  try {
    return await objects.fetch(file, signal);
  } catch (thrown) {
    const isLost =
      thrown instanceof OperatingError &&
      (thrown.code === "not_found" || thrown.code === "data_corrupt");
    if (!isLost) throw thrown;
    if (thrown.code === "data_corrupt") throw unreadable(owner, thrown);
    const { message } = unreadable(owner, thrown);
    throw new MissingFile(file.path, message, thrown);
  }
}

/** Puts the hint into the message, because a worker's error travels as its message alone. */
function unreadable(owner: string, cause: OperatingError): OperatingError {
  const why = cause.hint === undefined ? "" : `. ${cause.hint}`;
  const message = `${owner} cannot be read: ${cause.message}${why}`;
  return new OperatingError("data_corrupt", "never", message, { cause });
}

/** DuckDB's messages about unreadable Parquet files. A user's own error may say the same. */
const damageWords =
  /parquet|thrift|tprotocol|magic bytes|zstd|snappy|decompress|out of buffer|page header|column chunk|corrupted file|^Invalid Error: /i;

/**
 * Finds the file behind DuckDB's error: damaged since it was verified, or without a checksum. Files
 * are read again only if DuckDB's message suggests damage.
 */
async function damageBehind(
  objects: ObjectStore,
  files: readonly OwnedFile[],
  thrown: unknown,
): Promise<OperatingError | undefined> {
  const isFailure =
    thrown instanceof OperatingError &&
    (thrown.code === "bad_sql" || thrown.code === "query_failed") &&
    damageWords.test(thrown.message);
  if (!isFailure || objects.kind !== "directory") return undefined;
  for (const { path, crc32, owner } of files) {
    const found = crc32 === undefined ? undefined : await objects.checksum(path);
    if (crc32 !== undefined && found !== undefined && found !== crc32) {
      return unreadable(owner, otherChecksum(path, crc32, found));
    }
  }
  const unverified = files.filter(({ crc32 }) => crc32 === undefined);
  const [first] = unverified;
  if (first === undefined) return undefined;
  const names = unverified.slice(0, 3).map(({ path }) => path);
  const more =
    unverified.length > names.length ? ` or ${unverified.length - names.length} more` : "";
  return unreadable(first.owner, damaged(`${names.join(" or ")}${more}`, thrown.message));
}
