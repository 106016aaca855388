/** Refusals for want of the lease say who has it. */
import { OperatingError } from "../kernel/errors.ts";
import { readLease, type Store } from "../store/index.ts";
import type { PortsConfig } from "./ports-config.ts";

export async function asLeader<T>(
  { store, leaseName }: Pick<PortsConfig, "store" | "leaseName">,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (thrown) {
    const notOurs =
      thrown instanceof OperatingError &&
      (thrown.code === "not_leader" || thrown.code === "lease_lost");
    if (!notOurs) throw thrown;
    throw await notLeader(store, leaseName);
  }
}

export async function notLeader(
  store: Store | undefined,
  leaseName: string,
): Promise<OperatingError> {
  const lease = store === undefined ? undefined : await readLease(store, leaseName);
  const leader = lease === undefined || lease.remainingMs <= 0 ? "" : lease.apiUrl;
  const message = "this process is not the coordinator that leads";
  return new OperatingError("not_leader", "backoff", message, {
    hint:
      leader === "" ? "Nobody leads at the moment; try again in a few seconds." : `Ask ${leader}`,
  });
}
