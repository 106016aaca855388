/**
 * Brings one run from its start to its end, a look a second. What it decides by is in the store, so
 * another coordinator goes on where this one stopped. Rules: OR1 to OR3.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { LeaseGrant } from "../../../ground/store/index.ts";
import { decideRun, type RunAction, stopAction } from "../core/decide-run.ts";
import { attemptsOf } from "../core/find-max.ts";
import type { GuardrailFacts } from "../core/guardrails.ts";
import type { RunId } from "../core/ids.ts";
import { measuredOf, summaryOf } from "../core/latency.ts";
import { isTerminal } from "../core/run-state.ts";
import {
  buildRunUpdate,
  type ResourcesUpdate,
  type RunUpdate,
  type RunUpdateFacts,
} from "../core/run-update.ts";
import { evaluateSlos, missedSlos } from "../core/slo.ts";
import type { WorkerSpawner } from "../host/worker-spawner.ts";
import { readFigures } from "../store/final-record.ts";
import { finalizeRun } from "../store/finalize-run.ts";
import { readStep, writeSecond } from "../store/run-series.ts";
import type { RunChange, RunLook, RunStore } from "../store/run-store.ts";
import { changeOf, isEmptyChange, mergeChanges } from "./change-of.ts";
import { decideFirstStages, decideLoad, wantsStep } from "./decide-load.ts";
import type { LiveMetrics } from "./live-metrics.ts";
import { LoadWindow } from "./load-window.ts";
import { openRunTarget, type TargetFactory } from "./ports.ts";
import { readRunUpdate } from "./read-run-update.ts";
import { ServerWatch } from "./server-watch.ts";
import { WorkerFleet } from "./worker-fleet.ts";

export interface ReconcilerParts {
  readonly runs: RunStore;
  readonly live: LiveMetrics;
  readonly spawner: WorkerSpawner;
  readonly openTarget: TargetFactory;
  readonly clusterToken: string;
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the run has ended. */
  readonly onEnd: (runId: RunId) => void;
}

export const lookMs = 1_000;

export class RunReconciler {
  readonly runId: RunId;
  readonly #parts: ReconcilerParts;
  readonly #fleet: WorkerFleet;
  #window: LoadWindow | undefined;
  #watch: ServerWatch | undefined;
  #isWatched = false;
  #isBaselineNoted = false;
  #last: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  #secondAtMs = -Infinity;

  constructor(runId: RunId, parts: ReconcilerParts) {
    this.runId = runId;
    this.#parts = parts;
    const { spawner, clock, logger } = parts;
    this.#fleet = new WorkerFleet({ runId, spawner, clock, logger });
  }

  /** This coordinator starts the workers of these groups. */
  own(from: number, to: number): void {
    this.#fleet.own(from, to);
  }

