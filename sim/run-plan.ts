/**
 * One run: faults and queries as planned, then healing, then the final checks. The plan decides
 * everything that happens.
 */
import { messageOf } from "../src/ground/kernel/errors.ts";
import type { Counts } from "./checks/counters.ts";
import { type Finding, findLeftovers, findUnconverged } from "./checks/end-check.ts";
import type { Violation } from "./checks/verdict.ts";
import { drive, turn } from "./engine/drive.ts";
import type { LoadWorld } from "./load/load-world.ts";
import type { Plan, PlannedPromql } from "./plan.ts";
import { productionSeams, type Seams } from "./seams.ts";
import type { StreamsWorld } from "./streams/streams-world.ts";
import type { TableService } from "./tables/table-clients.ts";
import type { TablesWorld } from "./tables/tables-world.ts";
import { Faults } from "./world/faults.ts";
import { World } from "./world/world.ts";

export interface RunResult {
  readonly seed: number | string;
  readonly violation: Violation | undefined;
  readonly virtualMs: number;
  readonly eventCount: number;
  readonly faultCount: number;
  readonly counts: Counts;
  /** Two runs have equal hashes exactly when the same things happened. */
  readonly traceHash: string;
}

export interface RunOptions {
  readonly seams?: Seams;
  readonly print?: (line: string) => void;
}

/** After healing: leases, backoffs, registrations and reconcilers follow one another. */
const convergeMs = 75_000;
const probeMs = 15_000;
const lookMs = 1_000;

export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const world = new World(plan, options.seams ?? productionSeams, options.print);
  const faults = new Faults(world);
  const escaped = (thrown: unknown): void => {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : messageOf(thrown);
    world.verdict.fail("I14", `an unhandled rejection: ${text}`);
  };
  process.on("unhandledRejection", escaped);
  try {
    world.start();
    for (const step of plan.steps) world.timeline.at(step.atMs, () => faults.perform(step));
    await advance(world, plan.durationMs);
    if (world.verdict.violation === undefined) faults.heal();
    await advanceUntilClean(world, convergeMs, findUnconverged);
    askEveryone(world);
    const { artifactTtlMs, artifactTtlAfterAckMs } = plan.settings;
    const leftoverMs = probeMs + artifactTtlMs + artifactTtlAfterAckMs + 1_000;
    await advanceUntilClean(world, leftoverMs, findLeftovers);
    if (world.tables !== undefined) await endTables(world, world.tables);
    if (world.load !== undefined) await endLoad(world, world.load);
    if (world.streams !== undefined) await endStreams(world, world.streams);
    await turn();
  } finally {
    process.off("unhandledRejection", escaped);
    world.close();
  }
  return {
    seed: plan.seed,
    violation: world.verdict.violation,
    virtualMs: world.nowMs,
    eventCount: world.timeline.fired,
    faultCount: faults.count,
    counts: world.counters.all(),
    traceHash: world.trace.digest(),
  };
}

/** Longer than any target lag and the pauses of what failed before. */
const freshMs = 120_000;

/** A suspended table may read a stopped one, and the other way around. */
const stoppedLevels = 3;

/** Waits until every table is fresh and, at rest, everything unneeded has been removed. */
async function endTables(world: World, tables: TablesWorld): Promise<void> {
  const healedMs = world.nowMs;
  for (let level = 0; level < stoppedLevels; level += 1) {
    await operate(world, (service) => tables.clients.resumeHeld(service));
    await operate(world, (service) => tables.clients.changeAll(service));
    await advanceUntilClean(world, freshMs, () => tables.findStopped());
  }
  await operate(world, (service) => tables.clients.reviveAll(service));
  await advanceUntilClean(world, freshMs, () => tables.findStale(healedMs));
  await operate(world, (service) => tables.clients.suspendAll(service));
  const { orphanMs, snapshotMsMax, graceMs, upkeepMs } = tables.settings;
  const quietMs = Math.max(orphanMs, snapshotMsMax + graceMs) + 4 * upkeepMs;
  await advanceUntilClean(world, quietMs, () => tables.findLeftover(), upkeepMs);
}

/** The longest run, its start and its draining; most end at once. */
const runMsMax = 480_000;

/** Waits until every run has ended, and compares what is shown of it. */
async function endLoad(world: World, load: LoadWorld): Promise<void> {
  await advanceUntilClean(world, runMsMax, () => load.findOpen());
  const coordinator = world.leader?.load;
  if (world.verdict.violation !== undefined || coordinator === undefined) return;
  let isDone = false;
  coordinator.life.receive(() => {
    void load.compareShown(coordinator).then(() => {
      isDone = true;
    });
  });
  const finding: Finding = { invariant: "I33", detail: "nobody says what became of runs" };
  await advanceUntilClean(world, 20_000, () => (isDone ? undefined : finding));
}

/** A soft stop takes a minute, and what was refused is tried again after half of one. */
const settleMs = 150_000;

/** Waits until workers run what the catalog wants, and nothing else. */
async function endStreams(world: World, streams: StreamsWorld): Promise<void> {
  await advanceUntilClean(world, settleMs, () => streams.findUnsettled());
}

/** Runs `act` on the leader and waits for it. */
async function operate(world: World, act: (service: TableService) => Promise<void>): Promise<void> {
  const service = world.leader?.tableService;
  if (world.verdict.violation !== undefined || service === undefined) return;
  let isDone = false;
  service.life.receive(() => {
    void act(service).then(() => {
      isDone = true;
    });
  });
  const finding: Finding = { invariant: "I22", detail: "an operator is not answered" };
  await advanceUntilClean(world, 20_000, () => (isDone ? undefined : finding));
}

/** Runs until `untilMs`, or until something is violated. */
function advance(world: World, untilMs: number): Promise<void> {
  return drive(() => {
    if (world.verdict.violation !== undefined) return false;
    const isMore = world.timeline.step(untilMs);
    if (isMore) world.eventEnded();
    return isMore;
  });
}

/** Runs until `find` finds nothing. What it still finds after `withinMs` is a violation. */
async function advanceUntilClean(
  world: World,
  withinMs: number,
  find: (world: World) => Finding | undefined,
  everyMs = lookMs,
): Promise<void> {
  const endMs = world.nowMs + withinMs;
  for (;;) {
    await advance(world, Math.min(endMs, world.nowMs + everyMs));
    if (world.verdict.violation !== undefined) return;
    const finding = find(world);
    if (finding === undefined) return;
    if (world.nowMs < endMs) continue;
    world.verdict.fail(finding.invariant, finding.detail);
    return;
  }
}

/** A query that everybody can answer in the end, over all shards and in two spans. */
const probe: PlannedPromql = {
  text: "sum by (job) (rate(requests_total[2m])) + on (job) max by (job) (memory_bytes)",
  instant: false,
  endMs: 0,
  stepMs: 60_000,
  stepCount: 6,
  shardCount: 2,
  spanCount: 2,
  runMs: [20],
};

/** Asks every serving controller, which must now answer correctly. */
function askEveryone(world: World): void {
  if (world.verdict.violation !== undefined) return;
  const works = world.workers.map((_, affinity) => ({
    runMs: 20,
    fate: "plain" as const,
    affinity,
  }));
  for (const host of world.controllers.filter(({ serves }) => serves)) {
    for (const asks of [works, probe]) {
      world.clients.ask(host, {
        asks,
        deadlineMs: probeMs - 1_000,
        cancelAfterMs: 0,
        mustSucceed: true,
      });
    }
  }
}
