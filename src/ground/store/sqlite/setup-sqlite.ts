/**
 * Brings a SQLite store to the newest schema, one migration a transaction. Two processes that do it at once
 * take turns by the write lock, and each looks again at the version once it has the lock.
 */
import type { Migration } from "../setup/migrations.ts";
import { decideSchemaRefusal, newestVersion } from "../setup/migrations.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/** 0: there is no schema. */
export function sqliteSchemaVersion(connection: SqliteConnection): number {
  const tables = connection.rows("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'");
  if (tables.length === 0) return 0;
  const rows = connection.rows("SELECT coalesce(max(version), 0) AS version FROM schema_version");
  return rows[0]?.version as number;
}

/** Applies at most one migration. `undefined`: there is nothing left to do. */
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