  /** A user's stop. Resolves when it is stored; the run ends later. */
  async stopRun(initiatedBy: string): Promise<void> {
    await this.#serial(async () => {
      const lease = this.#parts.lease();
      const look = await this.#parts.runs.look(this.runId);
      if (look?.run.status !== "RUNNING") return;
      if (lease === undefined) {
        throw new OperatingError("not_leader", "backoff", "this process is not the coordinator");
      }
      const change = changeOf(look, stopAction("user_requested", ""), initiatedBy);
      await this.#parts.runs.apply(this.runId, "RUNNING", change, lease);
    });
  }

  /** Leaves the run to the next leader. */
  async close(): Promise<void> {
    this.#isStopped = true;
    await this.#last.catch(() => undefined);
    await this.#watch?.stop();
  }

  /** Returns `false` when nothing is left to do (OR3). */
  look(): Promise<boolean> {
    return this.#serial(async () => this.#isStopped || !(await this.#lookOnce()));
  }

  /** OR1 */
  #serial<T>(body: () => Promise<T>): Promise<T> {
    const next = this.#last.catch(() => undefined).then(body);
    this.#last = next;
    return next;
  }

  /** Returns `true` when nothing is left to do (OR3). */
  async #lookOnce(): Promise<boolean> {
    const { runs, lease: leaseOf } = this.#parts;
    const lease = leaseOf();
    if (lease === undefined) return false;
    const gone = this.#fleet.gone(); // WF2
    const look = await runs.look(this.runId);
    if (look === undefined) return true;
    const { run, nowMs } = look;
    const workers = this.#fleet.factsOf(look, gone);
    if (isTerminal(run.status)) return !this.#fleet.reap(look);
    await this.#watchServer(look);
    const { measurementAnnouncedMs } = look;
    const actions = decideRun({ ...run, nowMs, measurementAnnouncedMs, workers });
    // The next look is of a run that has ended.
    if (await this.#finalize(look, actions, lease)) return false;
    const facts = await readRunUpdate(runs.store, this.#parts.live, this.runId, logsNone);
    const update = facts && buildRunUpdate(facts);
    const change = await this.#decide(look, actions, facts, update);
    if (!isEmptyChange(change)) await runs.apply(this.runId, run.status, change, lease); // OR2
    await this.#act(look, change, lease);
    if (update !== undefined) await this.#writeSecond(update, look, lease);
    this.#fleet.reap(look);
    return false;
  }

  async #decide(
    look: RunLook,
    actions: readonly RunAction[],
    facts: RunUpdateFacts | undefined,
    update: RunUpdate | undefined,
  ): Promise<RunChange> {
    const change = mergeChanges(actions.map((action) => changeOf(look, action, "orchestrator")));
    const { run, nowMs } = look;
    if (actions.some(({ kind }) => kind === "begin")) {
      const announced = actions.find((action) => action.kind === "announceMeasurement");
      const beginMs = change.warmupEndTimeMs ?? announced?.atMs;
      return beginMs === undefined
        ? change
        : mergeChanges([change, decideFirstStages(look, beginMs)]);
    }
    const isLoaded = run.phase === "WARMUP" || run.phase === "MEASUREMENT";
    if (facts === undefined || update === undefined) return change;
    if (run.status !== "RUNNING" || !isLoaded) return change;
    this.#window ??= new LoadWindow(run.scenario.slos.map(({ of }) => of));
    this.#window.add(nowMs, run.phase, facts.workers);
    // The share of a worker that died in this look is reassigned in the next.
    if (change.status !== undefined || change.phase !== undefined) return change;
    const step = wantsStep(look);
    const measuredStep =
      step === undefined
        ? undefined
        : await this.#parts.runs.store.read((tx) =>
            readStep(tx, this.runId, attemptsOf(step.state), step.queueDetected),
          );
    const { resources } = update.custom_metrics;
    const load = decideLoad({
      look,
      measuredStep,
      guardrails: guardrailFacts(look, this.#window, resources),
      ops: facts.workers.reduce((sum, { snapshot }) => sum + opsOf(snapshot?.series ?? []), 0),
      waiting: resources.waiting,
      isServerQueued: this.#watch?.takeQueued() ?? false,
    });
    return mergeChanges([change, load]);
  }

  /** Performs the effects of a decision outside the store. */
  async #act(look: RunLook, change: RunChange, lease: LeaseGrant): Promise<void> {
    const { run } = look;
    if (change.expectedWorkers !== undefined) {
      this.#fleet.own(run.expectedWorkers, change.expectedWorkers);
    }
    const expectedWorkers = change.expectedWorkers ?? run.expectedWorkers;
    if ((change.status ?? run.status) === "RUNNING") {
      await this.#fleet.spawnMissing({ ...look, run: { ...run, expectedWorkers } }, (ids) =>
        this.#parts.runs.log(
          this.runId,
          ids.map((workerId) => ({ level: "INFO", message: `starting ${workerId}`, workerId })),
          lease,
        ),
      );
    }
    await this.#noteStatements(look, change);
  }

  /** AM3: at the moments when MEASUREMENT begins and ends, as soon as they are known. */
  async #noteStatements({ run, nowMs, ...look }: RunLook, change: RunChange): Promise<void> {
    const { loadMode: mode, durationSeconds: seconds } = run.scenario.workload;
    const begunMs = change.warmupEndTimeMs ?? run.warmupEndTimeMs ?? look.measurementAnnouncedMs;
    if (begunMs !== null && !this.#isBaselineNoted) {
      this.#isBaselineNoted = true;
      const figures = await this.#parts.runs.store.read((tx) => readFigures(tx, this.runId));
      if (!("statements_before" in figures)) {
        this.#watch?.noteStatements("before", begunMs - nowMs);
      }
      const isSearch = mode === "FIND_MAX_CONCURRENCY";
      if (!isSearch) this.#watch?.noteStatements("after", begunMs + seconds * 1000 - nowMs);
    }
    if (change.status !== undefined && begunMs !== null) this.#watch?.noteStatements("after", 0);
  }

  async #finalize(
    { run }: RunLook,
    actions: readonly RunAction[],
    lease: LeaseGrant,
  ): Promise<boolean> {
    const end = actions.find((action) => action.kind === "finalize");
    if (end === undefined) return false;
    const deadWorkers = actions.flatMap((action) => (action.kind === "markDead" ? action : []));
    const logs = [{ level: "INFO", message: `the run is ${end.status}` }] as const;
    const { store } = this.#parts.runs;
    await finalizeRun(
      store,
      this.runId,
      { from: run.status, status: end.status, logs, deadWorkers },
      lease,
    );
    await this.#watch?.stop();
    this.#watch = undefined;
    this.#parts.live.forget(this.runId);
    this.#parts.onEnd(this.runId);
    return true;
  }

  async #writeSecond(update: RunUpdate, look: RunLook, lease: LeaseGrant): Promise<void> {
    const { nowMs } = look;
    if (nowMs - this.#secondAtMs < lookMs * 0.9) return;
    this.#secondAtMs = nowMs;
    const step = look.run.findMax;
    await writeSecond(
      this.#parts.runs.store,
      update,
      {
        nowMs,
        step: step?.stage === "measuring" ? step.state.step : 0,
        interval: this.#window?.lastInterval(),
      },
      lease,
    );
  }

  /** A server that cannot be watched is still loaded. */
  async #watchServer({ run }: RunLook): Promise<void> {
    if (this.#isWatched || run.status !== "RUNNING") return;
    this.#isWatched = true;
    const { runs, lease, clock, logger } = this.#parts;
    const { runId } = run;
    try {
      const target = await openRunTarget(run, this.#parts);
      const statements = run.scenario.workload.operations.flatMap((each) => each.statements);
      const { store } = runs;
      this.#watch = new ServerWatch({ runId, target, statements, store, lease, clock, logger });
      this.#watch.start();
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      logger.warn({ run_id: runId }, `the server is not watched: ${messageOf(thrown)}`);
    }
  }
}

/** Decisions need no log lines. */
const logsNone = Number.MAX_SAFE_INTEGER;

/** Facts of the last seconds. */
function guardrailFacts(
  { run }: RunLook,
  window: LoadWindow,
  { cpu_percent_peak: cpuPercent, memory_percent_peak: memoryPercent }: ResourcesUpdate,
): Omit<GuardrailFacts, "nowMs"> {
  const figures = window.figures("ALL");
  const { ops, errors } = figures;
  const isMeasuring = run.phase === "MEASUREMENT" && window.seconds >= 1;
  const slos = isMeasuring ? run.scenario.slos : [];
  const span = { seconds: window.seconds, availability: null };
  const judged = evaluateSlos(slos, (of) => measuredOf(window.figures(of)), span, "live");
  return {
    cpuPercent,
    memoryPercent,
    errorRatePct: ops === 0 ? null : (errors / ops) * 100,
    p99LatencyMs: summaryOf(figures).p99_latency_ms,
    missedSlos: missedSlos(judged),
  };
}

function opsOf(series: readonly { readonly ops: number }[]): number {
  return series.reduce((sum, { ops }) => sum + ops, 0);
}
