/**
 * Migrates a SQLite store to the newest schema, one migration a transaction. Concurrent setups take
 * turns by the write lock, and each reads the version again once it has the lock.
 */
import type { Migration } from "../setup/migrations.ts";
import { decideSchemaRefusal, newestVersion } from "../setup/migrations.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/** 0 without a schema. */
export function sqliteSchemaVersion(connection: SqliteConnection): number {
  const tables = connection.rows("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'");
  if (tables.length === 0) return 0;
  const rows = connection.rows("SELECT coalesce(max(version), 0) AS version FROM schema_version");
  return rows[0]?.version as number;
}

/** Applies at most one migration. Undefined when nothing is left to do. */
export function applyNextSqliteMigration(
  connection: SqliteConnection,
  migrations: readonly Migration[],
): Migration | undefined {
  connection.begin("write");
  try {
    const version = sqliteSchemaVersion(connection);
    const refusal = decideSchemaRefusal(version, newestVersion(migrations), connection.path);
    if (refusal?.code === "schema_newer") throw refusal;
    const next = migrations[version];
    if (next !== undefined) {
      connection.exec(next.text);
      connection.exec(
        `INSERT INTO schema_version (version, applied_at_ms) VALUES (${next.version}, now_ms())`,
      );
    }
    connection.commit("write");
    return next;
  } catch (error) {
    connection.rollback();
    throw error;
  }
}
