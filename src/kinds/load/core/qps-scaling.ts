/**
 * Adds connections, and workers for them, when arrivals wait in QPS mode. Pure; its state is JSON.
 * Rules: QS1 to QS4.
 */
import { connectionsCeiling } from "./load-plan.ts";
import type { Scenario } from "./scenario.ts";

export interface ScalingState {
  readonly connections: number;
  /** When the interval began, and the number of answers then. */
  readonly sinceMs: number;
  readonly opsBefore: number;
  readonly shortAtCeiling: number;
  /** Answers per second before the last growth. Null when there was none. */
  readonly qpsBeforeGrowth: number | null;
  readonly isExhausted: boolean;
}

export interface ScalingFacts {
  readonly nowMs: number;
  /** Operations of all workers and phases. */
  readonly ops: number;
  readonly waiting: number;
  readonly targetQps: number;
  readonly isRamping: boolean;
}

export type ScalingDecision =
  | { readonly kind: "none" }
  | { readonly kind: "grow"; readonly connections: number }
  | { readonly kind: "exhausted"; readonly connections: number }
  | { readonly kind: "limit" };

export const scalingIntervalMs = 5_000;
const intervalsMax = 3;
const enoughShare = 0.95;
const growthUseful = 1.05;

export function beginScaling(connections: number, { nowMs, ops }: ScalingFacts): ScalingState {
  return {
    connections,
    sinceMs: nowMs,
    opsBefore: ops,
    shortAtCeiling: 0,
    qpsBeforeGrowth: null,
    isExhausted: false,
  };
}

export function decideScaling(
  scenario: Scenario,
  state: ScalingState,
  facts: ScalingFacts,
): { readonly state: ScalingState; readonly decision: ScalingDecision } {
  const none = { kind: "none" } as const;
  const { nowMs, ops, targetQps } = facts;
  if (nowMs - state.sinceMs < scalingIntervalMs) return { state, decision: none };
  const qps = ((ops - state.opsBefore) * 1000) / (nowMs - state.sinceMs);
  const next = { ...state, sinceMs: nowMs, opsBefore: ops };
  const isShort = !facts.isRamping && facts.waiting > 0 && qps < enoughShare * targetQps; // QS1
  if (!isShort) return { state: { ...next, shortAtCeiling: 0 }, decision: none };
  if (scenario.scaling.mode === "FIXED") return { state: next, decision: none };
  const ceiling = connectionsCeiling(scenario);
  if (state.connections >= ceiling) {
    const shortAtCeiling = state.shortAtCeiling + 1;
    const isOver = shortAtCeiling >= intervalsMax; // QS4
    return { state: { ...next, shortAtCeiling }, decision: isOver ? { kind: "limit" } : none };
  }
  if (state.isExhausted) return { state: next, decision: none };
  const { qpsBeforeGrowth: before, connections } = state;
  if (ceiling === Infinity && before !== null && qps < before * growthUseful) {
    // QS3
    return { state: { ...next, isExhausted: true }, decision: { kind: "exhausted", connections } };
  }
  const factor = Math.min(2, Math.max(1.25, qps > 0 ? targetQps / qps : 2)); // QS2
  const grown = Math.min(ceiling, Math.ceil(connections * factor));
  return {
    state: { ...next, connections: grown, qpsBeforeGrowth: qps },
    decision: { kind: "grow", connections: grown },
  };
}
