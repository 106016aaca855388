/** The lake's files that a statement reads, brought within DuckDB's reach for as long as it runs. */
import { OperatingError } from "../../kernel/errors.ts";
import type { ChangeScan, LocalCopy, ObjectStore, TableVersion } from "../core/index.ts";
import { filesOf, type NeededFile } from "../duckdb/relation-sql.ts";

/** Fetched at a time: of a directory it costs nothing, and of S3 each is a request. */
const atOnceMax = 16;

export async function withFiles<T>(
  objects: ObjectStore,
  relations: readonly (TableVersion | ChangeScan)[],
  signal: AbortSignal,
  use: (localPaths: ReadonlyMap<string, string>) => Promise<T>,
): Promise<T> {
  const needed = new Map<string, NeededFile>();
  for (const file of relations.flatMap(filesOf)) needed.set(file.path, file);
  const copies: LocalCopy[] = [];
  try {
    const localPaths = new Map<string, string>();
    const waiting = [...needed.values()];
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
  }
}

async function fetch(
  objects: ObjectStore,
  { path, sizeBytes }: NeededFile,
  signal: AbortSignal,
): Promise<LocalCopy> {
  try {
    return await objects.fetch(path, sizeBytes, signal);
  } catch (thrown) {
    if (!(thrown instanceof OperatingError) || thrown.code !== "not_found") throw thrown;
    const hint = "it was deleted behind Capstan's back, or its snapshot has expired meanwhile";
    const message = `the lake's file ${path} is gone`;
    throw new OperatingError("not_found", "never", message, { hint, cause: thrown });
  }
}
