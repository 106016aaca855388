/**
 * Subtasks as rows. Everything here runs in a catalog transaction; these are serial over all
 * processes. The schema ends subtasks with the claim of their refresh (ON DELETE CASCADE). Parts of
 * the most urgent refresh are given first, and those that the worker failed at before come last.
 * Rules: TP3, TP4, TP7.
 */
import { type RawBuilder, sql } from "kysely";
import type { CatalogTx, Tx } from "../../../ground/store/index.ts";
import type { ClaimRequest, RefreshFailure, SubtaskKey } from "../core/index.ts";
import type { ClaimSettings } from "./claim-settings.ts";
import type { HeldClaim } from "./end-refresh.ts";

type Wanted = NonNullable<ClaimRequest["subtasks"]>;

export interface GrantedSubtask {
  readonly refresh_token: number;
  readonly part: number;
  readonly token: number;
  readonly spec: string;
  readonly attempts: number;
}

/** The refreshes of which a worker may take parts. */
function isOffered(workerId: string, { ability, of }: Wanted): RawBuilder<unknown> {
  const isOwn = of === "own" ? sql`c.worker_id = ${workerId}` : sql`1 = 1`;
  return sql`s.ability = ${ability} AND ${isOwn}`;
}

/** Grants free subtasks with tokens of the claims' fence (TP3, TP4). */
export async function grantSubtasks(
  { db }: CatalogTx,
  { workerId, subtasks }: ClaimRequest,
  leaseMs: number,
): Promise<readonly GrantedSubtask[]> {
  if (subtasks === undefined || subtasks.limit === 0) return [];
  const free = await sql<{ refresh_token: number; part: number; fence: number }>`
    SELECT s.refresh_token, s.part, f.fence
      FROM refresh_subtasks s
      JOIN refresh_claims c ON c.token = s.refresh_token
      JOIN pending_refreshes p ON p.dynamic_table = c.dynamic_table
      JOIN refresh_fence f ON f.id = 1
     WHERE s.state = 'WAITING' AND ${isOffered(workerId, subtasks)}
     ORDER BY CASE WHEN s.worker_id = ${workerId} THEN 1 ELSE 0 END,
              p.priority DESC, p.next_refresh_due_ms, s.refresh_token, s.part
     LIMIT ${subtasks.limit}`.execute(db);
  const granted: GrantedSubtask[] = [];
  for (const [index, { refresh_token, part, fence }] of free.rows.entries()) {
    const token = fence + index + 1;
    const given = await db
      .updateTable("refresh_subtasks")
      .set(({ eb }) => ({
        state: "CLAIMED",
        worker_id: workerId,
        token,
        attempts: eb("attempts", "+", 1),
        expires_at_ms: sql<number>`now_ms() + CAST(${leaseMs} AS BIGINT)`,
      }))
      .where("refresh_token", "=", refresh_token)
      .where("part", "=", part)
      .returning(["spec", "attempts"])
      .executeTakeFirstOrThrow();
    granted.push({ refresh_token, part, token, ...given });
  }
  const last = granted.at(-1);
  if (last !== undefined) {
    await db.updateTable("refresh_fence").set({ fence: last.token }).where("id", "=", 1).execute();
  }
  return granted;
}

/** Zero when one can be claimed now. Undefined when time alone makes none claimable. */
export async function untilSubtaskMs(
  { db }: Tx,
  { workerId, subtasks }: ClaimRequest,
): Promise<number | undefined> {
  if (subtasks === undefined || subtasks.limit === 0) return undefined;
  const found = await sql<{ wait: number | null }>`
    SELECT min(CASE WHEN s.state = 'WAITING' THEN 0 ELSE s.expires_at_ms - now_ms() END) AS wait
      FROM refresh_subtasks s
      JOIN refresh_claims c ON c.token = s.refresh_token
     WHERE s.state IN ('WAITING', 'CLAIMED') AND ${isOffered(workerId, subtasks)}`.execute(db);
  const wait = found.rows[0]?.wait ?? null;
  return wait === null ? undefined : Math.max(0, wait);
}

