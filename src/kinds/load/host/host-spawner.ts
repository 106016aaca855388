/**
 * Starts load workers here, through `LocalSpawner`, or on the machine of a Capstan worker, which
 * reads the request in the store (`process-host.ts`). Remote processes are known by their rows,
 * read once a second. Rules: HS1 to HS3.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { KeyedQueue } from "../../../ground/reconcile/index.ts";
import type { LeaseGrant } from "../../../ground/store/index.ts";
import { decideHost, type LoadHost } from "../core/decide-host.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import type { Placement } from "../core/scenario.ts";
import { notWanted, type ProcessStore, type WatchedProcess } from "../store/process-store.ts";
import {
  fieldsOf,
  type OwnSpawner,
  type SeenProcess,
  type SpawnRequest,
  type WorkerPlace,
} from "./worker-spawner.ts";

export interface HostSpawnerOptions {
  readonly here: OwnSpawner;
  readonly processes: ProcessStore;
  /** Whether a connected Capstan worker can start load workers: it must know the store. */
  readonly isAble: (name: string) => boolean;
  readonly lease: () => LeaseGrant | undefined;
  /** The coordinator's URL for other machines. */
  readonly coordinatorUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const lookMs = 1_000;
/** Time limit for a Capstan worker to start a process. */
const takeMsMax = 8_000;

interface WatchedRun {
  /** Processes by load worker. Undefined before they are read. */
  processes: Map<LoadWorkerId, WatchedProcess> | undefined;
  /** Capstan workers that did not take the process, by load worker. */
  readonly tried: Map<LoadWorkerId, Set<string>>;
  /** The placement of the run's template, if known to this process. */
  placement: Placement;
}

export class HostSpawner implements OwnSpawner {
  readonly #options: HostSpawnerOptions;
  readonly #runs = new Map<RunId, WatchedRun>();
  readonly #looks: KeyedQueue<"look">;

