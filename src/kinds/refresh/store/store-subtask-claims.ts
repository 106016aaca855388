/** The subtask protocol on the control store. `StoreRefreshClaims.claim` grants subtasks. */
import { sql } from "kysely";
import type { CatalogTx, Store } from "../../../ground/store/index.ts";
import type {
  ClaimKey,
  PartResult,
  RefreshFailure,
  RefreshSplit,
  SplitProgress,
  SubtaskClaims,
  SubtaskKey,
} from "../core/index.ts";
import { type ClaimSettings, claimSettings } from "./claim-settings.ts";
import { holdClaim } from "./held-claims.ts";
import {
  failSubtask,
  finishSubtask,
  type HeldSubtask,
  holdSubtask,
  insertSubtasks,
  returnSubtask,
} from "./subtask-rows.ts";

export class StoreSubtaskClaims implements SubtaskClaims {
  readonly #store: Store;
  readonly #settings: ClaimSettings;

  constructor(store: Store, settings: Pick<ClaimSettings, "prng"> & Partial<ClaimSettings>) {
    this.#store = store;
    this.#settings = claimSettings(settings);
  }

  async split(
    lead: ClaimKey,
    { ability, specs }: Pick<RefreshSplit, "ability" | "specs">,
  ): Promise<boolean> {
    return await this.#store.catalogTransaction(async (tx) => {
      const held = await holdClaim(tx, lead);
      if (held === undefined) return false;
      await insertSubtasks(tx, held, ability, specs);
      return true;
    });
  }

  async progress(lead: ClaimKey): Promise<SplitProgress> {
    return await this.#store.read(async (tx): Promise<SplitProgress> => {
      if ((await holdClaim(tx, lead)) === undefined) return { kind: "claim_lost" };
      const parts = await tx.db
        .selectFrom("refresh_subtasks")
        .select([
          "part",
          "state",
          "worker_id",
          "result",
          "error_code",
          "error_message",
          "missing_path",
        ])
        .where("refresh_token", "=", lead.token)
        .orderBy("part")
        .execute();
      const results = parts.flatMap(({ worker_id, result }): PartResult[] =>
        worker_id === null || result === null ? [] : [{ workerId: worker_id, result }],
      );
      const failed = parts.find(({ state }) => state === "FAILED");
      if (failed !== undefined) {
        const failure = {
          code: failed.error_code ?? "query_failed",
          message: `part ${failed.part + 1} of ${parts.length}: ${failed.error_message ?? ""}`,
          isPermanent: failed.error_code === "bad_sql",
          ...(failed.missing_path === null ? {} : { missingPath: failed.missing_path }),
        };
        return { kind: "failed", failure, results };
      }
      return results.length === parts.length ? { kind: "done", results } : { kind: "running" };
    });
  }

  async heartbeat({ refreshToken, part, workerId, token }: SubtaskKey): Promise<boolean> {
    const { leaseMs } = this.#settings;
    return await this.#store.catalogTransaction(async ({ db }) => {
      const extended = await sql`
           UPDATE refresh_subtasks
              SET expires_at_ms = now_ms() + CAST(${leaseMs} AS BIGINT)
            WHERE refresh_token = ${refreshToken} AND part = ${part} AND state = 'CLAIMED'
              AND worker_id = ${workerId} AND token = ${token} AND expires_at_ms > now_ms()
        RETURNING part`.execute(db);
      return extended.rows.length === 1;
    });
  }

  async finish(subtask: SubtaskKey, result: string): Promise<boolean> {
    return await this.#store.catalogTransaction(async (tx) => {
      const held = await holdSubtask(tx, subtask);
      if (held === undefined) return await isDone(tx, subtask);
      await finishSubtask(tx, held, result);
      return true;
    });
  }

  async fail(subtask: SubtaskKey, failure: RefreshFailure): Promise<boolean> {
    return await this.#ifHeld(subtask, (tx, held) =>
      failSubtask(tx, held, failure, this.#settings),
    );
  }

  async release(subtask: SubtaskKey): Promise<boolean> {
    return await this.#ifHeld(subtask, returnSubtask);
  }

  async #ifHeld(
    subtask: SubtaskKey,
    perform: (tx: CatalogTx, held: HeldSubtask) => Promise<void>,
  ): Promise<boolean> {
    return await this.#store.catalogTransaction(async (tx) => {
      const held = await holdSubtask(tx, subtask);
      if (held === undefined) return false;
      await perform(tx, held);
      return true;
    });
  }
}

/** Whether the same holder already reported it, so that a lost answer does no harm. */
async function isDone(
  { db }: CatalogTx,
  { refreshToken, part, workerId, token }: SubtaskKey,
): Promise<boolean> {
  const found = await db
    .selectFrom("refresh_subtasks")
    .select("part")
    .where("refresh_token", "=", refreshToken)
    .where("part", "=", part)
    .where("worker_id", "=", workerId)
    .where("token", "=", token)
    .where("state", "=", "DONE")
    .executeTakeFirst();
  return found !== undefined;
}
