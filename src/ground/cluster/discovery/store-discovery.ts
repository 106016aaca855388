/** Finds workers in the store's workers table: all that registered and were not dropped. */

import type { Clock } from "../../kernel/clock.ts";
import type { WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import { Loop } from "../../reconcile/index.ts";
import type { Store } from "../../store/index.ts";
import type { Discovery, Target } from "../core/index.ts";
import { selectAllWorkers, type WorkerRow } from "../store/worker-statements.ts";

export interface StoreDiscoveryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often to read without being poked, and after a failure. Default 5 s. */
  readonly intervalMs?: number;
}

export function storeDiscovery(options: StoreDiscoveryOptions): Discovery {
  return new StoreDiscovery(options);
}

class StoreDiscovery implements Discovery {
  readonly adopts = false;
  readonly #options: StoreDiscoveryOptions;
  #onTargets: ((targets: readonly Target[]) => void) | undefined;
  #unsubscribe: () => void = () => undefined;
  readonly #loop: Loop;
  #told: string | undefined;

  constructor(options: StoreDiscoveryOptions) {
    this.#options = options;
    const { store, clock, logger, intervalMs: everyMs = 5_000 } = options;
    const turn = async (): Promise<void> => this.#tell(await store.read(selectAllWorkers));
    const trouble = "could not read the workers to dial";
    this.#loop = new Loop({ clock, logger, everyMs, turn, trouble });
  }

  start(onTargets: (targets: readonly Target[]) => void): void {
    this.#onTargets = onTargets;
    this.#unsubscribe = this.#options.store.onPoke(() => this.#loop.poke());
    this.#loop.start();
  }

  stop(): void {
    this.#onTargets = undefined;
    this.#unsubscribe();
    void this.#loop.stop();
  }

  #tell(rows: readonly WorkerRow[]): void {
    const targets = rows.map(targetOf);
    const text = JSON.stringify(targets);
    if (this.#told === text) return;
    this.#told = text;
    this.#onTargets?.(targets);
  }
}

function targetOf(row: WorkerRow): Target {
  return {
    address: { host: row.host_name, grpcPort: row.grpc_port },
    workerId: row.worker_id as WorkerId,
    registration: `${row.incarnation}@${row.registered_at_ms}`,
  };
}
