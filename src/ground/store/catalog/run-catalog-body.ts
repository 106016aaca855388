import type { Kysely } from "kysely";
import type { Revision } from "../../kernel/ids.ts";
import type { ControlSchema, WatchedTables } from "../core/schema.ts";
import type { CatalogTx, LeaseGrant } from "../core/store.ts";
import { requireLease } from "../lease/lease-statements.ts";
import { LoggedTx } from "./logged-tx.ts";

export interface CatalogOutcome<T> {
  readonly result: T;
  /** The newest revision that it made. Undefined when it changed no watched table. */
  readonly revision: Revision | undefined;
}

/** Everything between BEGIN and COMMIT of a catalog transaction, the same on both databases. */
export async function runCatalogBody<T>(
  db: Kysely<ControlSchema>,
  log: { readonly watched: WatchedTables; readonly changesKept: number },
  body: (tx: CatalogTx) => Promise<T>,
  lease: LeaseGrant | undefined,
): Promise<CatalogOutcome<T>> {
  // In the transaction that writes (ST42).
  if (lease !== undefined) await requireLease(db, lease);
  const tx = new LoggedTx(db, log.watched, log.changesKept);
  const result = await body(tx);
  return { result, revision: await tx.flush() };
}
