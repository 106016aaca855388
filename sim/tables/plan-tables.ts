/**
 * What is done to the lake and to dynamic tables in a world that has them. Tables are numbers:
 * plain ones are `p0`, `p1`, and dynamic ones `d0` and so on, each of which reads plain tables and
 * dynamic ones of lower numbers.
 */
import type { Prng } from "../../src/ground/kernel/prng.ts";
import { type RefreshStep, refreshSteps } from "./sim-refresher.ts";

export interface TablesSettings {
  readonly plainCount: number;
  /** How long claims hold. */
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly slots: number;
  readonly suspendAfterMs: number;
  readonly lossesMax: number;
  /** The interval of the lake's upkeep. */
  readonly upkeepMs: number;
  readonly snapshotMsMax: number;
  readonly graceMs: number;
  readonly orphanMs: number;
  readonly mergeFilesMin: number;
  /** How long most refreshes take; some take much longer. */
  readonly refreshMs: number;
}

/** The definition of a dynamic table, in a plan. */
export interface PlannedTable {
  readonly table: number;
  /** Tables of lower numbers, taken modulo; plain ones are below `plainCount`. */
  readonly sources: readonly number[];
  readonly salt: number;
  /** 0 for DOWNSTREAM. */
  readonly lagMs: number;
  readonly mode: "AUTO" | "FULL";
  readonly initialize: "ON_CREATE" | "ON_SCHEDULE";
}

export type TableAction =
  | ({ readonly kind: "table_create"; readonly controller: number } & PlannedTable)
  | ({ readonly kind: "table_replace"; readonly controller: number } & PlannedTable)
  | {
      readonly kind: "table_insert";
      readonly controller: number;
      readonly table: number;
      readonly rows: number;
    }
  /** UPDATE of one row in `divisor`, or DELETE. */
  | {
      readonly kind: "table_change";
      readonly controller: number;
      readonly table: number;
      readonly divisor: number;
      readonly isUpdate: boolean;
    }
  | { readonly kind: "table_request"; readonly controller: number; readonly table: number }
  | { readonly kind: "table_suspend"; readonly controller: number; readonly table: number }
  | { readonly kind: "table_resume"; readonly controller: number; readonly table: number }
  | { readonly kind: "table_drop"; readonly controller: number; readonly table: number }
  | {
      readonly kind: "table_lag";
      readonly controller: number;
      readonly table: number;
      readonly lagMs: number;
    };

export type TableFault =
  /** Kills the next worker whose refresh reaches the step. */
  | {
      readonly kind: "refresh_crash";
      readonly step: RefreshStep;
      readonly dark: boolean;
      readonly forMs: number;
    }
  /** Pauses it there, mostly for longer than its claim holds. */
  | { readonly kind: "refresh_pause"; readonly step: RefreshStep; readonly forMs: number }
  /** The next refreshes fail. `permanent`: the definition is reported as the cause. */
  | { readonly kind: "refresh_failure"; readonly count: number; readonly permanent: boolean }
  | { readonly kind: "object_errors"; readonly count: number }
  | { readonly kind: "object_outage"; readonly forMs: number }
  /** The wall clock of a process is set. */
  | { readonly kind: "clock_set"; readonly process: number; readonly byMs: number }
  /** A worker's machine is suspended: its own clock stands still meanwhile. */
  | { readonly kind: "clock_freeze"; readonly worker: number; readonly forMs: number }
  /** The store is away; the pending commit is done, or is not. */
  | { readonly kind: "store_failover"; readonly forMs: number };

export type TableStep = (TableAction | TableFault) & { readonly atMs: number };

export const tableFaultKinds: readonly TableFault["kind"][] = [
  "refresh_crash",
  "refresh_pause",
  "refresh_failure",
  "object_errors",
  "object_outage",
  "clock_set",
  "clock_freeze",
  "store_failover",
];

export const dynamicCount = 5;