  constructor(options: HostSpawnerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#looks = new KeyedQueue({
      clock,
      logger,
      reconcile: () => this.#look(),
      backoff: { minMs: lookMs, maxMs: lookMs },
      trouble: "cannot see to load workers elsewhere",
    });
    this.#looks.start();
  }

  async spawn(request: SpawnRequest): Promise<void> {
    const { here, processes, coordinatorUrl, logger } = this.#options;
    const { runId, workerId, placement = "AUTO" } = request;
    this.#runOf(runId).placement = placement;
    const choice =
      placement === "COORDINATOR" ? "here" : decideHost(placement, await this.#hostsFor(runId));
    if (choice === "here") {
      await here.spawn(request);
      return;
    }
    if (choice === undefined) {
      throw new OperatingError(
        "worker_unreachable",
        "backoff",
        `cannot start ${workerId}: there is no Capstan worker that takes work and knows the store, and scaling.placement is ${placement}`,
      );
    }
    await processes.want({ ...request, startedBy: choice.name, coordinatorUrl }, this.#lease());
    logger.info(fieldsOf(request), `it is ${choice.name}'s to start, on ${choice.hostName}`);
    await this.#read([runId]);
    this.#looks.add("look");
  }

  isAlive(place: WorkerPlace): boolean | undefined {
    const known = this.#runOf(place.runId).processes?.get(place.workerId);
    if (known === undefined) return this.#options.here.isAlive(place);
    if (known.state === "ENDED" || known.state === "FAILED") return false;
    if (known.state === "STARTED" && !known.isStarterActive) return undefined; // HS3
    return true;
  }

  see(process: SeenProcess): void {
    this.#runOf(process.runId);
    this.#options.here.see(process);
  }

  signal(place: WorkerPlace, signal: "SIGTERM" | "SIGKILL"): void {
    const { here, processes, logger } = this.#options;
    if (this.#runOf(place.runId).processes?.has(place.workerId) !== true) {
      here.signal(place, signal);
      return;
    }
    const tell = async (): Promise<void> => {
      await processes.wantSignal(place, signal, this.#lease());
    };
    tell().catch((thrown: unknown) => {
      if (thrown instanceof AssertionError) throw thrown;
      logger.warn({ run_id: place.runId }, `cannot tell of ${signal}: ${messageOf(thrown)}`);
    });
  }

  forget(runId: RunId): void {
    this.#runs.delete(runId);
    this.#options.here.forget(runId);
  }

  close(): void {
    void this.#looks.stop();
    this.#options.here.close();
  }

  /** For a run's first use: the store may know more than this process. */
  #runOf(runId: RunId): WatchedRun {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const run: WatchedRun = { processes: undefined, tried: new Map(), placement: "AUTO" };
    this.#runs.set(runId, run);
    this.#looks.add("look");
    return run;
  }

  /** Runs without remote processes are not read again. */
  async #look(): Promise<{ requeueAfterMs: number; restMs: number } | undefined> {
    const open = [...this.#runs].filter(
      ([, { processes }]) => processes === undefined || hasMore(processes),
    );
    if (open.length === 0) return undefined;
    await this.#read(open.map(([runId]) => runId));
    for (const [, run] of open) await this.#giveAgain(run);
    return { requeueAfterMs: lookMs, restMs: lookMs };
  }

  async #read(runIds: readonly RunId[]): Promise<void> {
    const found = await this.#options.processes.ofRuns(runIds);
    for (const runId of runIds) {
      const run = this.#runs.get(runId);
      if (run === undefined) continue; // The run was forgotten meanwhile.
      const before = run.processes;
      run.processes = new Map();
      for (const process of found.filter((each) => each.runId === runId)) {
        run.processes.set(process.workerId, process);
        if (before?.get(process.workerId)?.state !== process.state) this.#tell(process);
      }
    }
  }

  #tell(process: WatchedProcess): void {
    const { logger } = this.#options;
    const { startedBy, state, reason } = process;
    const fields = fieldsOf(process);
    if (state === "FAILED") logger.error(fields, `${startedBy} did not start it: ${reason}`);
    else logger.info(fields, `${startedBy} says of it: ${state}${reason ? `, ${reason}` : ""}`);
  }

  /** HS2 */
  async #giveAgain(run: WatchedRun): Promise<void> {
    for (const process of run.processes?.values() ?? []) {
      if (process.state !== "WANTED" || process.ageMs < takeMsMax) continue;
      if (!process.isRunWanting) {
        await this.#options.processes.giveUp(process, notWanted, this.#lease()); // PH3
        continue;
      }
      const tried = run.tried.get(process.workerId) ?? new Set();
      run.tried.set(process.workerId, tried.add(process.startedBy));
      await this.#giveOnce(process, run, tried);
    }
  }

  async #giveOnce(
    process: WatchedProcess,
    { placement, processes }: WatchedRun,
    tried: ReadonlySet<string>,
  ): Promise<void> {
    const { here, processes: store, logger } = this.#options;
    const { runId, workerId, startedBy } = process;
    const fields = fieldsOf(process);
    const late = `${startedBy} has not started it in ${takeMsMax / 1000} s`;
    const next = decideHost(placement, await this.#hostsFor(runId), tried);
    if (next === "here") {
      if (!(await store.withdraw(process, this.#lease()))) return;
      processes?.delete(workerId);
      logger.warn(fields, `${late}: it is started here`);
      await here.spawn(process);
    } else if (next === undefined) {
      await store.giveUp(process, `none of ${[...tried].join(", ")} started it`, this.#lease());
    } else {
      await store.giveToAnother(process, next.name, this.#lease());
      logger.warn(fields, `${late}: it is ${next.name}'s now`);
    }
  }

  async #hostsFor(runId: RunId): Promise<readonly LoadHost[]> {
    const { processes, isAble } = this.#options;
    return (await processes.readHosts(runId)).filter(({ name }) => isAble(name));
  }

  #lease(): LeaseGrant {
    const lease = this.#options.lease();
    if (lease !== undefined) return lease;
    throw new OperatingError("not_leader", "backoff", "another coordinator leads now");
  }
}

function hasMore(processes: ReadonlyMap<LoadWorkerId, WatchedProcess>): boolean {
  return [...processes.values()].some(({ state }) => state !== "ENDED" && state !== "FAILED");
}
