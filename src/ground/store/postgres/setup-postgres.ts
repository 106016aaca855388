/**
 * Migrates a Postgres store to the newest schema, one migration a transaction. Concurrent setups
 * take turns by an advisory lock, and each reads the version again once it has the lock.
 */
import type pg from "pg";
import { decideSchemaRefusal, type Migration, newestVersion } from "../setup/migrations.ts";

/** An arbitrary number: the letters "caps". */
const setupLock = 0x63617073;

/** Not in the schema's text, which SQLite uses too. */
const defineNowMs = `
  CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT
    LANGUAGE SQL VOLATILE PARALLEL SAFE
    AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'`;

/** 0 without a schema. */
export async function postgresSchemaVersion(client: pg.ClientBase): Promise<number> {
  const table = await client.query("SELECT to_regclass('schema_version') AS name");
  if (table.rows[0]?.name === null) return 0;
  const found = await client.query(
    "SELECT coalesce(max(version), 0) AS version FROM schema_version",
  );
  return found.rows[0]?.version;
}

/** Applies at most one migration. Undefined when nothing is left to do. */
export async function applyNextPostgresMigration(
  client: pg.ClientBase,
  migrations: readonly Migration[],
  place: string,
): Promise<Migration | undefined> {
  // READ COMMITTED, so that the version is read after the lock was granted.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [setupLock]);
    const version = await postgresSchemaVersion(client);
    const refusal = decideSchemaRefusal(version, newestVersion(migrations), place);
    if (refusal?.code === "schema_newer") throw refusal;
    const next = migrations[version];
    if (next !== undefined) {
      await client.query(defineNowMs);
      await client.query(next.text);
      await client.query(
        "INSERT INTO schema_version (version, applied_at_ms) VALUES ($1, now_ms())",
        [next.version],
      );
    }
    await client.query("COMMIT");
    return next;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined); // Or the disconnection does it.
    throw error;
  }
}
