/**
 * Checks load tests from outside (I27 to I33): the database's own tables after every transaction,
 * and what processes truly did.
 */

import type { SharedSqlite } from "../../src/ground/store/index.ts";
import type { RunUpdate } from "../../src/kinds/load/core/run-update.ts";
import { readScenario, type WrittenScenario } from "../../src/kinds/load/core/scenario-codec.ts";
import type { WorkerSnapshot } from "../../src/kinds/load/core/worker-snapshot.ts";
import type { LoadProcess } from "../load/load-process.ts";
import type { Counters } from "./counters.ts";
import type { Finding } from "./end-check.ts";
import {
  type HeartbeatRow,
  noRuns,
  type RunRow,
  RunsReader,
  type RunsState,
} from "./runs-state.ts";
import type { Verdict } from "./verdict.ts";

export interface RunCheckOptions {
  readonly database: SharedSqlite;
  readonly verdict: Verdict;
  readonly counters: Counters;
  readonly nowMs: () => number;
  /** All processes that ever ran. */
  readonly processes: () => Iterable<LoadProcess>;
  readonly phaseReached: (phase: string) => void;
  /** Whether no coordinator can manage runs now, or could not a moment ago. */
  readonly isTroubled: () => boolean;
}

const followers: Readonly<Record<string, readonly string[]>> = {
  PREPARED: ["RUNNING", "CANCELLED"],
  RUNNING: ["STOPPING", "CANCELLING"],
  STOPPING: ["COMPLETED"],
  CANCELLING: ["CANCELLED", "FAILED"],
};
const phases = ["", "PREPARING", "WARMUP", "MEASUREMENT", "COOLDOWN", "PROCESSING"];
const workerStatuses = ["STARTING", "READY", "RUNNING", "DRAINING", "COMPLETED", "FAILED", "DEAD"];
const terminal = ["COMPLETED", "FAILED", "CANCELLED"];
const natural = ["duration_elapsed", "find_max_done", "bounds_limit_reached"];
const silenceMs = 60_000;
/** 60 s without the store, the last report, and some slack. */
const outliveMsMax = 80_000;
/**
 * 60 s without a lease, or the store away just before that was over; draining, and the last report.
 */
const leaderlessMsMax = 60_000 + 60_000 + 5_000 + 10_000 + 5_000;
/** From a read to its decision, through a slow store. */
const decisionMsMax = 25_000;
/** From a worker's loss to the others' new targets, while a coordinator can act. */
const shareMsMax = 15_000;

interface ProcessFacts {
  /** Operations of MEASUREMENT in the last acknowledged report. */
  acknowledged: number;
  overdueMs: number;
  leaderlessMs: number;
}

export class RunCheck {
  readonly #options: RunCheckOptions;
  readonly #reader: RunsReader;
  readonly #facts = new Map<LoadProcess, ProcessFacts>();
  readonly #events = new Map<string, { next: number; starts: number; stops: number }>();
  /** When a worker reported again after a minute of silence. */
  readonly #backMs = new Map<string, number>();
  readonly #unsharedMs = new Map<string, number>();
  #state: RunsState = noRuns;

  constructor(options: RunCheckOptions) {
    this.#options = options;
    this.#reader = new RunsReader(options.database);
  }

  isRunning(runId: string): boolean {
    return this.#state.runs.get(runId)?.status === "RUNNING";
  }

