import type { LeaseGrant, Store } from "../core/store.ts";
import { requireLease } from "./lease-statements.ts";

/**
 * Throws `lease_lost` when somebody else has been granted the lease since. One that expired and
 * that nobody took is still ours.
 */
export function confirmLease(store: Store, grant: LeaseGrant): Promise<void> {
  return store.read((tx) => requireLease(tx.db, grant));
}
