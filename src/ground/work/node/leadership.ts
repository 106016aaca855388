/** Tells who leads, by the lease; refusals name the leader. */
import { OperatingError } from "../../kernel/errors.ts";
import type { HealthBoard } from "../../kernel/health.ts";
import { readLease, type Store } from "../../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";

/** The name of the lease that coordinators compete for. */
export const leaseName = "coordinator";

export interface LeadershipOptions {
  readonly node: Pick<ControllerNode, "role" | "leading" | "lease" | "pool">;
  /** Undefined for a query-api that finds its workers without a store. */
  readonly store: Store | undefined;
  readonly health: HealthBoard;
}

export class Leadership {
  readonly #options: LeadershipOptions;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  role(): "leader" | "standby" | "query_api" {
    const { node } = this.#options;
    if (node.role === "query_api") return "query_api";
    // A lease that cannot be renewed still stands in our name: reads are answered, nothing is
    // written.
    return node.leading() || node.lease?.standsAsOurs() === true ? "leader" : "standby";
  }

  /**
   * Throws `not_leader` where workers cannot be asked. A standby has no sessions; a leader in doubt
   * about its lease still has, and they need no lease.
   */
  async check(): Promise<void> {
    const { node } = this.#options;
    if (this.role() !== "standby") return;
    if (node.pool.views().some(({ live }) => live !== undefined)) return;
    throw await this.#notLeader();
  }

  /** Turns what `change` throws without the lease into `not_leader`, which names the leader. */
  async asLeader<T>(change: () => Promise<T>): Promise<T> {
    try {
      return await change();
    } catch (thrown) {
      const notOurs =
        thrown instanceof OperatingError &&
        (thrown.code === "not_leader" || thrown.code === "lease_lost");
      if (!notOurs) throw thrown;
      throw await this.#notLeader();
    }
  }

  /** The leader according to the store, as a sentence for people. */
  async sayWho(): Promise<string> {
    const { store } = this.#options;
    if (store === undefined) return "";
    const lease = await readLease(store, leaseName);
    if (lease === undefined) return "no coordinator ever led here";
    const { apiUrl, remainingMs } = lease;
    if (remainingMs > 0) return `${apiUrl} leads, or another is about to`;
    return `nobody leads: the lease of ${apiUrl} has ended`;
  }

  async #notLeader(): Promise<OperatingError> {
    const { store } = this.#options;
    const lease = store === undefined ? undefined : await readLease(store, leaseName);
    const leader = lease === undefined || lease.remainingMs <= 0 ? "" : lease.apiUrl;
    const message = "this process is not the coordinator that leads";
    return new OperatingError("not_leader", "backoff", message, {
      hint: leader === "" ? `Nobody leads at the moment${this.#why()}` : `Ask ${leader}`,
    });
  }

  /** What the lease keeper last reported about the store. */
  #why(): string {
    const parts = this.#options.health.parts();
    const store = parts.find(({ name, state }) => name === "store" && state !== "ok");
    return store === undefined ? "; try again in a few seconds." : `: the store: ${store.reason}.`;
  }
}