/** A subtask, and the refresh that it is part of. */
export interface HeldSubtask {
  readonly refresh_token: number;
  readonly part: number;
  readonly worker_id: string | null;
  readonly attempts: number;
  readonly dynamic_table: string;
}

export function heldSubtasks({ db }: Tx) {
  return db
    .selectFrom("refresh_subtasks as s")
    .innerJoin("refresh_claims as c", "c.token", "s.refresh_token")
    .select(["s.refresh_token", "s.part", "s.worker_id", "s.attempts", "c.dynamic_table"])
    .where("s.state", "=", "CLAIMED");
}

/** Undefined unless worker and token hold it and its lease is not over. */
export async function holdSubtask(
  tx: Tx,
  { refreshToken, part, workerId, token }: SubtaskKey,
): Promise<HeldSubtask | undefined> {
  return await heldSubtasks(tx)
    .where("s.refresh_token", "=", refreshToken)
    .where("s.part", "=", part)
    .where("s.worker_id", "=", workerId)
    .where("s.token", "=", token)
    .where("s.expires_at_ms", ">", sql<number>`now_ms()`)
    .executeTakeFirst();
}

/** Records the result and tells the lead and other watchers. */
export async function finishSubtask(
  tx: CatalogTx,
  held: HeldSubtask,
  result: string,
): Promise<void> {
  await one(tx, held).set({ state: "DONE", expires_at_ms: null, result }).execute();
  const done = await tx.db
    .selectFrom("refresh_subtasks")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("refresh_token", "=", held.refresh_token)
    .where("state", "=", "DONE")
    .executeTakeFirstOrThrow();
  await tx.update("dynamic_tables", held.dynamic_table, { part_done_count: done.count });
}

/** Frees the subtask for another attempt, or fails it after the last one (TP7). */
export async function failSubtask(
  tx: CatalogTx,
  held: HeldSubtask,
  { code, message, isPermanent, missingPath }: RefreshFailure,
  { partAttemptsMax }: ClaimSettings,
): Promise<void> {
  const error = { error_code: code, error_message: message, missing_path: missingPath ?? null };
  const isOver = isPermanent || held.attempts >= partAttemptsMax;
  await one(tx, held)
    .set(
      isOver
        ? { state: "FAILED", expires_at_ms: null, ...error }
        : { state: "WAITING", expires_at_ms: null, token: null, ...error },
    )
    .execute();
  // A logged change, so that waiting workers are poked.
  const told = `part ${held.part + 1}, tried ${held.attempts} times: ${code}: ${message}`;
  await tx.update("dynamic_tables", held.dynamic_table, { last_error: told });
}

/** Gives it back without counting an attempt. */
export async function returnSubtask(tx: CatalogTx, held: HeldSubtask): Promise<void> {
  await one(tx, held)
    .set({
      state: "WAITING",
      expires_at_ms: null,
      token: null,
      worker_id: null,
      attempts: held.attempts - 1,
    })
    .execute();
}

function one({ db }: Tx, { refresh_token, part }: Pick<HeldSubtask, "refresh_token" | "part">) {
  return db
    .updateTable("refresh_subtasks")
    .where("refresh_token", "=", refresh_token)
    .where("part", "=", part);
}

/** Inserts the lead's subtasks, once. */
export async function insertSubtasks(
  tx: CatalogTx,
  { token, dynamic_table }: HeldClaim,
  ability: string,
  specs: readonly string[],
): Promise<void> {
  const known = await tx.db
    .selectFrom("refresh_subtasks")
    .select("part")
    .where("refresh_token", "=", token)
    .executeTakeFirst();
  if (known !== undefined) return;
  const rows = specs.map((spec, part) => ({
    refresh_token: token,
    part,
    ability,
    spec,
    state: "WAITING" as const,
    worker_id: null,
    token: null,
    attempts: 0,
    expires_at_ms: null,
    result: null,
    error_code: null,
    error_message: null,
    missing_path: null,
  }));
  await tx.db.insertInto("refresh_subtasks").values(rows).execute();
  await tx.update("dynamic_tables", dynamic_table, {
    part_count: specs.length,
    part_done_count: 0,
  });
}
