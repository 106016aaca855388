/**
 * What will be done to a world, decided before it starts: a list of faults and queries with their
 * times. The runner draws it from a seed; the property test lets fast-check draw it, and shrink it.
 *
 * Targets are numbers, taken modulo how many there are, so that every list is valid for every
 * topology.
 */
import { createPrng, type Prng } from "../src/ground/kernel/prng.ts";
import {
  drawLoadSettings,
  drawLoadSteps,
  type LoadAction,
  type LoadFault,
  type LoadSettings,
} from "./load/plan-load.ts";
import { drawExpression } from "./promql/expressions.ts";
import {
  drawStreamFault,
  drawStreamSteps,
  drawStreamsSettings,
  type StreamAction,
  type StreamFault,
  type StreamsSettings,
  streamFaultKinds,
} from "./streams/plan-streams.ts";
import {
  drawTableSteps,
  drawTablesSettings,
  type TableAction,
  type TableFault,
  type TablesSettings,
} from "./tables/plan-tables.ts";
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
  /**
   * How many changes the log keeps: few, so that subscribers fall behind it; more than one
   * transaction makes.
   */
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

/** A query in PromQL, asked of the metrics as they are when it is asked. */
export interface PlannedPromql {
  readonly text: string;
  readonly instant: boolean;
  /** Its last step, counted from the newest samples there are: up to a moment after them. */
  readonly endMs: number;
  readonly stepMs: number;
  readonly stepCount: number;
  /** A power of two. */
  readonly shardCount: number;
  readonly spanCount: number;
  /** How long its works take, in turn. */
  readonly runMs: readonly number[];
}

export type Fault =
  /** `dark`: the host fails with the process, so no connection is closed. */
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
  /** Most links of the cluster break, again and again, while everybody is still reconnecting. */
  | { readonly kind: "reconnect_storm"; readonly rounds: number; readonly gapMs: number }
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
  /**
   * The next worker that executes a leaf of a PromQL query is killed when this share of its time is
   * over.
   */
  | {
      readonly kind: "leaf_kill";
      readonly share: number;
      readonly dark: boolean;
      readonly forMs: number;
    }
  /**
   * The next artifacts of leaves, wherever, are gone after they were offered and before they are
   * fetched.
   */
  | { readonly kind: "leaf_artifact_loss"; readonly count: number }
  /** The next controller that has told some spans of a PromQL query, and not all, is killed. */
  | { readonly kind: "crash_between_spans"; readonly dark: boolean; readonly forMs: number }
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
  /**
   * Its writes take up to `extraMs` longer and overtake each other: some arrive after the lease has
   * moved on.
   */
  | {
      readonly kind: "store_slow";
      readonly controller: number;
      readonly extraMs: number;
      readonly forMs: number;
    }
  | TableFault
  | LoadFault
  | StreamFault;

export type FaultKind = Fault["kind"];

export type Action =
  | Fault
  | TableAction
  | LoadAction
  | StreamAction
  | {
      readonly kind: "query";
      readonly controller: number;
      readonly works: readonly PlannedWork[];
      readonly deadlineMs: number;
      /** When the client gives up; 0 for never. */
      readonly cancelAfterMs: number;
    }
  | {
      readonly kind: "promql";
      readonly controller: number;
      readonly query: PlannedPromql;
      readonly deadlineMs: number;
      readonly cancelAfterMs: number;
    };

export type Step = Action & { readonly atMs: number };

export interface Plan {
  readonly seed: number | string;
  readonly topology: Topology;
  readonly settings: Settings;
  /** Undefined when this world has no lake and no dynamic tables. */
  readonly tables?: TablesSettings;
  /** Undefined when this world has no load tests. */
  readonly load?: LoadSettings;
  /** Undefined when this world has no continuous queries. */
  readonly streams?: StreamsSettings;
  /** Faults end here; what follows is healing. */
  readonly durationMs: number;
  /** In order of time. */
  readonly steps: readonly Step[];
}

type CommonKind = Exclude<FaultKind, TableFault["kind"] | LoadFault["kind"] | StreamFault["kind"]>;

/**
 * Those of every world. Worlds with tables or load tests have others besides: `tableFaultKinds`,
 * `loadFaultKinds`.
 */
