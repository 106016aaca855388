/** Random queries over random data beside a naive evaluator; see SU90. */
import { runCases } from "../../src/kinds/stream/run/testing/plans/run-cases.ts";
import { type BlockAnswer, type BlockRequest, cpuMs } from "./block.ts";

export function fuzzPlans({ seed, block, cases, first }: BlockRequest): BlockAnswer {
  const started = cpuMs();
  const result = runCases(Number(seed) * 100_003 + block, cases, !first);
  const failures = result.failure === undefined ? [] : [{ text: result.failure }];
  const slowestMs = (cpuMs() - started) / Math.max(1, result.cases);
  const slowest = `the average of block ${block}`;
  return { cases: result.cases, failures, counts: result.counts, slowestMs, slowest };
}
