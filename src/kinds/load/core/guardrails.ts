/**
 * Limits that a run must not exceed. The first time a limit is exceeded for as long as it may be,
 * load is taken back; if it is still exceeded as long after that, the run fails. Pure; its state is
 * JSON. Rules: GR1 to GR4.
 */
import type { GuardrailConfig } from "./scenario.ts";

export interface GuardrailFacts {
  readonly nowMs: number;
  /** The highest value of all workers. Null when no worker reported one. */
  readonly cpuPercent: number | null;
  readonly memoryPercent: number | null;
  /** Over the last seconds. Null when nothing was answered. */
  readonly errorRatePct: number | null;
  readonly p99LatencyMs: number | null;
  /** The objectives that are missed now, as text. */
  readonly missedSlos: readonly string[];
}

export interface GuardrailState {
  /** The moment since when each limit is exceeded. */
  readonly exceededSinceMs: Readonly<Record<string, number>>;
  readonly backedOffAtMs: number | undefined;
}

export type GuardrailDecision =
  | { readonly kind: "none" }
  | { readonly kind: "backOff"; readonly share: number; readonly detail: string }
  | { readonly kind: "fail"; readonly detail: string };

export const noGuardrailState: GuardrailState = { exceededSinceMs: {}, backedOffAtMs: undefined };

const backOffShare = 0.75;

export function decideGuardrails(
  config: GuardrailConfig,
  state: GuardrailState,
  facts: GuardrailFacts,
): { readonly state: GuardrailState; readonly decision: GuardrailDecision } {
  const { nowMs } = facts;
  const exceeded = exceededLimits(config, facts);
  const exceededSinceMs = Object.fromEntries(
    [...exceeded.keys()].map((limit) => [limit, state.exceededSinceMs[limit] ?? nowMs]),
  );
  const graceMs = config.graceSeconds * 1000;
  const next = { ...state, exceededSinceMs };
  const isOver = (fromMs: number): boolean => nowMs - fromMs >= graceMs;
  const worst = [...exceeded].find(([limit]) => isOver(exceededSinceMs[limit] ?? nowMs)); // GR1
  if (worst === undefined) return { state: next, decision: { kind: "none" } };
  const [limit, detail] = worst;
  if (limit === "slo") return { state: next, decision: { kind: "fail", detail } }; // GR4
  if (state.backedOffAtMs === undefined) {
    const backedOff = { exceededSinceMs: {}, backedOffAtMs: nowMs };
    return { state: backedOff, decision: { kind: "backOff", share: backOffShare, detail } };
  }
  return { state: next, decision: { kind: "fail", detail } };
}

function exceededLimits(
  config: GuardrailConfig,
  facts: GuardrailFacts,
): ReadonlyMap<string, string> {
  const limits = [
    ["cpu", facts.cpuPercent, config.maxCpuPercent, "CPU of a worker", "%"],
    ["memory", facts.memoryPercent, config.maxMemoryPercent, "memory of a worker", "%"],
    ["errors", facts.errorRatePct, config.maxErrorRatePct, "error rate", "%"],
    ["latency", facts.p99LatencyMs, config.maxP99LatencyMs, "p99 latency", "ms"],
  ] as const;
  const exceeded = new Map<string, string>();
  for (const [limit, value, max, what, unit] of limits) {
    if (value === null || max === null || value <= max) continue;
    exceeded.set(limit, `${what} ${value.toFixed(1)} ${unit} is above ${max} ${unit}`);
  }
  if (config.abortOnSlo && facts.missedSlos.length > 0) {
    exceeded.set("slo", facts.missedSlos.join("; "));
  }
  return exceeded;
}
