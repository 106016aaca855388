/**
 * Queries of a new process to itself, along the whole path of real ones: plan, assignment, session,
 * compute thread, artifact, evaluation, answer. The threads warm up by themselves (warm-up.ts);
 * this is for the main threads of this process and of its workers, and for the way between all of
 * them, whose code has hardly run when the first person asks. A rehearsal reads no samples and is
 * in no list, metric or log (QU56). The first real request ends it, and so does the first failure:
 * then the process is merely cold.
 */
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import type { PromqlRequest } from "./promql-service.ts";

export interface RehearsalOptions {
  readonly clock: Clock;
  /** Aborts when a real request arrives or the process ends. */
  readonly signal: AbortSignal;
  readonly workerCount: () => number;
  readonly act: (request: PromqlRequest, rehearsal: number) => Promise<void>;
  /** Whether what runs from now on is compiled early: between the first rehearsal and the last. */
  readonly compile: (isEarly: boolean) => void;
}

/** The threads of a new worker warm up for about this long. */
const delayMs = 2_000;
const lookMs = 500;
const pauseMs = 4;
const roundsPerWorker = 40;
const roundsMax = 200;
/** In 1970 there are no samples. */
const hourMs = 3_600_000;
const requests: readonly PromqlRequest[] = [
  {
    query: 'rate(warm_up_total{job="job-1",instance="a"}[5m])',
    at: { startMs: hourMs, endMs: 2 * hourMs, stepMs: 15_000 },
  },
  { query: '{__name__=~".+"}', at: { timeMs: hourMs } },
];

/** Returns the number of rehearsals. */
export async function rehearse(options: RehearsalOptions): Promise<number> {
  const { clock, signal, workerCount, act, compile } = options;
  let done = 0;
  try {
    while (workerCount() === 0 && !signal.aborted) await sleep(clock, lookMs, signal);
    await sleep(clock, delayMs, signal);
    for (;;) {
      const request = requests[done % requests.length];
      const rounds = Math.min(workerCount() * roundsPerWorker, roundsMax);
      if (request === undefined || done >= rounds || signal.aborted) return done;
      // Each request goes to each worker.
      await act(request, Math.floor(done / requests.length));
      done += 1;
      if (done === 1) compile(true); // By then all threads have started.
      await sleep(clock, pauseMs, signal);
    }
  } catch {
    return done;
  } finally {
    compile(false);
  }
}
