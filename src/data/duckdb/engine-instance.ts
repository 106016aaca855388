/** Creates DuckDB's instance with restricted resources and access, in the engine's process. */

import { DuckDBInstance } from "@duckdb/node-api";
import { makeInnerDirectory } from "../../ground/kernel/node/make-inner-directory.ts";
import { quoteText } from "../sql/core/index.ts";
import { columnsMetadataKey } from "./artifact-columns.ts";
import type { InstanceOptions } from "./engine-messages.ts";
import type { Lane } from "./statement-pool.ts";

export interface EngineInstance {
  readonly lanes: readonly Lane[];
  close(): void;
}

export async function openInstance(options: InstanceOptions): Promise<EngineInstance> {
  const { spoolDir, tempDir, connections } = options;
  for (const directory of [spoolDir, tempDir]) makeInnerDirectory(directory);
  const instance = await DuckDBInstance.create(":memory:", {
    memory_limit: mebibytes(options.memoryLimitBytes),
    threads: String(options.threads),
    temp_directory: tempDir,
    max_temp_directory_size: mebibytes(options.tempBytesMax),
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const opened = await Promise.all(Array.from({ length: connections }, () => instance.connect()));
  for (const [index, connection] of opened.entries()) {
    // A catalog per connection, so that statements do not see each other's relations.
    await connection.run(`ATTACH ':memory:' AS ${laneCatalog(index)}`);
    await connection.run(`USE ${laneCatalog(index)}`);
    await connection.run("SET errors_as_json = true");
    await connection.run("SET TimeZone = 'UTC'");
  }
  const [first] = opened;
  // Because of this optimizer DuckDB 1.5.6 fails with an internal error on a few statements that
  // refresh tables. It only makes some sorts and groups smaller.
  await first?.run("SET GLOBAL disabled_optimizers = 'compressed_materialization'");
  // A join with a few rows filters the file while it is read: 667 of 10 M positions are found in a
  // third of the time. With tens of thousands it is slower than the join itself.
  await first?.run("SET GLOBAL dynamic_or_filter_threshold = 2000");
  // The order matters: each of the last two forbids the settings before it.
  const dirs = [spoolDir, ...options.readableDirs].map((dir) => quoteText(`${dir}/`));
  await first?.run(`SET allowed_directories = [${dirs.join(", ")}]`);
  await first?.run("SET enable_external_access = false");
  await first?.run("SET lock_configuration = true");
  const lanes = await Promise.all(
    opened.map(async (connection, index): Promise<Lane> => {
      return {
        connection,
        catalog: laneCatalog(index),
        serializeSql: await connection.prepare("SELECT json_serialize_sql($1::VARCHAR)"),
        readColumns: await connection.prepare(
          `SELECT decode(value) FROM parquet_kv_metadata($1::VARCHAR) WHERE key = '${columnsMetadataKey}'::BLOB`,
        ),
      };
    }),
  );
  return {
    lanes,
    close: () => {
      for (const { connection, serializeSql, readColumns } of lanes) {
        serializeSql.destroySync();
        readColumns.destroySync();
        connection.disconnectSync();
      }
      instance.closeSync();
    },
  };
}

function laneCatalog(index: number): string {
  return `statement_${index}`;
}

function mebibytes(bytes: number): string {
  return `${Math.max(1, Math.floor(bytes / (1024 * 1024)))}MiB`;
}
