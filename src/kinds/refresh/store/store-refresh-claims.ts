/**
 * The claim protocol on the control store. Each statement that a concurrency argument rests on is a
 * function of its own, and its WHERE clause is the argument. They run in catalog transactions,
 * which are serial over all processes on both databases: two workers that ask at once are answered
 * one after the other. A worker that finds nothing to claim has only read. Rules: TC1 to TC9, TC13,
 * TP3.
 */
import { sql } from "kysely";
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../../../ground/store/index.ts";
import type {
  ClaimAnswer,
  ClaimedRefresh,
  ClaimedSubtask,
  ClaimKey,
  ClaimRequest,
  PublishOutcome,
  RefreshClaims,
  RefreshFailure,
  RefreshResult,
  RefreshSource,
} from "../core/index.ts";
import { type ClaimSettings, claimSettings } from "./claim-settings.ts";
import {
  failRefresh,
  finishRefresh,
  type HeldClaim,
  loseRefresh,
  returnRefresh,
} from "./end-refresh.ts";
import { heldClaims, holdClaim } from "./held-claims.ts";
import { readExperience } from "./refresh-history.ts";
import {
  failSubtask,
  type GrantedSubtask,
  grantSubtasks,
  type HeldSubtask,
  heldSubtasks,
  untilSubtaskMs,
} from "./subtask-rows.ts";
import {
  type DynamicTableRow,
  dynamicTableOf,
  groupSources,
  readSourceColumns,
  readSources,
  requireRow,
  snapshotOf,
} from "./table-rows.ts";

export class StoreRefreshClaims implements RefreshClaims {
  readonly #store: Store;
  readonly #settings: ClaimSettings;

