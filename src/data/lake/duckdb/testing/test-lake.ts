/** DuckDB restricted as on a worker, a directory store and a staging directory. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { assert } from "../../../../ground/kernel/errors.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { quoteText } from "../../../sql/core/index.ts";
import type { ObjectStore } from "../../core/index.ts";
import { openDirectoryStore } from "../../objects/directory-store.ts";
import { type LakeDuckDb, LakeWriter, type LakeWriterOptions } from "../lake-writer.ts";
import { emptyStaging } from "../staging.ts";

export interface TestLake {
  readonly root: string;
  readonly stagingDir: string;
  readonly duckdb: LakeDuckDb;
  readonly objects: ObjectStore;
  readonly writer: LakeWriter;
  /** Rows as texts. */
  rows(sql: string): Promise<readonly (readonly unknown[])[]>;
  writerOf(options: Pick<LakeWriterOptions, "fileBytes" | "movedFilesMin">): LakeWriter;
  close(): Promise<void>;
}

export const never: AbortSignal = new AbortController().signal;

/** `folder` is part of every path, to test names that are hard to quote. */
export async function openTestLake(folder = "lake"): Promise<TestLake> {
  const home = await mkdtemp(join(tmpdir(), "capstan-lake-"));
  const [root, stagingDir, tempDir] = [folder, "staging", "temp"].map((name) =>
    join(home, name),
  ) as [string, string, string];
  await emptyStaging(stagingDir);
  const objects = await openDirectoryStore(root);
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "2",
    temp_directory: tempDir,
  });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  await connection.run(
    `SET allowed_directories = [${[root, stagingDir].map((path) => quoteText(`${path}/`)).join(", ")}]`,
  );
  await connection.run("SET enable_external_access = false");
  await connection.run("SET lock_configuration = true");
  let isBusy = false;
  const duckdb: LakeDuckDb = {
    run: async (sql) => {
      assert(!isBusy, "one statement at a time");
      isBusy = true;
      try {
        return await rowsOf(connection, sql);
      } finally {
        isBusy = false;
      }
    },
  };
  const prng = createPrng(home);
  return {
    root,
    stagingDir,
    duckdb,
    objects,
    writer: new LakeWriter({ duckdb, objects, stagingDir, prng }),
    rows: (sql) => rowsOf(connection, sql),
    writerOf: (options) => new LakeWriter({ duckdb, objects, stagingDir, prng, ...options }),
    close: async () => {
      connection.disconnectSync();
      instance.closeSync();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function rowsOf(
  connection: DuckDBConnection,
  sql: string,
): Promise<readonly (readonly unknown[])[]> {
  try {
    return (await connection.runAndReadAll(sql)).getRowsJson();
  } catch (thrown) {
    throw new Error(`${String(thrown)}\n${sql}`, { cause: thrown });
  }
}
