/** Runs of the past. Rules: RH1 to RH3. */
import { sql } from "kysely";
import type { LeaseGrant, Store } from "../../../ground/store/index.ts";
import type { LoadTables } from "../core/tables.ts";

export interface RunFilter {
  readonly search?: string;
  readonly statuses?: readonly string[];
  readonly templateId?: string;
  readonly loadMode?: string;
  readonly targetKind?: string;
  /** The range of creation times. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** The `next` of the page before. */
  readonly after?: string;
  readonly limit: number;
}

export type RunListEntry = LoadTables["test_results"];

export interface RunPage {
  readonly runs: readonly RunListEntry[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

export async function listRuns(store: Store, filter: RunFilter): Promise<RunPage> {
  const rows = await store.read(({ db }) => {
    let query = db.selectFrom("test_results").selectAll().where("worker_id", "is", null); // RH1
    const { search, statuses, templateId, loadMode, targetKind, fromMs, toMs, after } = filter;
    if (statuses !== undefined) query = query.where("status", "in", [...statuses, ""]);
    if (templateId !== undefined) query = query.where("template_id", "=", templateId);
    if (loadMode !== undefined) query = query.where("load_mode", "=", loadMode);
    if (targetKind !== undefined) query = query.where("target_kind", "=", targetKind);
    if (fromMs !== undefined) query = query.where("created_at_ms", ">=", fromMs);
    if (toMs !== undefined) query = query.where("created_at_ms", "<", toMs);
    if (search !== undefined && search !== "") {
      const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`; // RH2
      query = query.where(
        sql<boolean>`lower(test_name || ' ' || template_name || ' ' || table_name || ' ' || test_id) LIKE ${pattern} ESCAPE '\\'`,
      );
    }
    const cursor = parseCursor(after);
    if (cursor !== undefined) {
      query = query.where((is) =>
        is.or([
          is("created_at_ms", "<", cursor.createdAtMs),
          is.and([is("created_at_ms", "=", cursor.createdAtMs), is("test_id", "<", cursor.id)]),
        ]),
      );
    }
    return query
      .orderBy("created_at_ms", "desc")
      .orderBy("test_id", "desc")
      .limit(filter.limit + 1)
      .execute();
  });
  const runs = rows.slice(0, filter.limit);
  const last = runs.at(-1);
  const hasMore = rows.length > filter.limit && last !== undefined;
  return { runs, next: hasMore ? `${last.created_at_ms}_${last.test_id}` : undefined };
}

/** Finds at most `limit` old runs (RH3). */
export async function findOldRuns(
  store: Store,
  { ageMs, limit }: { readonly ageMs: number; readonly limit: number },
): Promise<readonly string[]> {
  const { rows } = await store.read(({ db }) =>
    sql<{ run_id: string }>`
      SELECT run_id
        FROM run_status
       WHERE ${isOld(ageMs)}
       ORDER BY created_at_ms
       LIMIT CAST(${limit} AS BIGINT)`.execute(db),
  );
  return rows.map(({ run_id: id }) => id);
}

/** Deletes those of `runIds` that are still old: one may have been started since (RH3). */
export async function deleteOldRuns(
  store: Store,
  { ageMs, runIds }: { readonly ageMs: number; readonly runIds: readonly string[] },
  lease: LeaseGrant,
): Promise<number> {
  if (runIds.length === 0) return 0;
  return await store.catalogTransaction(async ({ db }) => {
    const gone = await sql<{ run_id: string }>`
      DELETE FROM run_status
       WHERE run_id IN (${sql.join(runIds)})
         AND ${isOld(ageMs)}
      RETURNING run_id`.execute(db);
    return gone.rows.length;
  }, lease);
}

function isOld(ageMs: number) {
  return sql<boolean>`status IN ('PREPARED', 'COMPLETED', 'FAILED', 'CANCELLED')
         AND coalesce(end_time_ms, created_at_ms) <= now_ms() - CAST(${ageMs} AS BIGINT)`;
}

function parseCursor(text: string | undefined) {
  const [, createdAtMs, id] = /^(\d{1,15})_(.+)$/.exec(text ?? "") ?? [];
  return createdAtMs === undefined || id === undefined
    ? undefined
    : { createdAtMs: Number(createdAtMs), id };
}
