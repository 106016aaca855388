import type { LeaseGrant, Store } from "../core/store.ts";
import { requireLease } from "./lease-statements.ts";

/**
 * Throws `lease_lost` when another process was granted the lease since. An expired lease that
 * nobody took is still ours.
 */
export function confirmLease(store: Store, grant: LeaseGrant): Promise<void> {
  return store.read((tx) => requireLease(tx.db, grant));
}
