/** Broken claims, schedulers and upkeep of tables. */

import { type LakeUpkeep, UpkeepLoop, type UpkeepLoopOptions } from "../../src/data/lake/index.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../../src/ground/store/index.ts";
import {
  type ClaimAnswer,
  type ClaimKey,
  type PublishOutcome,
  type RefreshResult,
  RefreshScheduler,
  type RefreshSchedulerOptions,
  StoreRefreshClaims,
} from "../../src/kinds/refresh/index.ts";
import { ObjectLink } from "../tables/sim-objects.ts";
import { storeWith } from "./broken-stores.ts";

type ClaimOptions = ConstructorParameters<typeof StoreRefreshClaims>[1];

/** Lets anyone publish, by first giving the claim to the caller. */
export class CredulousClaims extends StoreRefreshClaims {
  readonly #forger: { key: ClaimKey | undefined };

  constructor(store: Store, options: ClaimOptions) {
    const forger: { key: ClaimKey | undefined } = { key: undefined };
    super(
      prepared(store, (tx) => forge(tx, forger.key)),
      options,
    );
    this.#forger = forger;
  }

  override async publish(claim: ClaimKey, result: RefreshResult): Promise<PublishOutcome> {
    this.#forger.key = claim;
    try {
      return await super.publish(claim, result);
    } finally {
      this.#forger.key = undefined;
    }
  }
}

async function forge({ db }: Tx, key: ClaimKey | undefined): Promise<void> {
  if (key === undefined) return;
  const pending = db.selectFrom("pending_refreshes").select("dynamic_table");
  await db
    .updateTable("refresh_claims")
    .set({ token: key.token, worker_id: key.workerId, expires_at_ms: 1e15 })
    .where("dynamic_table", "=", pending.where("table_id", "=", key.tableId))
    .execute();
}

/** Runs `before` at the start of every catalog transaction. */
function prepared(store: Store, before: (tx: CatalogTx) => Promise<void>): Store {
  return storeWith((inner) => ({
    catalogTransaction: <T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant) =>
      inner.catalogTransaction(async (tx) => {
        await before(tx);
        return await body(tx);
      }, lease),
  }))(store);
}

/** The end of a refresh also removes requests that came while it ran. */
export class ForgetfulClaims extends StoreRefreshClaims {
  readonly #store: Store;

  constructor(store: Store, options: ClaimOptions) {
    super(store, options);
    this.#store = store;
  }

  override async publish(claim: ClaimKey, result: RefreshResult): Promise<PublishOutcome> {
    await this.#forget(claim);
    return await super.publish(claim, result);
  }

  async #forget({ tableId }: ClaimKey): Promise<void> {
    await this.#store.catalogTransaction(async ({ db }) => {
      await db
        .updateTable("pending_refreshes")
        .set(({ ref }) => ({ target_seq: ref("request_seq") }))
        .where("table_id", "=", tableId)
        .execute();
    });
  }
}

/** Says that a claim is extended, and leaves it as it is. */
export class DeafClaims extends StoreRefreshClaims {
  override heartbeat(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

/** A table's dynamic sources are read as they are, not as of the target. */
export class HastyClaims extends StoreRefreshClaims {
  readonly #store: Store;

  constructor(store: Store, options: ClaimOptions) {
    super(store, options);
    this.#store = store;
  }

  override async claim(request: Parameters<StoreRefreshClaims["claim"]>[0]): Promise<ClaimAnswer> {
    const answer = await super.claim(request);
    if (answer.claimed.length === 0) return answer;
    const snapshot = await this.#store.read(newestSnapshot);
    const claimed = answer.claimed.map((claim) => ({
      ...claim,
      sources: claim.sources.map((source) => ({ ...source, to: snapshot as typeof source.to })),
    }));
    return { ...answer, claimed };
  }
}

async function newestSnapshot({ db }: Tx): Promise<number> {
  const found = await db
    .selectFrom("ducklake_snapshot")
    .select((to) => to.fn.max("snapshot_id").as("newest"))
    .executeTakeFirstOrThrow();
  return found.newest;
}

/** Tables of a round that read others of it get a target of their own. */
export class ScatteringScheduler extends RefreshScheduler {
  constructor(options: RefreshSchedulerOptions) {
    super({ ...options, store: scattering(options.store) });
  }
}

function scattering(store: Store): Store {
  return storeWith((inner) => ({
    catalogTransaction: <T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant) =>
      inner.catalogTransaction(async (tx) => {
        const result = await body(tx);
        await tx.db
          .updateTable("pending_refreshes")
          .set(({ eb }) => ({ target_snapshot: eb("target_snapshot", "-", 1) }))
          .where("table_id", "in", (from) =>
            from
              .selectFrom("dynamic_table_sources as s")
              .innerJoin("dynamic_tables as d", "d.table_id", "s.source_table_id")
              .select("s.table_id"),
          )
          .where("ready_at_ms", "is", null)
          .where("target_snapshot", ">", 1)
          .execute();
        return result;
      }, lease),
  }))(store);
}

/** Does not notice that the sources of a failed refresh have changed. */
export class IncurableScheduler extends RefreshScheduler {
  constructor(options: RefreshSchedulerOptions) {
    const { lake } = options;
    super({
      ...options,
      lake: {
        current: () => lake.current(),
        mayHaveChanged: (ranges, to) => lake.mayHaveChanged(ranges, to),
        hasChanged: async (ranges) => ranges.map(() => false),
        isThere: (path) => lake.isThere(path),
      },
    });
  }
}

/** Deletes files that are still being written. */
export class ImpatientUpkeep extends UpkeepLoop {
  constructor(options: UpkeepLoopOptions) {
    super({ ...options, limits: { ...options.limits, orphanMsMin: 0 } });
  }
}

/** Does not look at pins: snapshots expire that refreshes still read. */
export class PinDeafUpkeep extends UpkeepLoop {
  constructor(options: UpkeepLoopOptions) {
    super({ ...options, limits: { ...options.limits, pinMsMax: 0, snapshotMsMax: 1_000 } });
  }
}

/** Deletes every old file, even referenced ones. */
export class GreedyUpkeep extends UpkeepLoop {
  constructor(options: UpkeepLoopOptions) {
    const { upkeep } = options;
    const greedy: Pick<LakeUpkeep, keyof LakeUpkeep> = {
      facts: () => upkeep.facts(),
      expire: (...call) => upkeep.expire(...call),
      forget: (...call) => upkeep.forget(...call),
      forgetTokens: () => upkeep.forgetTokens(),
      isHeld: () => upkeep.isHeld(),
      orphanFacts: async () => ({ ...(await upkeep.orphanFacts()), referenced: new Set() }),
    };
    super({ ...options, upkeep: greedy as LakeUpkeep });
  }
}

/** Finds nothing when it looks for files that nobody committed. */
export class BlindLink extends ObjectLink {
  override async *list(): ReturnType<ObjectLink["list"]> {}
}
