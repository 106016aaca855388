/** What Postgres says of itself, asked in SQL. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ServerPoll, StatementFigures } from "../../core/target.ts";
import type { RunQuery } from "../session/pooled-target.ts";
import { figuresOfRows, noFigures, serverPoll } from "../session/server-answers.ts";

const hint =
  "shared_preload_libraries = 'pg_stat_statements', then CREATE EXTENSION pg_stat_statements";

/** Those who wait for a lock are in line; everybody else who is active runs. */
const pollSql = `
  SELECT current_database(),
         count(*) FILTER (WHERE state = 'active' AND wait_event_type IS DISTINCT FROM 'Lock'),
         count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock'),
         (SELECT json_build_object(
                   'connections', d.numbackends, 'commits', d.xact_commit, 'rollbacks', d.xact_rollback,
                   'blocks_read', d.blks_read, 'blocks_hit', d.blks_hit, 'deadlocks', d.deadlocks,
                   'temp_bytes', d.temp_bytes)
            FROM pg_stat_database AS d WHERE d.datname = current_database()),
         json_build_object(
           'idle', count(*) FILTER (WHERE state = 'idle'),
           'idle_in_transaction', count(*) FILTER (WHERE state LIKE 'idle in transaction%'),
           'max_connections', current_setting('max_connections')::int,
           'server_version', current_setting('server_version'))
    FROM pg_stat_activity
   WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;

export async function queryServerPoll(run: RunQuery): Promise<ServerPoll> {
  const [row = []] = await run(pollSql);
  const [name, running, queued, database, sessions] = row;
  const raw = { ...recordOf(database), ...recordOf(sessions) };
  return serverPoll(String(name), Number(running), Number(queued), raw);
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * Where the extension is, and what its column is called: it was `total_time` before version 1.8.
 */
const extensionSql = `
  SELECT format('%I.pg_stat_statements', n.nspname),
         (SELECT min(a.attname) FROM pg_attribute AS a
           WHERE a.attrelid = format('%I.pg_stat_statements', n.nspname)::regclass
             AND a.attname IN ('total_exec_time', 'total_time'))
    FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
   WHERE e.extname = 'pg_stat_statements'`;

export async function queryStatementFigures(run: RunQuery): Promise<StatementFigures[]> {
  const [row] = await run(extensionSql);
  if (row === undefined)
    throw noFigures("pg_stat_statements is not installed in the database", hint);
  const [relation, totalColumn] = row;
  const rows = await run(`
    SELECT query, sum(calls)::bigint, sum(${totalColumn})::float8, sum(rows)::bigint
      FROM ${relation} AS s JOIN pg_database AS d ON d.oid = s.dbid
     WHERE d.datname = current_database() AND query IS NOT NULL
       AND s.userid = (SELECT oid FROM pg_roles WHERE rolname = current_user)
     GROUP BY query`).catch((error: unknown) => {
    // Installed, but not among shared_preload_libraries.
    if (sqlStateOf(error) === "55000") throw noFigures("pg_stat_statements is not loaded", hint);
    throw error;
  });
  return figuresOfRows(rows);
}

function sqlStateOf(error: unknown): unknown {
  const cause = error instanceof OperatingError ? error.cause : undefined;
  return recordOf(cause).code;
}