  /** A client was told that the run is stopped. */
  stopped(runId: string, wasRunning: boolean): void {
    const run = this.#state.runs.get(runId);
    this.#require(run?.status !== "RUNNING" || !wasRunning, "I27", () => {
      return `${runId} was stopped, and is ${run?.status}`;
    });
  }

  acknowledged(process: LoadProcess, { series }: WorkerSnapshot): void {
    const ops = series
      .filter(({ phase }) => phase === "MEASUREMENT")
      .reduce((sum, each) => sum + each.ops, 0);
    // Less than before where a stop turned up: what was due later is taken back.
    this.#factsOf(process).acknowledged = ops;
  }

  transactionEnded(): void {
    const before = this.#state;
    const after = this.#reader.read();
    this.#state = after;
    for (const run of after.runs.values()) this.#runChanged(before.runs.get(run.run_id), run);
    for (const [key, worker] of after.workers) {
      const was = before.workers.get(key);
      const silentMs = worker.last_heartbeat_ms - (was?.last_heartbeat_ms ?? Infinity);
      if (silentMs >= silenceMs) this.#backMs.set(key, this.#options.nowMs());
      if (was?.status !== worker.status || was.incarnation !== worker.incarnation) {
        this.#workerChanged(was, worker);
      }
    }
  }

  /** I30, and that a lost worker does not keep its share. `elapsedMs`: since the last call. */
  sweep(elapsedMs: number): void {
    const lapsedMs = this.#reader.leaseLapsedMs(this.#options.nowMs());
    for (const process of this.#options.processes()) {
      if (!process.life.isUp) continue;
      const facts = this.#factsOf(process);
      const why = this.#whyOver(process);
      facts.overdueMs = why === undefined ? 0 : facts.overdueMs + elapsedMs;
      this.#require(facts.overdueMs <= outliveMsMax, "I30", () => {
        return `${process.life.name} (${process.workerId}) runs ${facts.overdueMs} ms after ${why}`;
      });
      facts.leaderlessMs = lapsedMs <= 0 ? 0 : facts.leaderlessMs + elapsedMs;
      this.#require(facts.leaderlessMs <= leaderlessMsMax, "I30", () => {
        return `${process.life.name} runs though nobody has led for ${Math.round(lapsedMs)} ms`;
      });
    }
    this.#sweepShares(elapsedMs, lapsedMs);
  }

  findOpen(): Finding | undefined {
    const open = (detail: string): Finding => ({ invariant: "I33", detail });
    for (const { run_id: runId, status, phase } of this.#state.runs.values()) {
      if (status === "PREPARED") continue;
      if (!terminal.includes(status)) return open(`${runId} is still ${status} in ${phase}`);
      const { enrichment } = this.#reader.parent(runId);
      const isOwed = enrichment === "PENDING" || enrichment === "RUNNING";
      if (isOwed) return open(`what comes after ${runId} is still ${enrichment}`);
    }
    for (const { life } of this.#options.processes()) {
      if (!life.isDown) return { invariant: "I30", detail: `${life.name} is still there` };
    }
    return undefined;
  }

  /** I31: of a run that has ended. */
  shown(runId: string, update: RunUpdate): void {
    const run = this.#state.runs.get(runId);
    if (run === undefined || !terminal.includes(run.status) || run.start_time_ms === null) return;
    const { total } = this.#reader.parent(runId);
    const shown = update.run.aggregate_metrics.total_ops;
    this.#require(shown === total && run.total_ops === total, "I31", () => {
      return `of ${runId} ${shown} are shown, its row has ${run.total_ops}, its result ${total}`;
    });
    const logs = this.#reader.logSequences(runId);
    this.#require(
      logs.every((sequence, index) => sequence === index + 1),
      "I28",
      () => {
        return `the log of ${runId} has ${logs.join(", ")}`;
      },
    );
  }

  #runChanged(before: RunRow | undefined, run: RunRow): void {
    if (before !== undefined && isSame(before, run)) return;
    const { run_id: runId, status, phase } = run;
    if (before === undefined) {
      this.#require(status === "PREPARED" && phase === "", "I27", () => `${runId} began ${status}`);
    } else {
      this.#transition(before, run);
    }
    this.#auditEvents(run);
    this.#auditTargets(run);
    this.#auditLive(run);
    if (before?.phase !== phase || before.status !== status) this.#options.phaseReached(phase);
  }

  #transition(before: RunRow, run: RunRow): void {
    const { run_id: runId, status, phase } = run;
    const isForward = phases.indexOf(phase) >= phases.indexOf(before.phase);
    this.#require(isForward, "I27", () => `${runId} went from ${before.phase} to ${phase}`);
    if (status === before.status) return;
    this.#options.counters.add(`load: run ${status}, ${run.stop_reason ?? "no reason"}`);
    this.#require(followers[before.status]?.includes(status) === true, "I27", () => {
      return `${runId} went from ${before.status} to ${status}`;
    });
    if (terminal.includes(status)) this.#ended(run);
  }

  /**
   * I27: the end that its reason asks for; I31 and I32: the sum of what was said, and of nothing
   * else.
   */
  #ended(run: RunRow): void {
    const { run_id: runId, status, stop_reason: reason } = run;
    const wanted = natural.includes(`${reason}`)
      ? "COMPLETED"
      : reason === "user_requested"
        ? "CANCELLED"
        : "FAILED";
    this.#require(status === wanted, "I27", () => `${runId} is ${status} for ${reason}`);
    if (run.start_time_ms === null) return;
    const { total, status: shown } = this.#reader.parent(runId);
    this.#require(shown === status, "I31", () => `${runId} is ${status}, its result ${shown}`);
    const said = this.#reader.stored(runId);
    this.#require(total === said && total === this.#reader.children(runId), "I31", () => {
      return `${runId} has ${total}, its workers said ${said}, its children have ${this.#reader.children(runId)}`;
    });
    const own = [...this.#options.processes()].filter((process) => process.runId === runId);
    const done = sum(own.map(({ executed }) => executed));
    const most = sum(own.map(({ executedMax }) => executedMax));
    const least = sum(own.map((process) => this.#factsOf(process).acknowledged));
    this.#require(total <= most, "I31", () => `${runId} has ${total}, and ${most} were done`);
    this.#require(total >= least, "I32", () => {
      return `${runId} has ${total}, and ${least} had been said`;
    });
    const isClean = own.every(({ end }) => end?.status === "COMPLETED");
    this.#require(!isClean || total === done, "I31", () => {
      return `${runId} has ${total}, all its workers ended well, and ${done} were done`;
    });
    if (isClean && total > 0) this.#options.counters.add("load: exact counts");
    const repeats = this.#reader.stepRepeats(runId);
    this.#require(repeats <= 1, "I28", () => `a step of ${runId} was judged ${repeats} times`);
  }

  /** I28 */
  #auditEvents(run: RunRow): void {
    const { run_id: runId, next_sequence_id: next } = run;
    const known = this.#events.get(runId) ?? { next: 1, starts: 0, stops: 0 };
    this.#events.set(runId, known);
    for (const { event_type: type, sequence_id: sequence } of this.#reader.events(
      runId,
      known.next,
    )) {
      this.#require(
        sequence === known.next,
        "I28",
        () => `${runId}: ${sequence}, not ${known.next}`,
      );
      known.next = sequence + 1;
      if (type === "START") known.starts += 1;
      if (type === "STOP") known.stops += 1;
    }
    this.#require(next === known.next, "I28", () => `${runId}: next is ${next}, not ${known.next}`);
    this.#require(known.starts <= 1 && known.stops <= 1, "I28", () => {
      return `${runId} has ${known.starts} START and ${known.stops} STOP`;
    });
    const isStopped = ["STOPPING", "CANCELLING", "COMPLETED", "FAILED"].includes(run.status);
    this.#require(known.stops === 1 || !isStopped, "I28", () => `${runId} ends without a STOP`);
  }

  /** I29 */
  #auditTargets(run: RunRow): void {
    if (run.status !== "RUNNING") return;
    const targets = Object.values(
      JSON.parse(run.worker_targets) as Record<
        string,
        { target_connections: number; target_qps: number | null }
      >,
    );
    const { workload, findMax } = readScenario(JSON.parse(run.scenario_config) as WrittenScenario);
    const connections = sum(targets.map((each) => each.target_connections));
    const search = JSON.parse(run.find_max_state ?? "null") as {
      state: { connections: number };
    } | null;
    const isSearch = workload.loadMode === "FIND_MAX_CONCURRENCY";
    const wanted = isSearch
      ? (search?.state.connections ?? findMax.startConcurrency)
      : workload.concurrentConnections;
    const isEnough = workload.loadMode === "QPS" ? connections >= wanted : connections === wanted;
    this.#require(isEnough, "I29", () => {
      return `${run.run_id}: ${connections} connections are told, ${wanted} wanted: ${run.worker_targets}`;
    });
    const qps = sum(targets.map((each) => each.target_qps ?? 0));
    const isRight = Math.abs(qps - (workload.targetQps ?? 0)) < 1e-6;
    this.#require(isRight, "I29", () => {
      return `${run.run_id}: ${qps} operations a second are told, ${workload.targetQps} wanted`;
    });
  }

  /** I31: figures of WARMUP are shown while it lasts, and are none of MEASUREMENT. */
  #auditLive({ run_id: runId, status }: RunRow): void {
    if (terminal.includes(status)) return;
    const total = this.#reader.shownMeasured(runId);
    if (total === 0) return;
    const own = [...this.#options.processes()].filter((process) => process.runId === runId);
    const done = sum(own.map(({ executedMax }) => executedMax));
    this.#require(total <= done, "I31", () => `${runId} shows ${total}, and ${done} were done`);
  }

  #workerChanged(before: HeartbeatRow | undefined, worker: HeartbeatRow): void {
    const { run_id: runId, worker_id: workerId, status } = worker;
    this.#options.counters.add(`load: worker ${status}`);
    if (before !== undefined && before.incarnation === worker.incarnation) {
      const isForward = workerStatuses.indexOf(status) > workerStatuses.indexOf(before.status);
      this.#require(isForward, "I27", () => {
        return `${workerId} of ${runId} went from ${before.status} to ${status}`;
      });
    } else if (before !== undefined && before.incarnation !== "") {
      this.#options.counters.add("load: worker superseded");
    }
    if (status !== "DEAD" || worker.incarnation === "") return;
    const process = this.#processOf(worker);
    const silentMs = Math.trunc(this.#options.nowMs()) - worker.last_heartbeat_ms;
    const isGone = process?.life.isDown !== false;
    // It may come back while it is being given up.
    const backMs = this.#backMs.get(`${runId}/${workerId}`) ?? -Infinity;
    const isBack = this.#options.nowMs() - backMs < decisionMsMax;
    this.#require(isGone || isBack || silentMs >= silenceMs, "I32", () => {
      return `${workerId} of ${runId} was given up after ${silentMs} ms, and runs`;
    });
  }

  /** `undefined`: it has its place. */
  #whyOver(process: LoadProcess): string | undefined {
    const run = this.#state.runs.get(process.runId);
    if (run === undefined || terminal.includes(run.status)) return `its run was ${run?.status}`;
    const row = this.#state.workers.get(`${process.runId}/${process.workerId}`);
    if (row === undefined) return undefined;
    if (row.status === "DEAD" && row.process_id === process.processId) return "it was given up";
    const isOlder = row.process_id > process.processId && row.incarnation !== process.incarnation;
    return isOlder ? "another had its name" : undefined;
  }

  #sweepShares(elapsedMs: number, lapsedMs: number): void {
    for (const run of this.#state.runs.values()) {
      const isLoaded = run.phase === "WARMUP" || run.phase === "MEASUREMENT";
      if (run.status !== "RUNNING" || !isLoaded) continue;
      const names = Object.keys(JSON.parse(run.worker_targets) as object);
      const lost = names.find((name) => {
        const status = this.#state.workers.get(`${run.run_id}/${name}`)?.status;
        return status === "DEAD" || status === "FAILED";
      });
      const unsharedMs =
        lost === undefined || lapsedMs > 0 || this.#options.isTroubled()
          ? 0
          : (this.#unsharedMs.get(run.run_id) ?? 0) + elapsedMs;
      this.#unsharedMs.set(run.run_id, unsharedMs);
      this.#require(unsharedMs <= shareMsMax, "I29", () => {
        return `${lost} of ${run.run_id} is lost and has a share for ${unsharedMs} ms`;
      });
    }
  }

  #processOf(worker: HeartbeatRow): LoadProcess | undefined {
    for (const process of this.#options.processes()) {
      if (process.processId === worker.process_id) return process;
    }
    return undefined;
  }

  #factsOf(process: LoadProcess): ProcessFacts {
    const known = this.#facts.get(process) ?? { acknowledged: 0, overdueMs: 0, leaderlessMs: 0 };
    this.#facts.set(process, known);
    return known;
  }

  #require(
    holds: boolean,
    invariant: Parameters<Verdict["require"]>[1],
    detail: () => string,
  ): void {
    this.#options.verdict.require(holds, invariant, detail);
  }
}

function isSame(left: RunRow, right: RunRow): boolean {
  return (
    left.status === right.status &&
    left.phase === right.phase &&
    left.next_sequence_id === right.next_sequence_id &&
    left.worker_targets === right.worker_targets &&
    left.find_max_state === right.find_max_state &&
    left.total_ops === right.total_ops
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((all, each) => all + each, 0);
}