export function drawTablesSettings(prng: Prng): TablesSettings {
  return {
    plainCount: 1 + prng.below(3),
    leaseMs: prng.next() < 0.5 ? 6_000 : 12_000,
    heartbeatMs: 2_000,
    slots: 1 + prng.below(2),
    suspendAfterMs: prng.next() < 0.5 ? 3_000 : 3_600_000,
    lossesMax: prng.next() < 0.3 ? 4 : 1_000,
    upkeepMs: 20_000,
    snapshotMsMax: prng.next() < 0.5 ? 30_000 : 90_000,
    graceMs: 90_000,
    orphanMs: 150_000,
    mergeFilesMin: 4,
    refreshMs: prng.next() < 0.3 ? 3_000 : 400,
  };
}

/** All steps on tables until `untilMs`. */
export function drawTableSteps(prng: Prng, untilMs: number): TableStep[] {
  const steps: TableStep[] = [];
  for (let table = 0; table < dynamicCount; table += 1) {
    steps.push({
      atMs: 3_000 + table * 400,
      kind: "table_create",
      controller: 0,
      ...drawTable(prng, table),
    });
  }
  for (let atMs = 8_000; atMs < untilMs; atMs += 2_000 + prng.next() * 14_000) {
    steps.push({ atMs, ...drawTableAction(prng) });
  }
  const faults = 6 + prng.below(12);
  for (let index = 0; index < faults; index += 1) {
    const atMs = 8_000 + prng.next() * (untilMs - 28_000);
    steps.push({ atMs, ...drawTableFault(prng) });
  }
  return steps;
}

function drawTable(prng: Prng, table: number): PlannedTable {
  const count = 1 + Math.min(prng.below(3), prng.below(3));
  return {
    table,
    sources: Array.from({ length: count }, () => prng.below(60)),
    salt: prng.below(1_000_000),
    lagMs: drawLagMs(prng),
    mode: prng.next() < 0.3 ? "FULL" : "AUTO",
    initialize: prng.next() < 0.5 ? "ON_CREATE" : "ON_SCHEDULE",
  };
}

function drawLagMs(prng: Prng): number {
  return prng.next() < 0.2 ? 0 : 12_000 + prng.below(58_000);
}

export function drawTableAction(prng: Prng): TableAction {
  const controller = prng.below(60);
  const table = prng.below(60);
  const draw = prng.next();
  if (draw < 0.45) {
    return { kind: "table_insert", controller, table, rows: 1 + prng.below(4) };
  }
  if (draw < 0.65) {
    const isUpdate = prng.next() < 0.6;
    return { kind: "table_change", controller, table, divisor: 2 + prng.below(4), isUpdate };
  }
  if (draw < 0.83) return { kind: "table_request", controller, table };
  if (draw < 0.87) return { kind: "table_suspend", controller, table };
  if (draw < 0.92) return { kind: "table_resume", controller, table };
  if (draw < 0.94) return { kind: "table_lag", controller, table, lagMs: drawLagMs(prng) };
  if (draw < 0.96) return { kind: "table_drop", controller, table };
  const planned = drawTable(prng, table % dynamicCount);
  return { kind: prng.next() < 0.5 ? "table_replace" : "table_create", controller, ...planned };
}

export function drawTableFault(prng: Prng): TableFault {
  const kind = tableFaultKinds[prng.below(tableFaultKinds.length)] ?? "refresh_crash";
  const step = refreshSteps[prng.below(refreshSteps.length)] ?? "begun";
  const forMs = prng.next() < 0.5 ? 200 + prng.next() * 5_000 : 5_000 + prng.next() * 25_000;
  switch (kind) {
    case "refresh_crash":
      return { kind, step, dark: prng.next() < 0.4, forMs };
    case "refresh_pause":
      return { kind, step, forMs };
    case "refresh_failure":
      return { kind, count: 1 + prng.below(4), permanent: prng.next() < 0.1 };
    case "object_errors":
      return { kind, count: 1 + prng.below(6) };
    case "object_outage":
      return { kind, forMs: forMs / 2 };
    case "clock_set":
      return { kind, process: prng.below(60), byMs: (prng.next() - 0.5) * 7_200_000 };
    case "clock_freeze":
      return { kind, worker: prng.below(60), forMs };
    case "store_failover":
      return { kind, forMs: forMs / 3 };
  }
}
