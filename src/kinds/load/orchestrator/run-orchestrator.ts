/**
 * Load tests at the coordinator that leads: prepared, started, seen to, ended. Rules: OC1 to OC5.
 */

import { type Clock, within } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import { KeyedQueue, Loop } from "../../../ground/reconcile/index.ts";
import type { LeaseGrant, Store } from "../../../ground/store/index.ts";
import { operationOf } from "../core/compile-workload.ts";
import { type RunId, workerIdOf } from "../core/ids.ts";
import { allowedLoad, peakConnections, plannedLoad } from "../core/load-plan.ts";
import type { RunRecord } from "../core/run-record.ts";
import { isTerminal } from "../core/run-state.ts";
import { buildRunUpdate, type RunUpdate } from "../core/run-update.ts";
import type { Scenario } from "../core/scenario.ts";
import type { Target } from "../core/target.ts";
import { checkTargetHost } from "../core/target-host.ts";
import type { WorkerSnapshot } from "../core/worker-snapshot.ts";
import {
  decideShape,
  decideTargets,
  wantsCalibration,
  workersMax,
} from "../core/worker-targets.ts";
import type { WorkerSpawner } from "../host/worker-spawner.ts";
import { writeEnrichment } from "../store/finalize-run.ts";
import { deleteOldRuns, findOldRuns } from "../store/run-history.ts";
import type { PoolSource } from "../store/run-pools.ts";
import { type RunLook, RunStore } from "../store/run-store.ts";
import { calibrateCapacity } from "./calibrate.ts";
import { LiveMetrics } from "./live-metrics.ts";
import { openRunTarget, type RunRecords, type TargetFactory } from "./ports.ts";
import { readRunUpdate } from "./read-run-update.ts";
import { RunAftermath } from "./run-aftermath.ts";
import { runDataSql } from "./run-data-sql.ts";
import { lookMs, RunReconciler } from "./run-reconciler.ts";
import { passwordOf, sealSecret } from "./seal.ts";
import { SharedUpdates } from "./shared-updates.ts";

export interface RunOrchestratorOptions {
  readonly store: Store;
  readonly spawner: WorkerSpawner;
  readonly openTarget: TargetFactory;
  readonly records: RunRecords;
  readonly clusterToken: string;
  /** The current lease. Undefined when this process does not lead. */
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  /** CPU time of this thread so far; without it there is no calibration (WT5). */
  readonly threadCpuMs?: () => number;
  /** How long runs are kept; undefined keeps them for ever. */
  readonly keepRunsMs?: number;
  /** How often older runs are looked for. */
  readonly upkeepMs?: number;
}

export interface PrepareRequest {
  readonly scenario: Scenario;
  readonly testName: string;
  readonly password: string | null;
  /** None by default. */
  readonly pools?: PoolSource;
}

const never = new AbortController().signal;
const checkMsMax = 30_000;
const upkeepMsDefault = 3_600_000;
const seeToMs = 10_000;
const deletedAtOnce = 50;
const runsMax = 10_000;
/** Processes of runs that ended so long ago are no longer looked for. */
const leftoverMs = 600_000;

export class RunOrchestrator {
  readonly live: LiveMetrics;
  readonly runs: RunStore;
  readonly #shared: SharedUpdates;
  readonly #options: RunOrchestratorOptions;
  readonly #reconcilers = new Map<RunId, RunReconciler>();
  readonly #resetting = new Set<RunId>();
  readonly #aftermath: RunAftermath;
  readonly #queue: KeyedQueue<RunId>;
  readonly #upkeep: Loop;
  #epoch: number | undefined;
  /**
   * Processes of runs that ended so long ago are looked for when this coordinator begins to lead.
   */
  #endedMs = leftoverMs;

