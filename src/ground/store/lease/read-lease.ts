import type { Store } from "../core/store.ts";
import { type LeaseView, selectLease } from "./lease-statements.ts";

/** Who holds a lease, for people and for a standby that has to say whom to ask. `undefined`: nobody ever did. */
export function readLease(store: Store, name: string): Promise<LeaseView | undefined> {
  return store.read((tx) => selectLease(tx.db, name));
}
