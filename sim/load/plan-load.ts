/** The plan of load tests in a world: runs, and faults of their processes. */
import type { Prng } from "../../src/ground/kernel/prng.ts";

export interface LoadSettings {
  /** From a process's start to its registration; some take much longer. */
  readonly bootMs: number;
  /** The number of operations that the target handles at a time. */
  readonly servers: number;
  readonly serviceMs: number;
  /** The share of live posts that do not arrive. */
  readonly postLoss: number;
}

export interface PlannedRun {
  readonly mode: "CONCURRENCY" | "QPS" | "FIND_MAX_CONCURRENCY";
  readonly workers: number;
  readonly connections: number;
  readonly qps: number;
  readonly warmupSeconds: number;
  readonly durationSeconds: number;
}

/** Phases in which a coordinator is killed. The empty one is before any worker was started. */
export const crashPhases = [
  "",
  "PREPARING",
  "WARMUP",
  "MEASUREMENT",
  "COOLDOWN",
  "PROCESSING",
] as const;
export type CrashPhase = (typeof crashPhases)[number];

export type LoadAction =
  | { readonly kind: "load_start"; readonly run: PlannedRun }
  /** The index of a started run, taken modulo. */
  | { readonly kind: "load_stop"; readonly run: number };

export type LoadFault =
  /** SIGKILL of a load worker. */
  | { readonly kind: "load_kill"; readonly process: number }
  /** SIGSTOP: stale after 30 s, given up after 60 s, and a zombie when it resumes. */
  | { readonly kind: "load_pause"; readonly process: number; readonly forMs: number }
  /** Its machine is suspended: its own clock stands still meanwhile. */
  | { readonly kind: "load_freeze"; readonly process: number; readonly forMs: number }
  /** One of the next events that a worker reads is lost, or all are seen later. */
  | { readonly kind: "load_event_lost"; readonly process: number; readonly count: number }
  | { readonly kind: "load_event_late"; readonly process: number; readonly forMs: number }
  | { readonly kind: "load_store_cut"; readonly process: number; readonly forMs: number }
  | { readonly kind: "load_commit_lost"; readonly process: number; readonly isAfter: boolean }
  | { readonly kind: "load_target_down"; readonly forMs: number }
  /** The leader is killed when the next run reaches this phase. */
  | {
      readonly kind: "load_phase_crash";
      readonly phase: CrashPhase;
      readonly afterMs: number;
      readonly dark: boolean;
      readonly forMs: number;
    }
  /** The leader's next commit in this phase is lost, before or after it was done. */
  | { readonly kind: "load_phase_lost"; readonly phase: CrashPhase; readonly isAfter: boolean }
  /** There is no coordinator for longer than workers wait for one. */
  | { readonly kind: "load_leaderless"; readonly forMs: number }
  /** The store is away for less than a minute, or for more. */
  | { readonly kind: "load_store_outage"; readonly forMs: number };

export type LoadStep = (LoadAction | LoadFault) & { readonly atMs: number };

export const loadFaultKinds: readonly LoadFault["kind"][] = [
  "load_kill",
  "load_pause",
  "load_freeze",
  "load_event_lost",
  "load_event_late",
  "load_store_cut",
  "load_commit_lost",
  "load_target_down",
  "load_phase_crash",
  "load_phase_lost",
  "load_leaderless",
  "load_store_outage",
];

export function drawLoadSettings(prng: Prng): LoadSettings {
  return {
    bootMs: prng.next() < 0.5 ? 300 : 3_000,
    servers: 4 + prng.below(6),
    serviceMs: 300 + prng.below(700),
    postLoss: prng.next() < 0.5 ? 0 : 0.3,
  };
}

const runCount = 5;

/** All steps until `untilMs`. */
export function drawLoadSteps(prng: Prng, untilMs: number): LoadStep[] {
  const steps: LoadStep[] = [];
  const everyMs = (untilMs - 20_000) / runCount;
  for (let run = 0; run < runCount; run += 1) {
    const atMs = 6_000 + run * everyMs + prng.next() * everyMs * 0.5;
    steps.push({ atMs, kind: "load_start", run: drawRun(prng) });
    if (prng.next() < 0.25) {
      steps.push({ atMs: atMs + prng.next() * 60_000, kind: "load_stop", run });
    }
    // During the run: a fault without a run has no effect.
    const faults = 1 + prng.below(4);
    for (let fault = 0; fault < faults; fault += 1) {
      const within = prng.next() * 70_000;
      steps.push({ atMs: Math.min(untilMs - 1, atMs + within), ...drawLoadFault(prng) });
    }
    if (prng.next() < 0.6) {
      const fault = prng.next() < 0.6 ? drawPhaseCrash(prng) : drawPhaseLoss(prng);
      steps.push({ atMs: Math.max(5_000, atMs - 1_000), ...fault });
    }
  }
  return steps.filter(({ atMs }) => atMs < untilMs);
}

function drawRun(prng: Prng): PlannedRun {
  const draw = prng.next();
  const workers = 1 + prng.below(4);
  return {
    mode: draw < 0.6 ? "CONCURRENCY" : draw < 0.8 ? "QPS" : "FIND_MAX_CONCURRENCY",
    workers,
    connections: workers + prng.below(6),
    qps: 3 + prng.below(8),
    warmupSeconds: prng.next() < 0.3 ? 0 : 1 + prng.below(12),
    durationSeconds: 10 + prng.below(50),
  };
}

function drawPhase(prng: Prng): CrashPhase {
  return crashPhases[prng.below(crashPhases.length)] ?? "";
}

function drawPhaseLoss(prng: Prng): LoadFault {
  return { kind: "load_phase_lost", phase: drawPhase(prng), isAfter: prng.next() < 0.7 };
}

function drawPhaseCrash(prng: Prng): LoadFault {
  return {
    kind: "load_phase_crash",
    phase: drawPhase(prng),
    afterMs: prng.next() < 0.5 ? 0 : prng.next() * 3_000,
    dark: prng.next() < 0.3,
    forMs: 500 + prng.next() * 20_000,
  };
}

export function drawLoadFault(prng: Prng): LoadFault {
  const kind = loadFaultKinds[prng.below(loadFaultKinds.length)] ?? "load_kill";
  const process = prng.below(60);
  /** Short, stale, or dead. */
  const silenceMs = (): number => {
    const draw = prng.next();
    if (draw < 0.3) return 2_000 + prng.next() * 26_000;
    return draw < 0.6 ? 30_000 + prng.next() * 25_000 : 61_000 + prng.next() * 50_000;
  };
  switch (kind) {
    case "load_kill":
      return { kind, process };
    case "load_pause":
    case "load_freeze":
    case "load_store_cut":
      return { kind, process, forMs: silenceMs() };
    case "load_event_lost":
      return { kind, process, count: 1 + prng.below(3) };
    case "load_event_late":
      return { kind, process, forMs: 2_000 + prng.next() * 30_000 };
    case "load_commit_lost":
      return { kind, process, isAfter: prng.next() < 0.6 };
    case "load_target_down":
      return { kind, forMs: 1_000 + prng.next() * 20_000 };
    case "load_phase_crash":
      return drawPhaseCrash(prng);
    case "load_phase_lost":
      return drawPhaseLoss(prng);
    case "load_leaderless":
      return {
        kind,
        forMs: prng.next() < 0.5 ? 20_000 + prng.next() * 30_000 : 70_000 + prng.next() * 40_000,
      };
    case "load_store_outage":
      return {
        kind,
        forMs: prng.next() < 0.5 ? 15_000 + prng.next() * 35_000 : 65_000 + prng.next() * 30_000,
      };
  }
}