  constructor(store: Store, settings: Pick<ClaimSettings, "prng"> & Partial<ClaimSettings>) {
    this.#store = store;
    this.#settings = claimSettings(settings);
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    const wanted = request.limit + (request.subtasks?.limit ?? 0);
    assert(wanted > 0, "a claim is for something");
    const waitMs = await this.#store.read((tx) => untilClaimableMs(tx, request)); // Only reads.
    if (waitMs !== 0) return { claimed: [], waitMs };
    const { leaseMs } = this.#settings;
    const granted = await this.#store.catalogTransaction(async (tx) => {
      await this.#loseExpired(tx); // TC13
      const parts = await grantSubtasks(tx, request, leaseMs);
      const limit = Math.max(0, request.limit - parts.length); // TP3: parts first.
      const claims = limit === 0 ? [] : await grantClaims(tx, { ...request, limit }, leaseMs);
      return {
        claimed: await this.#describe(tx, claims),
        subtasks: await this.#describeParts(tx, parts, request.workerId),
      };
    });
    return { ...granted, waitMs: undefined };
  }

  async heartbeat(claim: ClaimKey): Promise<boolean> {
    return await this.#store.catalogTransaction((tx) =>
      extendClaim(tx, claim, this.#settings.leaseMs),
    );
  }

  async publish(claim: ClaimKey, result: RefreshResult): Promise<PublishOutcome> {
    return await this.#store.catalogTransaction(async (tx): Promise<PublishOutcome> => {
      const held = await holdClaim(tx, claim);
      if (held === undefined) return { kind: "claim_lost" };
      if (result.action === "NO_DATA") {
        const row = await requireRow(tx, claim.tableId);
        const snapshot = snapshotOf(row.published_snapshot);
        assert(snapshot !== undefined, "a table without contents has something to do");
        const nothing = { action: result.action, rowsInserted: 0, rowsDeleted: 0 };
        await finishRefresh(tx, held, { ...nothing, snapshot }, this.#settings);
        return { kind: "published", snapshot };
      }
      const { snapshot } = await result.commit(tx);
      await finishRefresh(tx, held, { ...result, snapshot }, this.#settings);
      return { kind: "published", snapshot };
    });
  }

  async fail(claim: ClaimKey, failure: RefreshFailure): Promise<boolean> {
    return await this.#ifHeld(claim, (tx, held) => failRefresh(tx, held, failure, this.#settings));
  }

  async release(claim: ClaimKey, reason: string): Promise<boolean> {
    return await this.#ifHeld(claim, (tx, held) => returnRefresh(tx, held, reason, this.#settings));
  }

  /** Frees what a worker whose session is lost had claimed. Returns how many that were. */
  async expireWorker(workerId: string, why: string, lease?: LeaseGrant): Promise<number> {
    const known = await this.#store.read(({ db }) =>
      db
        .selectFrom("refresh_claims")
        .select("token")
        .where("worker_id", "=", workerId)
        .unionAll(
          db
            .selectFrom("refresh_subtasks")
            .select("refresh_token as token")
            .where("worker_id", "=", workerId)
            .where("state", "=", "CLAIMED"),
        )
        .executeTakeFirst(),
    );
    if (known === undefined) return 0;
    return await this.#store.catalogTransaction(async (tx) => {
      const message = `the session with ${workerId} was lost: ${why}`;
      const claims = await heldClaims(tx).where("c.worker_id", "=", workerId).execute();
      for (const claim of claims) await loseRefresh(tx, claim, message, this.#settings);
      const parts = await heldSubtasks(tx).where("s.worker_id", "=", workerId).execute();
      for (const part of parts) await this.#losePart(tx, part, message);
      return claims.length + parts.length;
    }, lease);
  }

  /** Frees expired claims and returns their number. */
  async reapExpired(lease?: LeaseGrant): Promise<number> {
    const isOver = await this.#store.read(
      async ({ db }) =>
        await sql`SELECT 1 FROM refresh_claims WHERE expires_at_ms <= now_ms()
                  UNION ALL
                  SELECT 1 FROM refresh_subtasks WHERE expires_at_ms <= now_ms()
                  LIMIT 1`.execute(db),
    );
    if (isOver.rows.length === 0) return 0;
    return await this.#store.catalogTransaction((tx) => this.#loseExpired(tx), lease);
  }

  async #loseExpired(tx: CatalogTx): Promise<number> {
    const claims = await heldClaims(tx)
      .where("c.expires_at_ms", "<=", sql<number>`now_ms()`)
      .execute();
    for (const claim of claims) {
      const why = `${claim.worker_id} was not heard of for ${this.#settings.leaseMs} ms`;
      await loseRefresh(tx, claim, why, this.#settings);
    }
    const parts = await heldSubtasks(tx)
      .where("s.expires_at_ms", "<=", sql<number>`now_ms()`)
      .execute();
    for (const part of parts) {
      const why = `${part.worker_id} was not heard of for ${this.#settings.leaseMs} ms`;
      await this.#losePart(tx, part, why);
    }
    return claims.length + parts.length;
  }

  async #losePart(tx: CatalogTx, part: HeldSubtask, message: string): Promise<void> {
    const failure = { code: "worker_lost", message, isPermanent: false };
    await failSubtask(tx, part, failure, this.#settings);
  }

  async #ifHeld(
    claim: ClaimKey,
    perform: (tx: CatalogTx, held: HeldClaim) => Promise<void>,
  ): Promise<boolean> {
    return await this.#store.catalogTransaction(async (tx) => {
      const held = await holdClaim(tx, claim);
      if (held === undefined) return false;
      await perform(tx, held);
      return true;
    });
  }

  async #describe(
    tx: CatalogTx,
    granted: readonly GrantedClaim[],
  ): Promise<readonly ClaimedRefresh[]> {
    if (granted.length === 0) return [];
    const ids = granted.map(({ table_id }) => table_id);
    const sources = groupSources(await readSources(tx, ids));
    const inputs = Map.groupBy(await readInputs(tx, granted), ({ reader }) => reader);
    const described: ClaimedRefresh[] = [];
    for (const claim of granted) {
      const row = await requireRow(tx, claim.table_id as TableId);
      const columns = await readSourceColumns(tx, claim.table_id);
      described.push({
        tableId: claim.table_id as TableId,
        workerId: claim.worker_id,
        token: claim.token,
        attempt: claim.attempt,
        expiresAtMs: claim.expires_at_ms,
        claimedAtMs: claim.claimed_at_ms,
        leaseMs: this.#settings.leaseMs,
        table: dynamicTableOf(row, sources.get(claim.table_id)),
        trigger: claim.refresh_trigger,
        targetSnapshot: claim.target_snapshot as SnapshotId,
        targetTimeMs: claim.target_time_ms,
        sources: (inputs.get(claim.table_id) ?? []).map(({ reader: _, ...source }) => {
          const known = columns.get(source.tableId);
          return known === undefined ? source : { ...source, columns: known };
        }),
        experience: hasChoice(row) ? await readExperience(tx, row) : [],
      });
    }
    return described;
  }

  async #describeParts(
    tx: CatalogTx,
    parts: readonly GrantedSubtask[],
    workerId: string,
  ): Promise<readonly ClaimedSubtask[]> {
    if (parts.length === 0) return [];
    const tokens = [...new Set(parts.map(({ refresh_token }) => refresh_token))];
    const described = await this.#describe(tx, await readGranted(tx, tokens));
    const refreshOf = new Map(described.map((refresh) => [refresh.token, refresh]));
    return parts.map(({ refresh_token, part, token, spec, attempts }) => {
      const refresh = refreshOf.get(refresh_token);
      assert(refresh !== undefined, "a subtask lives as long as its refresh's claim");
      const key = { refreshToken: refresh_token, part, workerId, token };
      return { ...key, refresh, spec, attempt: attempts, leaseMs: this.#settings.leaseMs };
    });
  }
}