  constructor(options: RunOrchestratorOptions) {
    this.#options = options;
    this.live = new LiveMetrics({ clock: options.clock });
    this.runs = new RunStore(options.store);
    this.#shared = new SharedUpdates((runId, after) => this.update(runId, after), options.clock);
    const { lease, clock, prng, logger, upkeepMs = upkeepMsDefault } = options;
    const shared = { lease, clock, prng, logger };
    this.#aftermath = new RunAftermath({ ...options, runs: this.runs });
    this.#queue = new KeyedQueue<RunId>({
      ...shared,
      keys: () => this.#runsToSee(),
      resyncMs: seeToMs,
      concurrency: runsMax,
      keysMax: runsMax,
      reconcile: (runId) => this.#look(runId),
      backoff: { minMs: lookMs, maxMs: lookMs },
      trouble: "cannot see to a run",
    });
    this.#upkeep = new Loop({
      ...shared,
      turn: (signal) => this.#keepTidy(signal),
      firstMs: upkeepMs / 60,
      everyMs: upkeepMs,
      trouble: "old runs stay for now",
    });
  }

  /** To be called once, and `leaseChanged` from the lease keeper's `onChange`. */
  open(): void {
    for (const part of this.#parts()) part.start();
    this.leaseChanged();
  }

  /** OC2 */
  leaseChanged(): void {
    const epoch = this.#options.lease()?.epoch;
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    void this.#leave();
    for (const part of this.#parts()) part.leaseChanged();
  }

  /** Runs continue without this process. */
  async close(): Promise<void> {
    await Promise.all(this.#parts().map((part) => part.stop()));
    await this.#leave();
  }

  #parts(): readonly Pick<Loop, "start" | "stop" | "leaseChanged">[] {
    return [this.#queue, this.#aftermath.queue, this.#upkeep];
  }

  /** Returns the new run's id (OC1). */
  async prepareRun(request: PrepareRequest): Promise<RunId> {
    const { testName, password } = request;
    const pools = request.pools ?? { kind: "values", pools: {} };
    const lease = this.#requireLease();
    const { clusterToken, prng } = this.#options;
    checkTargetHost(request.scenario.target);
    const scenario = await this.#checkStatements(request.scenario, password);
    const expectedWorkers = decideShape(scenario, peakConnections(scenario)).workers;
    if (expectedWorkers > workersMax) {
      const asked = `${peakConnections(scenario)} connections need ${expectedWorkers} workers`;
      throw new OperatingError("bad_request", "never", `${asked}; there may be ${workersMax}`);
    }
    const runId = randomText(prng, 20) as RunId;
    // OC4
    const targetSecret = password === null ? null : sealSecret(password, clusterToken, runId);
    await this.runs.create(
      { runId, testName, scenario, targetSecret, expectedWorkers, pools },
      lease,
    );
    return runId;
  }

  /** A reset of data that `signal` ends leaves the run as it was. */
  async startRun(runId: RunId, signal: AbortSignal = never): Promise<void> {
    const lease = this.#requireLease();
    const prepared = await this.#requirePrepared(runId);
    await this.#checkAllowed(prepared.run, signal);
    const { run, nowMs } = await this.#resetIfAsked(prepared, signal);
    const { expectedWorkers, scenario } = run;
    const ids = Array.from({ length: expectedWorkers }, (_, group) => workerIdOf(group));
    const isSearch = scenario.workload.loadMode === "FIND_MAX_CONCURRENCY";
    const planned = plannedLoad(scenario, undefined);
    const connections = isSearch ? scenario.findMax.startConcurrency : planned.connections;
    const load = allowedLoad(scenario, { ...planned, connections });
    const step = { stepId: null, stepNumber: null };
    await this.runs.apply(
      runId,
      "PREPARED",
      {
        status: "RUNNING",
        phase: "PREPARING",
        startTimeMs: nowMs,
        targets: decideTargets(ids, load, step),
        logs: [{ level: "INFO", message: `started, workers: ${expectedWorkers}` }],
      },
      lease,
    );
    this.#reconcile(runId).own(0, expectedWorkers);
    this.#queue.add(runId);
  }

  /** OC3 */
  async stopRun(runId: RunId, initiatedBy: string): Promise<void> {
    const lease = this.#requireLease();
    const { run, nowMs } = await this.#require(runId);
    if (isTerminal(run.status)) return;
    if (run.status === "PREPARED") {
      const ended = {
        status: "CANCELLED",
        stopReason: "user_requested",
        endTimeMs: nowMs,
      } as const;
      const cancellationReason = "User requested cancellation";
      await this.runs.apply(runId, "PREPARED", { ...ended, cancellationReason }, lease);
      return;
    }
    await this.#reconcile(runId).stopRun(initiatedBy);
    this.#queue.add(runId);
  }

  async retryEnrichment(runId: RunId): Promise<void> {
    const lease = this.#requireLease();
    const { run } = await this.#require(runId);
    if (!isTerminal(run.status)) {
      throw new OperatingError("conflict", "never", `the run ${runId} has not ended`);
    }
    await writeEnrichment(this.#options.store, runId, { status: "PENDING" }, lease);
    this.#aftermath.queue.add(runId);
  }

  /** The current update. Undefined when there is no such run. */
  async update(runId: RunId, afterLogSequence: number): Promise<RunUpdate | undefined> {
    const facts = await readRunUpdate(this.#options.store, this.live, runId, afterLogSequence);
    return facts && buildRunUpdate(facts);
  }

  /** The same, up to 250 ms old, for callers that poll. */
  async watch(runId: RunId, afterLogSequence: number): Promise<RunUpdate | undefined> {
    return await this.#shared.update(runId, afterLogSequence);
  }

  accept(snapshot: WorkerSnapshot): boolean {
    return this.live.accept(snapshot);
  }

  /** The runs to control (OC2). Runs that already have a reconciler keep their own pace. */
  async #runsToSee(): Promise<readonly RunId[]> {
    const runIds = await this.runs.runsToSee(this.#endedMs);
    this.#endedMs = 0;
    return runIds.filter((runId) => !this.#reconcilers.has(runId));
  }

  async #look(runId: RunId): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const reconciler = this.#reconcile(runId);
    if (await reconciler.look()) return { requeueAfterMs: lookMs };
    await reconciler.close();
    if (this.#reconcilers.get(runId) !== reconciler) return undefined;
    this.#reconcilers.delete(runId);
    this.#options.spawner.forget(runId);
    return undefined;
  }

  async #leave(): Promise<void> {
    this.#endedMs = leftoverMs;
    const left = [...this.#reconcilers.values()];
    this.#reconcilers.clear();
    await Promise.all(left.map((reconciler) => reconciler.close()));
  }

  #reconcile(runId: RunId): RunReconciler {
    const known = this.#reconcilers.get(runId);
    if (known !== undefined) return known;
    const { spawner, openTarget, clusterToken, lease, clock, logger } = this.#options;
    const reconciler = new RunReconciler(runId, {
      runs: this.runs,
      live: this.live,
      spawner,
      openTarget,
      clusterToken,
      lease,
      clock,
      logger,
      onEnd: () => this.#aftermath.queue.add(runId),
    });
    this.#reconcilers.set(runId, reconciler);
    return reconciler;
  }

  /** The scenario with what only the target could tell (WT5). */
  async #checkStatements(scenario: Scenario, password: string | null): Promise<Scenario> {
    const { clock, openTarget } = this.#options;
    const target = await openTarget(scenario.target, password, "capstan_load:prepare");
    try {
      return await within(clock, checkMsMax, (signal) => this.#tryTarget(scenario, target, signal));
    } finally {
      await target.close().catch(() => undefined);
    }
  }

  async #tryTarget(scenario: Scenario, target: Target, signal: AbortSignal): Promise<Scenario> {
    const { clock, threadCpuMs, logger } = this.#options;
    const operations = scenario.workload.operations.map(operationOf);
    const connection = await target.connect(1, signal);
    try {
      for (const operation of operations) await connection.prepare(operation);
    } finally {
      await connection.close();
    }
    if (threadCpuMs === undefined) return scenario;
    if (!wantsCalibration(scenario, peakConnections(scenario))) return scenario;
    const found = await calibrateCapacity(scenario, { target, clock, threadCpuMs, signal });
    if (found === undefined) return scenario;
    logger.info({ per_worker_capacity: found }, "calibrated a load worker");
    return { ...scenario, scaling: { ...scenario.scaling, perWorkerCapacity: found } };
  }

  /**
   * OC5: what may be loaded can have changed since the run was prepared. Whether a file may be
   * opened is known when it is; a target that is away is the worker's to ask again (LW13).
   */
  async #checkAllowed(run: RunRecord, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const target = await openRunTarget(run, this.#options);
    const { kind } = run.scenario.target;
    try {
      if (kind !== "sqlite" && kind !== "duckdb") return;
      const connect = (either: AbortSignal) => target.connect(1, either);
      const connection = await within(clock, checkMsMax, connect, signal);
      await connection.close();
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) || thrown.code === "forbidden") throw thrown;
    } finally {
      await target.close().catch(() => undefined);
    }
  }

  /** RD1. One at a time: a second one would change the data under a run that has begun. */
  async #resetIfAsked(look: RunLook, signal: AbortSignal): Promise<RunLook> {
    const { runId, scenario } = look.run;
    if (!scenario.target.resetData) return look;
    if (this.#resetting.has(runId)) {
      throw new OperatingError("conflict", "backoff", `the data of ${runId} are being reset`);
    }
    this.#resetting.add(runId);
    try {
      const { openTarget, clusterToken } = this.#options;
      const password = passwordOf(look.run, clusterToken);
      await runDataSql(openTarget, scenario.target, password, "resetSql", signal);
      // Read again, because the reset may have taken long.
      return await this.#requirePrepared(runId);
    } finally {
      this.#resetting.delete(runId);
    }
  }

  async #requirePrepared(runId: RunId): Promise<RunLook> {
    const look = await this.#require(runId);
    const { status } = look.run;
    if (status === "PREPARED") return look;
    throw new OperatingError("conflict", "never", `the run ${runId} is ${status} already`);
  }

  async #require(runId: RunId): Promise<RunLook> {
    const look = await this.runs.look(runId);
    if (look !== undefined) return look;
    throw new OperatingError("not_found", "never", `there is no run ${runId}`);
  }

  #requireLease(): LeaseGrant {
    const lease = this.#options.lease();
    if (lease !== undefined) return lease;
    throw new OperatingError("not_leader", "backoff", "this process is not the coordinator");
  }

  /** RH4: records go first, so that a run that is still there leads to what is left of it. */
  async #keepTidy(signal: AbortSignal): Promise<void> {
    const { store, records, keepRunsMs: ageMs, lease: leaseOf, logger } = this.#options;
    const lease = leaseOf();
    if (lease === undefined || ageMs === undefined) return;
    const runIds = await findOldRuns(store, { ageMs, limit: deletedAtOnce });
    if (runIds.length === 0) return;
    await records.remove(runIds, signal);
    const count = await deleteOldRuns(store, { ageMs, runIds }, lease);
    logger.info({ count }, "deleted old load tests");
  }
}
