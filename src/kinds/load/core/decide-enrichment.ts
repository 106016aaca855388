/**
 * How long after a run the server is asked for its own figures of the run's queries. Rules: EN1 and
 * EN2.
 */
export interface EnrichmentProgress {
  readonly startedMs: number;
  /** The best ratio so far, from 0 to 1. */
  readonly ratio: number;
  readonly pollsWithoutProgress: number;
}

export type EnrichmentDecision =
  | { readonly kind: "poll"; readonly atMs: number }
  | { readonly kind: "end"; readonly status: "COMPLETED" | "FAILED" };

const pollMs = 10_000;
const timeoutMs = 240_000;
const enoughRatio = 0.9;
const sampledRatio = 0.5;
const pollsMax = 3;

export function beginEnrichment(startedMs: number): EnrichmentProgress {
  return { startedMs, ratio: 0, pollsWithoutProgress: 0 };
}

export function decideEnrichment(
  before: EnrichmentProgress,
  ratio: number,
  nowMs: number,
): { readonly progress: EnrichmentProgress; readonly decision: EnrichmentDecision } {
  const hasProgress = ratio > before.ratio;
  const progress = {
    ...before,
    ratio: Math.max(before.ratio, ratio),
    pollsWithoutProgress: hasProgress ? 0 : before.pollsWithoutProgress + 1,
  };
  const isSampled = progress.pollsWithoutProgress >= pollsMax && progress.ratio > sampledRatio;
  const atMs = nowMs + pollMs;
  if (progress.ratio < enoughRatio && !isSampled && atMs <= before.startedMs + timeoutMs) {
    return { progress, decision: { kind: "poll", atMs } };
  }
  const status = progress.ratio > 0 ? "COMPLETED" : "FAILED"; // EN2
  return { progress, decision: { kind: "end", status } };
}
