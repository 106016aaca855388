/** Refusals for want of the lease say who has it. */
import { OperatingError } from "../kernel/errors.ts";
import type { HealthBoard } from "../kernel/health.ts";
import { readLease, type Store } from "../store/index.ts";
import type { PortsConfig } from "./ports-config.ts";

export async function asLeader<T>(
  {
    store,
    leaseName,
    health,
  }: Pick<PortsConfig, "store" | "leaseName"> & { readonly health?: HealthBoard },
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (thrown) {
    const notOurs =
      thrown instanceof OperatingError &&
      (thrown.code === "not_leader" || thrown.code === "lease_lost");
    if (!notOurs) throw thrown;
    throw await notLeader(store, leaseName, health);
  }
}

export async function notLeader(
  store: Store | undefined,
  leaseName: string,
  health?: HealthBoard,
): Promise<OperatingError> {
  const lease = store === undefined ? undefined : await readLease(store, leaseName);
  const leader = lease === undefined || lease.remainingMs <= 0 ? "" : lease.apiUrl;
  const message = "this process is not the coordinator that leads";
  return new OperatingError("not_leader", "backoff", message, {
    hint: leader === "" ? `Nobody leads at the moment${whyOf(health)}` : `Ask ${leader}`,
  });
}

/** Who leads by the store's word, in a sentence for people. */
export async function sayWhoLeads(store: Store, leaseName: string): Promise<string> {
  const lease = await readLease(store, leaseName);
  if (lease === undefined) return "no coordinator ever led here";
  const { apiUrl, remainingMs } = lease;
  if (remainingMs > 0) return `${apiUrl} leads, or another is about to`;
  return `nobody leads: the lease of ${apiUrl} has ended`;
}

/** What the keeper of the lease said of the store last. */
function whyOf(health: HealthBoard | undefined): string {
  const store = health?.parts().find(({ name, state }) => name === "store" && state !== "ok");
  return store === undefined ? "; try again in a few seconds." : `: the store: ${store.reason}.`;
}
