/**
 * A Capstan worker's part of load tests: it starts the processes that the store assigns to it, and
 * writes their state back. Rules: PH1 to PH5.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import { Loop } from "../../../ground/reconcile/index.ts";
import type { RunId } from "../core/ids.ts";
import { type LoadProcess, notWanted, type ProcessStore } from "../store/process-store.ts";
import { fieldsOf, keyOf, type OwnSpawner } from "./worker-spawner.ts";

export interface ProcessHostOptions {
  /** The Capstan worker's name. */
  readonly name: string;
  /** This machine's name, as in the heartbeats of load workers. */
  readonly hostName: string;
  readonly processes: ProcessStore;
  /** Whether load workers can be started here now; always by default (PH5). */
  readonly isAble?: () => boolean;
  readonly spawner: OwnSpawner;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
}

const lookMs = 700;
const comingMs = 15_000;
const { signal: never } = new AbortController();

export class ProcessHost {
  readonly #options: ProcessHostOptions;
  /** Processes started or found here, by run and worker, with the signals they were sent. */
  readonly #mine = new Map<string, { readonly runId: RunId; readonly signals: Set<string> }>();
  readonly #loop: Loop;

  constructor(options: ProcessHostOptions) {
    this.#options = options;
    const { clock, prng, logger } = options;
    this.#loop = new Loop({
      clock,
      logger,
      firstMs: lookMs,
      everyMs: lookMs,
      trouble: "cannot see to load workers",
      turn: async (signal) => {
        await this.look(signal);
        return { requeueAfterMs: lookMs + prng.below(lookMs / 2) };
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Does not stop load workers. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#options.spawner.close();
  }

  /** Performs everything that is due now. */
  async look(signal: AbortSignal = never): Promise<void> {
    const { name, processes, spawner } = this.#options;
    const found = await processes.startedBy(name);
    const runs = new Set(found.map(({ runId }) => runId));
    for (const [key, { runId }] of this.#mine) {
      if (runs.has(runId)) continue;
      this.#mine.delete(key);
      spawner.forget(runId);
    }
    for (const process of found) {
      if (signal.aborted) return;
      if (process.state === "WANTED") await this.#take(process);
      else if (process.state === "STARTING") await this.#findOrStart(process);
      else await this.#watch(process);
    }
  }

  async #take(process: LoadProcess): Promise<void> {
    const { processes, isAble } = this.#options;
    if (isAble?.() === false) return; // PH5
    if (!(await processes.advance(process, { state: "STARTING" }))) return; // PH1
    await this.#start({ ...process, state: "STARTING" });
  }

  async #start(process: LoadProcess): Promise<void> {
    const { processes, spawner, logger } = this.#options;
    if (!process.isRunWanting) {
      await processes.advance(process, { state: "FAILED", reason: notWanted }); // PH3
      return;
    }
    try {
      await spawner.spawn(process);
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      logger.error(fieldsOf(process), messageOf(thrown));
      await processes.advance(process, { state: "FAILED", reason: messageOf(thrown) });
      return;
    }
    this.#keep(process);
    await processes.advance(process, { state: "STARTED" });
  }

  #keep(process: LoadProcess): Set<string> {
    const key = keyOf(process);
    const { signals } = this.#mine.get(key) ?? { signals: new Set() };
    this.#mine.set(key, { runId: process.runId, signals });
    return signals;
  }

  /** PH2 */
  async #findOrStart(process: LoadProcess): Promise<void> {
    const { processes, spawner, hostName } = this.#options;
    if (this.#mine.has(keyOf(process))) {
      await processes.advance(process, { state: "STARTED" }); // The earlier answer was lost.
      return;
    }
    const seen = await processes.heartbeatOf(process);
    if (seen !== undefined && seen.hostName === hostName) {
      spawner.see({ ...process, ...seen });
      this.#keep(process);
      await processes.advance(process, { state: "STARTED" });
    } else if (process.ageMs >= comingMs) {
      await this.#start(process);
    }
  }

  async #watch(process: LoadProcess): Promise<void> {
    const { processes, spawner, logger } = this.#options;
    const { signalWanted } = process;
    if (spawner.isAlive(process) === undefined) {
      const seen = await processes.heartbeatOf(process);
      if (seen === undefined && process.ageMs < comingMs) return; // PH2
      if (seen !== undefined) spawner.see({ ...process, ...seen }); // PH4
    }
    if (spawner.isAlive(process) !== true) {
      await processes.advance(process, { state: "ENDED" });
      return;
    }
    const signals = this.#keep(process);
    if (signalWanted === null || signals.has(signalWanted)) return;
    signals.add(signalWanted);
    logger.warn(fieldsOf(process), `it should be gone: ${signalWanted}`);
    spawner.signal(process, signalWanted);
  }
}
