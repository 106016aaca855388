/** What Snowflake says of its warehouse and its history, asked in SQL. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ExecutedQuery, HistoryWindow, ServerPoll } from "../../core/target.ts";
import type { RunQuery } from "../session/pooled-target.ts";
import { beginPaging, stepPaging } from "./page-history.ts";

export async function queryServerPoll(run: RunQuery, warehouse: string): Promise<ServerPoll> {
  const rows = await run(`SHOW WAREHOUSES LIKE '${warehouse.replaceAll("'", "''")}'`);
  const found = rows
    .map(([row]) => row as Readonly<Record<string, unknown>>)
    // LIKE has wildcards.
    .find(({ name }) => String(name).toUpperCase() === warehouse.toUpperCase());
  if (found === undefined) {
    throw new OperatingError("not_found", "never", `there is no warehouse ${warehouse}`);
  }
  return {
    name: String(found.name),
    startedClusters: numberOf(found.started_clusters),
    running: numberOf(found.running),
    queued: numberOf(found.queued),
    minClusterCount: numberOf(found.min_cluster_count),
    maxClusterCount: numberOf(found.max_cluster_count),
    scalingPolicy: typeof found.scaling_policy === "string" ? found.scaling_policy : null,
    raw: found,
  };
}

/** The most that the function gives. */
const pageLimit = 10_000;
const overlapMs = 1000;

/**
 * Bounds are milliseconds since 1970. Everybody's queries: whether a page was full must be known.
 */
const historySql = `
  SELECT QUERY_ID, QUERY_TAG, DATE_PART(EPOCH_MILLISECOND, START_TIME), DATE_PART(EPOCH_MILLISECOND, END_TIME),
         EXECUTION_STATUS, ERROR_CODE, WAREHOUSE_NAME, CLUSTER_NUMBER, TOTAL_ELAPSED_TIME, EXECUTION_TIME, COMPILATION_TIME,
         QUEUED_PROVISIONING_TIME + QUEUED_REPAIR_TIME + QUEUED_OVERLOAD_TIME, ROWS_PRODUCED, BYTES_SCANNED, QUERY_TEXT
    FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY(
           END_TIME_RANGE_START => TO_TIMESTAMP_LTZ(?, 3), END_TIME_RANGE_END => TO_TIMESTAMP_LTZ(?, 3),
           RESULT_LIMIT => ${pageLimit}))`;

export async function* readQueryHistory(
  run: RunQuery,
  window: HistoryWindow,
  tag: string,
): AsyncGenerator<readonly ExecutedQuery[]> {
  let paging = beginPaging(window, tag, { limit: pageLimit, overlapMs });
  while (paging.nextEndMs !== undefined) {
    const rows = await run(historySql, [window.startMs, paging.nextEndMs]);
    const [next, fresh] = stepPaging(paging, rows.map(parseRow));
    paging = next;
    if (fresh.length > 0) yield fresh.map(({ query }) => query);
  }
}

function parseRow(row: readonly unknown[]) {
  const [id, tag, startMs, endMs, status, errorCode, warehouse, cluster, ...figures] = row;
  const [elapsed, execution, compilation, queued, produced, scanned, text] = figures;
  const query: ExecutedQuery = {
    queryId: String(id),
    text: String(text ?? ""),
    startMs: Number(startMs),
    endMs: Number(endMs),
    status: String(status),
    errorCode: errorCode === null ? null : String(errorCode),
    warehouse: warehouse === null ? null : String(warehouse),
    clusterNumber: numberOf(cluster),
    totalElapsedMs: Number(elapsed ?? 0),
    executionMs: Number(execution ?? 0),
    compilationMs: Number(compilation ?? 0),
    queuedMs: Number(queued ?? 0),
    rowsProduced: numberOf(produced),
    bytesScanned: numberOf(scanned),
  };
  return { queryId: query.queryId, tag: String(tag ?? ""), endMs: query.endMs, query };
}

function numberOf(value: unknown): number | null {
  const number = Number(value);
  return value === null || value === undefined || value === "" || !Number.isFinite(number)
    ? null
    : number;
}