/** Whether AUTO chooses by the cost of earlier refreshes. */
function hasChoice(row: Pick<DynamicTableRow, "mode_wish" | "mode">): boolean {
  return row.mode_wish === "AUTO" && row.mode === "INCREMENTAL";
}

interface GrantedClaim extends HeldClaim {
  readonly expires_at_ms: number;
  readonly refresh_trigger: ClaimedRefresh["trigger"];
  readonly target_snapshot: number;
  readonly target_time_ms: number;
}

/** Grants what is ready, not backing off and unclaimed (TC2 to TC4). */
async function grantClaims(
  tx: CatalogTx,
  { workerId, limit }: ClaimRequest,
  leaseMs: number,
): Promise<readonly GrantedClaim[]> {
  const { db } = tx;
  const granted = await sql<{ token: number }>`
    INSERT INTO refresh_claims
           (dynamic_table, worker_id, token, attempt, claimed_at_ms, heartbeat_at_ms, expires_at_ms)
    SELECT picked.dynamic_table, CAST(${workerId} AS TEXT), picked.fence + picked.place, picked.attempts + 1,
           now_ms(), now_ms(), now_ms() + CAST(${leaseMs} AS BIGINT)
      FROM (SELECT p.dynamic_table, p.attempts, f.fence,
                   row_number() OVER (ORDER BY p.priority DESC, p.next_refresh_due_ms, p.dynamic_table) AS place
              FROM pending_refreshes p, refresh_fence f
             WHERE f.id = 1
               AND p.ready_at_ms IS NOT NULL
               AND p.not_before_ms <= now_ms()
               AND NOT EXISTS (SELECT 1 FROM refresh_claims c WHERE c.dynamic_table = p.dynamic_table)) picked
     WHERE picked.place <= CAST(${limit} AS BIGINT)
    RETURNING token`.execute(db);
  if (granted.rows.length === 0) return [];
  const tokens = granted.rows.map(({ token }) => token);
  await db
    .updateTable("refresh_fence")
    .set({ fence: Math.max(...tokens) })
    .where("id", "=", 1)
    .execute();
  return await readGranted(tx, tokens);
}

