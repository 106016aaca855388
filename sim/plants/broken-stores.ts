/** Broken stores, leases and subscriptions. */
import {
  type CatalogTx,
  type LeaseGrant,
  LeaseKeeper,
  type Store,
  type Tx,
  type WatchEvent,
  type WatchOptions,
  watch,
} from "../../src/ground/store/index.ts";

/** A store whose catalog transactions are changed before they begin. */
export function storeWith(
  change: (store: Store) => Partial<Pick<Store, "catalogTransaction" | "onPoke" | "read">>,
): (store: Store) => Store {
  return (store) => {
    const changed = change(store);
    return {
      dialect: store.dialect,
      watched: store.watched,
      read: changed.read ?? (<T>(body: (tx: Tx) => Promise<T>) => store.read(body)),
      transaction: (body) => store.transaction(body),
      catalogTransaction:
        changed.catalogTransaction ??
        (<T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant) =>
          store.catalogTransaction(body, lease)),
      onPoke: changed.onPoke ?? ((listener) => store.onPoke(listener)),
      close: () => store.close(),
    };
  };
}

/** Every tenth change of the subscription is not told. */
export async function* forgetfulWatch(
  store: Store,
  options: WatchOptions,
): AsyncGenerator<WatchEvent> {
  let count = 0;
  for await (const event of watch(store, options)) {
    count += 1;
    if (event.type === "SNAPSHOT" || count % 10 !== 0) yield event;
  }
}

/** So it is with subscriptions to queries, and with no others. */
export function forgetQueries(store: Store, options: WatchOptions): AsyncGenerator<WatchEvent> {
  return options.table === "queries" ? forgetfulWatch(store, options) : watch(store, options);
}

/** Every tenth commit of changes leaves its newest change out of the log. */
export function forgetLog(store: Store): Partial<Pick<Store, "catalogTransaction">> {
  let count = 0;
  return {
    catalogTransaction: async (body, lease) => {
      const result = await store.catalogTransaction(body, lease);
      count += 1;
      if (count % 10 === 0) await store.transaction(deleteNewestChange);
      return result;
    },
  };
}

async function deleteNewestChange({ db }: Tx): Promise<void> {
  const newest = db
    .selectFrom("catalog_changes")
    .select((to) => to.fn.max("revision").as("newest"));
  await db.deleteFrom("catalog_changes").where("revision", "=", newest).execute();
}

/** Writes workers down as ACTIVE before anybody has heard from them. */
export function believeRegistrations(store: Store): Partial<Pick<Store, "catalogTransaction">> {
  return {
    catalogTransaction: (body, lease) =>
      store.catalogTransaction(
        (tx) =>
          body({
            db: tx.db,
            insert: (table, row) => tx.insert(table, { ...row, state: "ACTIVE" }),
            update: (table, key, patch) => tx.update(table, key, patch),
            remove: (table, key) => tx.remove(table, key),
            nowMs: () => tx.nowMs(),
          }),
        lease,
      ),
  };
}

/** Keeps a lease that it once had. */
export class StubbornKeeper extends LeaseKeeper {
  #last: LeaseGrant | undefined;

  override grant(): LeaseGrant | undefined {
    this.#last = super.grant() ?? this.#last;
    return this.#last;
  }
}
