/**
 * What will be done to a world, decided before it starts: a list of faults and queries with their times. The
 * runner draws it from a seed; the property test lets fast-check draw it, and shrink it.
 *
 * Targets are numbers, taken modulo how many there are, so that every list is valid for every topology.
 */
import { createPrng, type Prng } from "../src/kernel/prng.ts";
import type { WorkFate } from "./world/work-body.ts";

export interface Topology {
  readonly workers: number;
  readonly coordinators: number;
  readonly queryApis: number;
}

export interface Settings {
  readonly slots: number;
  readonly queueMax: number;
  readonly spoolBudgetBytes: number;
  readonly artifactTtlMs: number;
  readonly artifactTtlAfterAckMs: number;
  /** How many changes the log keeps: few, so that subscribers fall behind it; more than one transaction makes. */
  readonly changesKept: number;
  readonly queriesMax: number;
  readonly leaseMs: number;
  readonly renewMs: number;
  /** How often the workers table is read without having been poked. */
  readonly discoveryMs: number;
  readonly heartbeatMs: number;
}

export interface PlannedWork {
  readonly runMs: number;
  readonly fate: WorkFate;
  readonly affinity: number;
}

export type Fault =
  /** `dark`: the host goes with the process, so no connection is closed. */
  | {
      readonly kind: "crash";
      readonly process: number;
      readonly dark: boolean;
      readonly forMs: number;
    }
  | { readonly kind: "pause"; readonly process: number; readonly forMs: number }
  | {
      readonly kind: "partition";
      readonly a: number;
      readonly b: number;
      readonly direction: "both" | "a_to_b" | "b_to_a";
      readonly forMs: number;
    }
  | { readonly kind: "isolate"; readonly process: number; readonly forMs: number }
  | {
      readonly kind: "delay";
      readonly a: number;
      readonly b: number;
      readonly extraMs: number;
      readonly forMs: number;
    }
  | { readonly kind: "reset"; readonly a: number; readonly b: number }
  /** The pair's link breaks, and `afterMs` later frames of old sessions arrive on the new one. */
  | {
      readonly kind: "duplicate";
      readonly controller: number;
      readonly worker: number;
      readonly afterMs: number;
    }
  /** The next few artifacts are gone, or damaged, before anybody fetches them. */
  | { readonly kind: "artifact_loss"; readonly worker: number; readonly count: number }
  | { readonly kind: "artifact_corruption"; readonly worker: number; readonly count: number }
  | { readonly kind: "operator_drain"; readonly worker: number; readonly forMs: number }
  /** SIGTERM: the worker drains, exits, and comes back. */
  | {
      readonly kind: "worker_shutdown";
      readonly worker: number;
      readonly drainMs: number;
      readonly forMs: number;
    }
  | { readonly kind: "operator_drop"; readonly worker: number }
  | { readonly kind: "controller_shutdown"; readonly controller: number; readonly forMs: number }
  | { readonly kind: "lost_before_commit"; readonly controller: number }
  | { readonly kind: "lost_after_commit"; readonly controller: number }
  | { readonly kind: "store_outage"; readonly forMs: number }
  | { readonly kind: "store_partition"; readonly controller: number; readonly forMs: number }
  /** Its writes take up to `extraMs` longer and overtake each other: some arrive after the lease has moved on. */
  | {
      readonly kind: "store_slow";
      readonly controller: number;
      readonly extraMs: number;
      readonly forMs: number;
    };

export type FaultKind = Fault["kind"];

export type Action =
  | Fault
  | {
      readonly kind: "query";
      readonly controller: number;
      readonly works: readonly PlannedWork[];
      readonly deadlineMs: number;
      /** The client gives up then; 0: it does not. */
      readonly cancelAfterMs: number;
    };

export type Step = Action & { readonly atMs: number };

export interface Plan {
  readonly seed: number | string;
  readonly topology: Topology;
  readonly settings: Settings;
  /** Faults end here; what follows is healing. */
  readonly durationMs: number;
  /** In order of time. */
  readonly steps: readonly Step[];
}

export const faultKinds: readonly FaultKind[] = [
  "crash",
  "pause",
  "partition",
  "isolate",
  "delay",
  "reset",
  "duplicate",
  "artifact_loss",
  "artifact_corruption",
  "operator_drain",
  "worker_shutdown",
  "operator_drop",
  "controller_shutdown",
  "lost_before_commit",
  "lost_after_commit",
  "store_outage",
  "store_partition",
  "store_slow",
];

/** The virtual time during which faults happen. */
const faultPhaseMs = 600_000;
/** Nothing is broken before everything has come up once. */
const quietMs = 4_000;

/** The whole plan of a seed. */
export function planOf(seed: number): Plan {
  const prng = createPrng(seed).fork("plan");
  const topology = drawTopology(prng.fork("topology"));
  const settings = drawSettings(prng.fork("settings"));
  const steps = [...drawFaults(prng.fork("faults")), ...drawQueries(prng.fork("queries"))].toSorted(
    (left, right) => left.atMs - right.atMs,
  );
  return { seed, topology, settings, durationMs: faultPhaseMs, steps };
}

function drawTopology(prng: Prng): Topology {
  const queryApiDraw = prng.next();
  return {
    // From 2 to 6, small ones more often: they are as likely to break and cheaper to run.
    workers: 2 + Math.min(prng.below(5), prng.below(5)),
    coordinators: prng.next() < 0.7 ? 2 : 1,
    queryApis: queryApiDraw < 0.5 ? 0 : queryApiDraw < 0.9 ? 1 : 2,
  };
}