async function readGranted(tx: Tx, tokens: readonly number[]): Promise<readonly GrantedClaim[]> {
  const rows = await heldClaims(tx)
    .select(["c.expires_at_ms", "p.refresh_trigger", "p.target_snapshot", "p.target_time_ms"])
    .where("c.token", "in", tokens)
    .orderBy("c.token")
    .execute();
  return rows.map((row) => {
    const { target_snapshot, target_time_ms } = row;
    assert(target_snapshot !== null && target_time_ms !== null, "what is ready has a target");
    return { ...row, target_snapshot, target_time_ms };
  });
}

/** Extends the lease of a claim that its worker and token still hold (TC5, TC7, TC8). */
async function extendClaim(
  { db }: Tx,
  { tableId, workerId, token }: ClaimKey,
  leaseMs: number,
): Promise<boolean> {
  const extended = await sql`
       UPDATE refresh_claims
          SET heartbeat_at_ms = now_ms(), expires_at_ms = now_ms() + CAST(${leaseMs} AS BIGINT)
        WHERE dynamic_table = (SELECT dynamic_table FROM pending_refreshes WHERE table_id = ${tableId})
          AND worker_id = ${workerId} AND token = ${token} AND expires_at_ms > now_ms()
    RETURNING token`.execute(db);
  return extended.rows.length === 1;
}

interface RefreshInput extends RefreshSource {
  readonly reader: number;
}

/** The sources of claimed tables: plain ones at the target, dynamic ones at their version of it. */
async function readInputs(
  { db }: Tx,
  claims: readonly { readonly table_id: number }[],
): Promise<readonly RefreshInput[]> {
  const ids = claims.map(({ table_id }) => table_id);
  const rows = await db
    .selectFrom("dynamic_table_sources as s")
    .innerJoin("pending_refreshes as p", "p.table_id", "s.table_id")
    .leftJoin("dynamic_tables as d", "d.table_id", "s.source_table_id")
    .leftJoin("dynamic_table_versions as v", (join) =>
      join
        .onRef("v.table_id", "=", "s.source_table_id")
        .onRef("v.data_snapshot", "=", "p.target_snapshot"),
    )
    .select([
      "s.table_id as reader",
      "s.source_table_id as source",
      "s.cursor_snapshot as cursor",
      "p.target_snapshot as target",
      "d.dynamic_table as dynamic",
      "v.snapshot as version",
    ])
    .where("s.table_id", "in", ids)
    .orderBy("s.table_id")
    .orderBy("s.source_table_id")
    .execute();
  return rows.map(({ reader, source, cursor, target, dynamic, version }) => {
    const to = dynamic === null ? target : version;
    assert(to !== null, "a table is claimed when its sources have been at its target");
    return {
      reader,
      tableId: source as TableId,
      isDynamic: dynamic !== null,
      from: snapshotOf(cursor),
      to: to as SnapshotId,
    };
  });
}

/** Zero when something can be claimed now. Undefined when time alone makes nothing claimable. */
async function untilClaimableMs(tx: Tx, request: ClaimRequest): Promise<number | undefined> {
  const partMs = await untilSubtaskMs(tx, request);
  if (partMs === 0 || request.limit === 0) return partMs;
  const found = await sql<{ wait: number | null }>`
    SELECT min(CASE WHEN c.dynamic_table IS NULL THEN p.not_before_ms ELSE c.expires_at_ms END) - now_ms() AS wait
      FROM pending_refreshes p
      LEFT JOIN refresh_claims c ON c.dynamic_table = p.dynamic_table
     WHERE p.ready_at_ms IS NOT NULL`.execute(tx.db);
  const wait = found.rows[0]?.wait ?? null;
  const waits = [
    ...(wait === null ? [] : [Math.max(0, wait)]),
    ...(partMs === undefined ? [] : [partMs]),
  ];
  return waits.length === 0 ? undefined : Math.min(...waits);
}
