/** Arrivals that were due on a lost worker after its last report. Rules: FI6. */
import { createPrng } from "../../../ground/kernel/prng.ts";
import { Arrivals } from "./arrivals.ts";
import { Histogram } from "./histogram.ts";

/** A target that was sent to the worker; it begins at `atMs`. */
export interface ToldRate {
  readonly atMs: number;
  readonly qps: number;
  readonly rampMs: number;
}

export interface LostSpan {
  /** In the order in which they were sent. */
  readonly rates: readonly ToldRate[];
  readonly fromMs: number;
  readonly toMs: number;
  /** The end of MEASUREMENT. */
  readonly endMs: number;
}

/** How long the arrivals of each operation have waited, shared by the operations' weights. */
export function lostArrivals<Operation extends { readonly weight: number }>(
  { rates, fromMs, toMs, endMs }: LostSpan,
  operations: readonly Operation[],
): ReadonlyMap<Operation, Histogram> {
  const lost = new Map<Operation, Histogram>();
  const [first] = rates;
  if (first === undefined || fromMs >= toMs) return lost;
  const arrivals = new Arrivals({
    pattern: "uniform",
    prng: createPrng(0), // Uniform arrivals draw no random numbers.
    startMs: Math.min(first.atMs, fromMs),
  });
  for (const { atMs, qps, rampMs } of rates) arrivals.setRate(atMs, qps, rampMs);
  arrivals.skipTo(fromMs);
  const weights = operations.reduce((sum, { weight }) => sum + weight, 0);
  const owed = new Map(operations.map((operation) => [operation, 0]));
  for (let dueMs = arrivals.peek(); dueMs !== undefined && dueMs <= toMs; dueMs = arrivals.peek()) {
    arrivals.take();
    for (const each of operations) owed.set(each, (owed.get(each) ?? 0) + each.weight / weights);
    const [next] = [...owed].sort(([, left], [, right]) => right - left);
    if (next === undefined) return lost;
    const [operation, share] = next;
    owed.set(operation, share - 1);
    const waits = lost.get(operation) ?? new Histogram();
    lost.set(operation, waits);
    waits.record((endMs - dueMs) * 1000);
  }
  return lost;
}
