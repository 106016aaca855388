/** What the server says of itself, asked in SQL. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ServerPoll, StatementFigures } from "../../core/target.ts";
import type { RunQuery } from "../session/pooled-target.ts";
import { figuresOfRows, noFigures, serverPoll } from "../session/server-answers.ts";

const hint =
  "performance_schema=ON in the server's configuration, and SELECT on performance_schema for the user";

const statusSql = `
  SHOW GLOBAL STATUS WHERE Variable_name IN (
    'Threads_running', 'Threads_connected', 'Innodb_row_lock_current_waits', 'Innodb_row_lock_waits',
    'Innodb_row_lock_time', 'Innodb_deadlocks', 'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests',
    'Questions', 'Com_commit', 'Com_rollback', 'Slow_queries', 'Aborted_connects', 'Max_used_connections')`;

/**
 * Those who wait for a row's lock are in line; the other threads run, but for the one that asks.
 */
export async function queryServerPoll(run: RunQuery): Promise<ServerPoll> {
  const [[name, version, connectionsMax] = []] = await run(
    "SELECT DATABASE(), VERSION(), @@max_connections",
  );
  const status = new Map(
    (await run(statusSql)).map(([variable, value]) => [String(variable), Number(value)]),
  );
  const queued = status.get("Innodb_row_lock_current_waits") ?? 0;
  const running = (status.get("Threads_running") ?? 1) - 1 - queued;
  return serverPoll(String(name), Math.max(0, running), queued, {
    ...Object.fromEntries([...status].map(([key, value]) => [key.toLowerCase(), value])),
    max_connections: connectionsMax,
    server_version: version,
  });
}

/**
 * What goes as text is in the digests; executions of prepared statements are not: MySQL counts them
 * with the statement, as long as its connection lives. Timers are in picoseconds.
 */
const figuresSql = `
  SELECT text, SUM(calls), SUM(picoseconds) / 1e9, SUM(row_count)
    FROM (SELECT DIGEST_TEXT AS text, COUNT_STAR AS calls, SUM_TIMER_WAIT AS picoseconds,
                 SUM_ROWS_SENT + SUM_ROWS_AFFECTED AS row_count
            FROM performance_schema.events_statements_summary_by_digest
           WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT IS NOT NULL
           UNION ALL
          SELECT p.SQL_TEXT, p.COUNT_EXECUTE, p.SUM_TIMER_EXECUTE, p.SUM_ROWS_SENT + p.SUM_ROWS_AFFECTED
            FROM performance_schema.prepared_statements_instances AS p
            JOIN performance_schema.threads AS t ON t.THREAD_ID = p.OWNER_THREAD_ID
           WHERE t.PROCESSLIST_DB = DATABASE()) AS figures
   WHERE calls > 0
   GROUP BY text`;

/**
 * MariaDB (10.11) does not count executions with their statements, only all of them, of the whole
 * server.
 */
const executionsSql = `
  SELECT COUNT_STAR, SUM_TIMER_WAIT / 1e9, SUM_ROWS_SENT + SUM_ROWS_AFFECTED
    FROM performance_schema.events_statements_summary_global_by_event_name
   WHERE EVENT_NAME = 'statement/com/Execute' AND COUNT_STAR > 0
     AND NOT EXISTS (SELECT 1 FROM performance_schema.prepared_statements_instances WHERE COUNT_EXECUTE > 0)`;

/** The text of that figure. */
const allPrepared = "(all prepared statements)";

export async function queryStatementFigures(run: RunQuery): Promise<StatementFigures[]> {
  const [[isOn] = []] = await run("SELECT @@performance_schema");
  if (Number(isOn) !== 1) throw noFigures("performance_schema is off", hint);
  const read = async () => [
    ...(await run(figuresSql)),
    ...(await run(executionsSql)).map((row) => [allPrepared, ...row]),
  ];
  const rows = await read().catch((error: unknown) => {
    if (error instanceof OperatingError && error.code === "target_refused") {
      throw noFigures("we may not read performance_schema", hint);
    }
    throw error;
  });
  return figuresOfRows(rows);
}