export const faultKinds: readonly CommonKind[] = [
  "crash",
  "pause",
  "partition",
  "isolate",
  "delay",
  "reset",
  "reconnect_storm",
  "duplicate",
  "artifact_loss",
  "artifact_corruption",
  "leaf_kill",
  "leaf_artifact_loss",
  "crash_between_spans",
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

const workFaultKinds: ReadonlySet<CommonKind> = new Set([
  "artifact_loss",
  "artifact_corruption",
  "leaf_kill",
  "leaf_artifact_loss",
  "crash_between_spans",
]);

/** Those of worlds with continuous queries. */
export const streamsFaultKinds: readonly FaultKind[] = [
  ...faultKinds.filter((kind) => !workFaultKinds.has(kind)),
  ...streamFaultKinds,
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
  const faults = drawFaults(prng.fork("faults"));
  const queries = drawQueries(prng.fork("queries"));
  const plan = { seed, topology, settings, durationMs: faultPhaseMs };
  if (hasLoad(seed)) {
    const load = drawLoadSettings(prng.fork("load"));
    const steps = drawLoadSteps(prng.fork("load steps"), faultPhaseMs);
    return {
      ...plan,
      topology: { ...topology, workers: 2, queryApis: 0 },
      load,
      // Few queries, and half of the other faults: runs have their own.
      steps: inOrder([
        ...faults.filter((_, index) => index % 2 === 0),
        ...steps,
        ...queries.filter((_, index) => index % 16 === 0),
      ]),
    };
  }
  if (!hasTables(seed)) return { ...plan, steps: inOrder([...faults, ...queries]) };
  const tables = drawTablesSettings(prng.fork("tables"));
  const steps = drawTableSteps(prng.fork("table steps"), faultPhaseMs);
  // One transaction about tables makes more changes than the shortest log keeps.
  const changesKept = Math.max(settings.changesKept, 64);
  return {
    ...plan,
    settings: { ...settings, changesKept },
    tables,
    // Few queries: what they can meet, the other worlds show.
    steps: inOrder([...faults, ...steps, ...queries.filter((_, index) => index % 8 === 0)]),
  };
}

/** Worlds of another kind: one machine and its disk. */
export type DiskSuite = "log" | "disk";

/** `tables` and `load` are the seeds of `fleet` whose worlds have these. */
export const suites = ["fleet", "tables", "load", "streams", "log", "disk"] as const;
export type Suite = (typeof suites)[number];

export function isDiskSuite(suite: Suite): suite is DiskSuite {
  return suite === "log" || suite === "disk";
}

/** The plan of a seed of a suite of fleets. */
export function planIn(suite: Suite, seed: number): Plan {
  return suite === "streams" ? planOfStreams(seed) : planOf(seed);
}

/** The virtual time during which faults happen to continuous queries. */
const streamsPhaseMs = 150_000;
/** Workers, sources and sinks are there by then. */
const streamsQuietMs = 7_000;

/** A world with continuous queries. */
export function planOfStreams(seed: number): Plan {
  const prng = createPrng(seed).fork("streams plan");
  const drawn = drawTopology(prng.fork("topology"));
  const topology = { ...drawn, queryApis: 0 };
  const settings = drawSettings(prng.fork("settings"));
  return {
    seed,
    topology,
    // One transaction about streams makes more changes than the shortest log keeps.
    settings: { ...settings, changesKept: Math.max(settings.changesKept, 256) },
    streams: drawStreamsSettings(prng.fork("streams"), topology.workers),
    durationMs: streamsPhaseMs,
    steps: inOrder([
      ...drawStreamsFaults(prng.fork("faults")),
      ...drawStreamSteps(prng.fork("stream steps"), streamsPhaseMs),
    ]),
  };
}

/** One world in ten, because they take longer. */
export function hasTables(seed: number): boolean {
  return seed % 10 === 0;
}

/** One world in twenty, because they take longer still. */
export function hasLoad(seed: number): boolean {
  return seed % 20 === 15;
}

function inOrder(steps: readonly Step[]): readonly Step[] {
  return steps.toSorted((left, right) => left.atMs - right.atMs);
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
    // A leaf's artifact has one to eight thousand bytes; all of them must fit, one at a time.
    spoolBudgetBytes: prng.next() < 0.3 ? 16_000 : 1_000_000,
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
  const betweenMs = [quietMs, faultPhaseMs - 20_000] as const;
  return drawFaultSteps(prng, count, betweenMs, () => drawFault(prng, faultKinds));
}

function drawFaultSteps(
  prng: Prng,
  count: number,
  [fromMs, untilMs]: readonly [number, number],
  draw: () => Fault,
): Step[] {
  const steps: Step[] = [];
  for (let index = 0; index < count; index += 1) {
    const atMs = fromMs + prng.next() * (untilMs - fromMs);
    steps.push({ atMs, ...draw() });
    // Trouble comes in clusters: a second fault within the reaction to the first finds most.
    if (prng.next() < 0.35) {
      steps.push({ atMs: atMs + prng.next() * 6_000, ...draw() });
      index += 1;
    }
  }
  return steps;
}

/** Faults of continuous queries, and those of every world that are not about other work. */
function drawStreamsFaults(prng: Prng): Step[] {
  const count = 5 + prng.below(12);
  const kinds = faultKinds.filter((kind) => !workFaultKinds.has(kind));
  const draw = (): Fault => (prng.next() < 0.35 ? drawStreamFault(prng) : drawFault(prng, kinds));
  return drawFaultSteps(prng, count, [streamsQuietMs, streamsPhaseMs - 10_000], draw);
}

function drawFault(prng: Prng, kinds: readonly CommonKind[]): Fault {
  const kind = kinds[prng.below(kinds.length)] ?? "crash";
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
    case "reconnect_storm":
      return { kind, rounds: 2 + prng.below(4), gapMs: 20 + prng.next() * 1_500 };
    case "duplicate":
      return { kind, controller: target(), worker: target(), afterMs: 300 + prng.next() * 4_000 };
    case "artifact_loss":
    case "artifact_corruption":
      return { kind, worker: target(), count: 1 + prng.below(4) };
    case "leaf_kill":
      return { kind, share: prng.next(), dark: prng.next() < 0.4, forMs: forMs() };
    case "leaf_artifact_loss":
      return { kind, count: 1 + prng.below(4) };
    case "crash_between_spans":
      return { kind, dark: prng.next() < 0.4, forMs: forMs() };
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

/** The share of queries that are PromQL. They cost more to run than the others. */
const promqlShare = 0.2;

function drawQuery(prng: Prng, poisonShare: number): Action {
  const cancelAfterMs = prng.next() < 0.1 ? 1 + prng.next() * 3_000 : 0;
  const deadlineMs = prng.next() < 0.1 ? 500 + prng.next() * 3_000 : 20_000 + prng.next() * 40_000;
  const controller = prng.below(60);
  if (prng.next() < promqlShare) {
    return { kind: "promql", controller, query: drawPromql(prng), deadlineMs, cancelAfterMs };
  }
  const works = Array.from({ length: 1 + prng.below(5) }, () => drawWork(prng, poisonShare));
  return { kind: "query", controller, works, deadlineMs, cancelAfterMs };
}

export function drawPromql(prng: Prng): PlannedPromql {
  const { text, instantOnly } = drawExpression(prng);
  const instant = instantOnly || prng.next() < 0.2;
  // Half of them ask for now, as dashboards do: samples up to their last step are still to come.
  const endMs = prng.next() < 0.5 ? prng.below(45_000) - 15_000 : -prng.below(2_400_000);
  return {
    text,
    instant,
    endMs,
    stepMs: [15_000, 30_000, 60_000, 77_777][prng.below(4)] ?? 60_000,
    stepCount: instant ? 1 : 2 + prng.below(24),
    shardCount: [1, 1, 2, 4][prng.below(4)] ?? 1,
    spanCount: instant ? 1 : 1 + prng.below(3),
    runMs: Array.from({ length: 1 + prng.below(5) }, () => drawRunMs(prng, 8_000)),
  };
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
  return { runMs: drawRunMs(prng, 35_000), fate, affinity: prng.below(40) };
}

/** Mostly short, seldom longer than most deadlines. */
function drawRunMs(prng: Prng, msMax: number): number {
  const draw = prng.next();
  if (draw < 0.6) return Math.round(1 + prng.next() * 200);
  if (draw < 0.97) return Math.round(200 + prng.next() * 3_000);
  return Math.round(3_000 + prng.next() * (msMax - 3_000));
}