export function drawSettings(prng: Prng): Settings {
  // The defaults in some seeds; longer ones, which are cheaper to run, in most.
  const isLeaseLong = prng.next() < 0.7;
  return {
    slots: 1 + prng.below(3),
    queueMax: prng.next() < 0.2 ? prng.below(3) : 4 + prng.below(12),
    spoolBudgetBytes: prng.next() < 0.3 ? 150 : 10_000,
    artifactTtlMs: prng.next() < 0.2 ? 1_500 : 40_000,
    artifactTtlAfterAckMs: 5_000,
    changesKept: prng.next() < 0.5 ? 8 : 1_000,
    queriesMax: prng.next() < 0.2 ? 3 : 100,
    leaseMs: isLeaseLong ? 12_000 : 5_000,
    renewMs: isLeaseLong ? 4_000 : 1_500,
    discoveryMs: isLeaseLong ? 20_000 : 5_000,
    heartbeatMs: prng.next() < 0.5 ? 2_000 : 1_000,
  };
}

function drawFaults(prng: Prng): Step[] {
  const count = 24 + prng.below(32);
  const steps: Step[] = [];
  for (let index = 0; index < count; index += 1) {
    const atMs = quietMs + prng.next() * (faultPhaseMs - quietMs - 20_000);
    steps.push({ atMs, ...drawFault(prng) });
    // Trouble comes in clusters: a second fault within the reaction to the first finds most.
    if (prng.next() < 0.35) {
      steps.push({ atMs: atMs + prng.next() * 6_000, ...drawFault(prng) });
      index += 1;
    }
  }
  return steps;
}

function drawFault(prng: Prng): Fault {
  const kind = faultKinds[prng.below(faultKinds.length)] ?? "crash";
  const target = (): number => prng.below(60);
  /** Mostly short, sometimes longer than every timeout. */
  const forMs = (): number =>
    prng.next() < 0.6 ? 50 + prng.next() * 4_000 : 4_000 + prng.next() * 26_000;
  switch (kind) {
    case "crash":
      return { kind, process: target(), dark: prng.next() < 0.4, forMs: forMs() };
    case "pause":
      return { kind, process: target(), forMs: forMs() };
    case "partition": {
      const draw = prng.next();
      const direction = draw < 0.4 ? "both" : draw < 0.7 ? "a_to_b" : "b_to_a";
      return { kind, a: target(), b: target(), direction, forMs: forMs() };
    }
    case "isolate":
      return { kind, process: target(), forMs: forMs() };
    case "delay":
      return { kind, a: target(), b: target(), extraMs: prng.next() * 2_500, forMs: forMs() };
    case "reset":
      return { kind, a: target(), b: target() };
    case "duplicate":
      return { kind, controller: target(), worker: target(), afterMs: 300 + prng.next() * 4_000 };
    case "artifact_loss":
    case "artifact_corruption":
      return { kind, worker: target(), count: 1 + prng.below(4) };
    case "operator_drain":
      return { kind, worker: target(), forMs: forMs() };
    case "worker_shutdown":
      return { kind, worker: target(), drainMs: prng.next() * 8_000, forMs: forMs() };
    case "operator_drop":
      return { kind, worker: target() };
    case "controller_shutdown":
      return { kind, controller: target(), forMs: forMs() };
    case "lost_before_commit":
    case "lost_after_commit":
      return { kind, controller: target() };
    case "store_outage":
      return { kind, forMs: forMs() / 2 };
    case "store_partition":
      return { kind, controller: target(), forMs: forMs() };
    case "store_slow":
      return { kind, controller: target(), extraMs: 2_000 + prng.next() * 18_000, forMs: forMs() };
  }
}

function drawQueries(prng: Prng): Step[] {
  const steps: Step[] = [];
  const meanGapMs = 5_000 + prng.next() * 11_000;
  const poisonShare = prng.next() < 0.35 ? 0.03 : 0;
  for (let atMs = 1_000; atMs < faultPhaseMs; ) {
    const burst = prng.next() < 0.08 ? 2 + prng.below(6) : 1;
    for (let index = 0; index < burst; index += 1) {
      steps.push({ atMs: atMs + index, ...drawQuery(prng, poisonShare) });
    }
    atMs += meanGapMs * (0.1 + 1.8 * prng.next());
  }
  return steps;
}

function drawQuery(prng: Prng, poisonShare: number): Action {
  const works = Array.from({ length: 1 + prng.below(5) }, () => drawWork(prng, poisonShare));
  const cancelAfterMs = prng.next() < 0.1 ? 1 + prng.next() * 3_000 : 0;
  const deadlineMs = prng.next() < 0.1 ? 500 + prng.next() * 3_000 : 20_000 + prng.next() * 40_000;
  return { kind: "query", controller: prng.below(60), works, deadlineMs, cancelAfterMs };
}

function drawWork(prng: Prng, poisonShare: number): PlannedWork {
  const fateDraw = prng.next();
  const fate: WorkFate =
    fateDraw < poisonShare
      ? "poison"
      : fateDraw < poisonShare + 0.02
        ? "fails"
        : fateDraw < poisonShare + 0.05
          ? "flaky"
          : "plain";
  const lengthDraw = prng.next();
  const runMs =
    lengthDraw < 0.6
      ? 1 + prng.next() * 200
      : lengthDraw < 0.97
        ? 200 + prng.next() * 3_000
        : 3_000 + prng.next() * 32_000;
  return { runMs: Math.round(runMs), fate, affinity: prng.below(40) };
}
