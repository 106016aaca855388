import type { Store } from "../core/store.ts";
import { type LeaseView, selectLease } from "./lease-statements.ts";

/** Reads who holds a lease, for people and standbys. Undefined when nobody ever did. */
export function readLease(store: Store, name: string): Promise<LeaseView | undefined> {
  return store.read((tx) => selectLease(tx.db, name));
}
