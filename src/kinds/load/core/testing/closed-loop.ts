/**
 * A closed loop on servers of known capacity, by the queue's own recursion: nothing here is shared
 * with the generator, the store or the search that it judges. Times are milliseconds.
 */

import type { Prng } from "../../../../ground/kernel/prng.ts";
import { testWorker } from "../../testing/ids.ts";
import { measureStep, type StepSecond, type StepStats } from "../find-max-step.ts";
import { Histogram } from "../histogram.ts";

export interface LoopModel {
  readonly servers: number;
  readonly serviceMs: number;
  /** Of an operation's time, up to so much more or less. */
  readonly jitter: number;
  /**
   * How much longer each connection beyond the servers makes every operation: throughput collapses.
   */
  readonly collapse: number;
  /** The share of seconds in which the generator is late, and how late it is then. */
  readonly lateShare: number;
  readonly lateMs: number;
  /** Seconds in which everything takes a little longer, and nobody says so. */
  readonly slowShare: number;
}

export const plainLoop: LoopModel = {
  servers: 1,
  serviceMs: 25,
  jitter: 0,
  collapse: 0,
  lateShare: 0,
  lateMs: 0,
  slowShare: 0,
};

/** One attempt: `seconds` of them with so many connections, one worker. */
export function runLoop(
  model: LoopModel,
  connections: number,
  seconds: number,
  prng: Prng,
): readonly StepSecond[] {
  const freeAt = new Array<number>(model.servers).fill(0);
  const begin = Array.from({ length: connections }, () => prng.next() * model.serviceMs);
  const late = Array.from({ length: seconds }, () => prng.next() < model.lateShare);
  const slow = Array.from({ length: seconds }, () => prng.next() < model.slowShare);
  const bins = Array.from({ length: seconds }, () => new Histogram());
  const beyond = Math.max(0, connections - model.servers);
  const own = model.serviceMs * (1 + model.collapse * beyond);
  for (;;) {
    const first = begin.indexOf(Math.min(...begin));
    const startMs = begin[first] ?? 0;
    if (startMs >= seconds * 1000) break;
    const server = freeAt.indexOf(Math.min(...freeAt));
    const second = Math.floor(startMs / 1000);
    const takes = own * (1 + (prng.next() * 2 - 1) * model.jitter) * (slow[second] ? 1.03 : 1);
    const doneMs = Math.max(startMs, freeAt[server] ?? 0) + takes;
    freeAt[server] = doneMs;
    const endMs = doneMs + (late[second] ? prng.next() * model.lateMs : 0);
    bins[Math.floor(endMs / 1000)]?.record((endMs - startMs) * 1000);
    begin[first] = endMs;
  }
  return bins.map((response, index) => ({
    workerId: testWorker("worker-0"),
    atMs: (index + 1) * 1000,
    connections,
    qps: response.count,
    response,
    isLate: late[index] ?? false,
  }));
}

/**
 * A target to be measured again and again: all attempts with one number of connections count
 * together.
 */
export function loopTarget(
  model: LoopModel,
  seconds: number,
  prng: Prng,
): (connections: number) => StepStats {
  const known = new Map<number, (readonly StepSecond[])[]>();
  return (connections) => {
    const attempts = known.get(connections) ?? [];
    attempts.push(runLoop(model, connections, seconds, prng));
    known.set(connections, attempts);
    const response = new Histogram();
    for (const second of attempts.flat()) response.merge(second.response);
    return measureStep(attempts, { ops: response.count, errors: 0, response, queuedShare: 0 });
  };
}
