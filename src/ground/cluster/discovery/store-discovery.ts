/** The store's workers table: everybody who registered and was not dropped. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Store } from "../../store/index.ts";
import type { Discovery, Target } from "../core/index.ts";
import { selectAllWorkers, type WorkerRow } from "../store/worker-statements.ts";

export interface StoreDiscoveryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often to look without being poked, and after a failure. Default 5 s. */
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
  #timer: Timer | undefined;
  #reading: Promise<void> | undefined;
  #pokedMeanwhile: boolean = false;
  #told: string | undefined;

  constructor(options: StoreDiscoveryOptions) {
    this.#options = options;
  }

  start(onTargets: (targets: readonly Target[]) => void): void {
    this.#onTargets = onTargets;
    this.#unsubscribe = this.#options.store.onPoke(() => this.#look());
    this.#look();
  }

  stop(): void {
    this.#onTargets = undefined;
    this.#unsubscribe();
    this.#timer?.cancel();
  }

  /** One read at a time; a poke during it causes one more. */
  #look(): void {
    if (this.#onTargets === undefined) return;
    if (this.#reading !== undefined) {
      this.#pokedMeanwhile = true;
      return;
    }
    this.#timer?.cancel();
    this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    const { store, logger } = this.#options;
    let rows: readonly WorkerRow[] | undefined;
    try {
      rows = await store.read(selectAllWorkers);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "could not read the workers to dial");
    }
    this.#reading = undefined;
    if (rows !== undefined) this.#tell(rows);
    this.#rest();
  }

  #tell(rows: readonly WorkerRow[]): void {
    const targets = rows.map(targetOf);
    const text = JSON.stringify(targets);
    if (this.#told === text) return;
    this.#told = text;
    this.#onTargets?.(targets);
  }

  #rest(): void {
    if (this.#onTargets === undefined) return;
    if (this.#pokedMeanwhile) {
      this.#pokedMeanwhile = false;
      this.#look();
      return;
    }
    const { clock, intervalMs = 5_000 } = this.#options;
    this.#timer = clock.after(intervalMs, () => this.#look());
  }
}

function targetOf(row: WorkerRow): Target {
  return {
    address: { host: row.host_name, grpcPort: row.grpc_port },
    workerId: row.worker_id as WorkerId,
    registration: `${row.incarnation}@${row.registered_at_ms}`,
  };
}
