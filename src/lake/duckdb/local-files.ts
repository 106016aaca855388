/** The lake's files that a statement reads, brought within DuckDB's reach for as long as it runs. */
import { OperatingError } from "../../kernel/errors.ts";
import type {
  ChangeScan,
  LocalCopy,
  NeededFile,
  ObjectStore,
  TableVersion,
} from "../core/index.ts";
import { filesOf } from "./relation-sql.ts";

/** Fetched at a time: of a directory it costs nothing, and of S3 each is a request. */
const atOnceMax = 16;

export interface OwnedFile extends NeededFile {
  /** What it is part of, for people: a file that is lost is an error of that alone. */
  readonly owner: string;
}

export async function withFiles<T>(
  objects: ObjectStore,
  relations: readonly (TableVersion | ChangeScan)[],
  signal: AbortSignal,
  use: (localPaths: ReadonlyMap<string, string>) => Promise<T>,
): Promise<T> {
  const needed = new Map<string, OwnedFile>();
  for (const relation of relations) {
    const { schema, name } = "table" in relation ? relation.table : relation.after;
    const owner = `table ${schema}.${name}`;
    for (const file of filesOf(relation)) needed.set(file.path, { ...file, owner });
  }
  return await withLocalFiles(objects, [...needed.values()], signal, use);
}

/** Room for all of them is had before the first is fetched. */
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
    return await use(localPaths);
  } finally {
    for (const copy of copies) copy.release();
    reserved.release();
  }
}

async function fetch(
  objects: ObjectStore,
  { path, sizeBytes, owner }: OwnedFile,
  signal: AbortSignal,
): Promise<LocalCopy> {
  try {
    return await objects.fetch(path, sizeBytes, signal);
  } catch (thrown) {
    const isLost =
      thrown instanceof OperatingError &&
      (thrown.code === "not_found" || thrown.code === "store_corrupt");
    if (!isLost) throw thrown;
    // A worker's error travels as its message alone.
    const why = thrown.hint === undefined ? "" : `. ${thrown.hint}`;
    const message = `${owner} cannot be read: ${thrown.message}${why}`;
    throw new OperatingError("store_corrupt", "never", message, { cause: thrown });
  }
}
