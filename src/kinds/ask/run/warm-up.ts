/**
 * Code that has never run is slow: V8 compiles it, and optimizes it later, while the first queries
 * wait. So a new thread runs a few queries of its own over made-up samples, along the path of real
 * ones: it writes, decodes and assembles segments, computes leaves, writes and reads artifacts, and
 * writes answers.
 * It ends at the first real request, or after `warmUpMsMax`; a request waits for one step at most.
 * It pauses while another thread has real work. It begins after the process has started, and
 * threads take turns, so that an early query does not compete with all of them. It leaves no files
 * and touches no cache that serves requests. When it fails, for example without a disk, the thread
 * is merely cold.
 */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import { MemoryBudget } from "../../../ground/process/core/index.ts";
import { checksumOfBytes } from "../../../ground/work/index.ts";
import type { SegmentInfo } from "../metrics/core/index.ts";
import { SegmentWriter } from "../metrics/index.ts";
import {
  compareLabels,
  compileMatchers,
  executeLeaf,
  instantGrid,
  Labels,
  parseExpr,
  planQuery,
  type QueryParams,
  type RawSeries,
  unboundedMemory,
} from "../promql/core/index.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import { encodeWork, parseWork } from "./core/work-body.ts";
import { Evaluation } from "./evaluation.ts";
import { encodeLeafResult } from "./leaf-artifact.ts";
import { runWork } from "./leaf-runner.ts";
import { MemoryAccount } from "./memory-account.ts";
import { SegmentShelf } from "./segment-shelf.ts";
import { SelectionCache } from "./selection-cache.ts";
import { promqlEngineDefaults } from "./service-options.ts";

export interface WarmUpOptions {
  readonly clock: Clock;
  /** Whether no real request has arrived. */
  readonly isIdle: () => boolean;
  /** Whether other threads have real work. */
  readonly isPaused?: () => boolean;
  readonly delayMs?: number;
  readonly msMax?: number;
}

/** The delay before the thread with this number begins. */
export function warmUpDelayMs(thread: number): number {
  return 1_000 + thread * 500;
}

/** The maximum time spent computing; compilers run beside it. */
const warmUpMsMax = 300;
const pauseMs = 20;
const intervalMs = 30_000;
const samplesPerSegment = 240;
const segmentCount = 3;
const endMs = segmentCount * samplesPerSegment * intervalMs;
const bytesMax = 64 * 1024 ** 2;
const samplesMax = 1_000_000_000;

const range: QueryParams = {
  instant: false,
  grid: { startMs: endMs / 8, endMs, stepMs: 60_000 },
};
const instant: QueryParams = { instant: true, grid: instantGrid(endMs) };

/** Typical queries of dashboards. */
const questions: readonly (readonly [text: string, params: QueryParams])[] = [
  ['rate(warm_up_total{job="job-1"}[5m])', range],
  ["sum by (job) (rate(warm_up_total[5m]))", range],
  ['{__name__=~".+"}', instant],
  ["warm_up", range],
  ["avg by (job) (avg_over_time(warm_up[10m]))", range],
  ["histogram_quantile(0.9, sum by (le, job) (rate(warm_up_total[5m])))", range],
  ["max by (job) (max_over_time(warm_up[30m]))", range],
  ["topk(2, rate(warm_up_total[5m]))", range],
  ['max_over_time(sum(rate(warm_up_total{job=~"job-[12]"}[5m]))[1h:1m])', range],
  ['sum(rate(warm_up_total{le!="1"}[5m])) / sum(count_over_time(warm_up_total[10m]))', range],
];

/** Runs in a compute thread. Returns the number of steps done. */
export async function warmUpCompute(options: WarmUpOptions): Promise<number> {
  await sleep(options.clock, options.delayMs ?? 0);
  return await inOwnDir(async (dir) => {
    const segments: SegmentInfo[] = [];
    const writing = Array.from(
      { length: segmentCount },
      (_, index) => async () => void segments.push(await writeSegment(dir, index)),
    );
    const computing = questions.map(([text, params]) => () => {
      // Each round has new, empty caches, because decoding takes the longest.
      const cache = new MemoryColumnCache(bytesMax);
      const caches = { shelf: new SegmentShelf(dir, cache), selections: new SelectionCache(cache) };
      try {
        for (const leaf of planQuery(parseExpr(text), params, promqlEngineDefaults).leaves) {
          const scope = { shard: 0, shardCount: 1, segments, head: undefined };
          const work = parseWork(encodeWork({ op: "leaf", leaf, samplesMax, ...scope }));
          assert(work.op === "leaf", "what was written is read");
          const { bytes } = runWork(work, [], caches, unboundedMemory, noStop);
          checksumOfBytes(bytes);
        }
      } finally {
        caches.shelf.clear();
      }
    });
    return await inTurn(writing, computing, options);
  });
}

/** Runs in an evaluation thread. Returns the number of steps done. */
export async function warmUpEval(options: WarmUpOptions): Promise<number> {
  await sleep(options.clock, options.delayMs ?? 0);
  const series = madeUpSeries(0, segmentCount * samplesPerSegment);
  const evaluating = questions.map(
    ([text, params]) =>
      () =>
        evaluate(text, params, series, options.clock),
  );
  return await inTurn([], evaluating, options).catch(() => 0);
}

async function evaluate(
  text: string,
  params: QueryParams,
  series: readonly RawSeries[],
  clock: Clock,
): Promise<void> {
  const asked = { query: 0, text, params, options: promqlEngineDefaults };
  const memory = new MemoryAccount(new MemoryBudget(Number.MAX_SAFE_INTEGER).ownPlace);
  const evaluation = new Evaluation(asked, clock, memory);
  const { leaves } = evaluation.planned;
  const { instant: isInstant, grid } = params;
  const running = evaluation.run(
    {
      query: 0,
      resultCounts: [leaves.map(() => 1)],
      first: undefined,
      streamed: false,
      keepResults: false,
      shape: { instant: isInstant, atMs: grid.startMs, limit: 0, bytesMax },
    },
    { check: noStop, progress: noStop },
  );
  for (const [index, leaf] of leaves.entries()) {
    const matches = compileMatchers(leaf.matchers);
    const selected = series.filter(({ labels }) => matches(labels));
    const { bytes } = encodeLeafResult(executeLeaf(leaf, selected, { samplesMax }), leaf);
    const place = { query: 0, span: 0, leaf: index, index: 0 };
    evaluation.artifact({ ...place, content: bytes, sizeBytes: bytes.length });
  }
  await running;
}

/** Runs `once`, then repeats `again` until the time is over or a real request arrives. */
async function inTurn(
  once: readonly (() => unknown)[],
  again: readonly (() => unknown)[],
  { clock, isIdle, isPaused = () => false, msMax = warmUpMsMax }: WarmUpOptions,
): Promise<number> {
  let spentMs = 0;
  for (let step = 0; ; step += 1) {
    const act = once[step] ?? again[(step - once.length) % again.length];
    await sleep(clock, 0); // Requests that came meanwhile are taken now.
    while (isPaused() && isIdle()) await sleep(clock, pauseMs);
    if (act === undefined || spentMs >= msMax || !isIdle()) return step;
    const startMs = clock.nowMs();
    await act();
    spentMs += clock.nowMs() - startMs;
  }
}

/** Runs in a temporary directory, and returns 0 on failure. */
async function inOwnDir(act: (dir: string) => Promise<number>): Promise<number> {
  let dir: string | undefined;
  try {
    dir = mkdtempSync(join(tmpdir(), "capstan-warm-up-"));
    return await act(dir);
  } catch {
    return 0;
  } finally {
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  }
}

async function writeSegment(lakeDir: string, index: number): Promise<SegmentInfo> {
  mkdirSync(join(lakeDir, "segments"), { recursive: true });
  const seq = index + 1;
  const writer = new SegmentWriter({
    lakeDir,
    segmentId: `warm-up-${seq}`,
    shard: 0,
    shardCount: 1,
    level: 0,
    seq,
    sealSeq: seq,
  });
  for (const series of madeUpSeries(index * samplesPerSegment, samplesPerSegment)) {
    await writer.add(series);
  }
  return await writer.finish();
}

/** Gauges and counters, in label order. */
function madeUpSeries(first: number, count: number): readonly RawSeries[] {
  const ts = Float64Array.from({ length: count }, (_, index) => (first + index + 1) * intervalMs);
  const columns = (values: Float64Array): RawSeries["samples"] => ({
    count,
    ts,
    values,
    stale: undefined,
    histograms: undefined,
    startTs: undefined,
  });
  const jobs = ["job-1", "job-2", "job-3"];
  const gauges = jobs.flatMap((job, jobIndex) =>
    ["a", "b", "c", "d"].map((instance, index) => ({
      labels: Labels.of({ __name__: "warm_up", instance, job }),
      samples: columns(
        ts.map((at) => Math.round(((at / 1000) * (7919 + index + jobIndex)) % 100_003) / 100),
      ),
    })),
  );
  const counters = jobs.flatMap((job, jobIndex) =>
    ["0.1", "1", "10", "+Inf"].flatMap((le, index) =>
      ["a", "b"].map((instance) => ({
        labels: Labels.of({ __name__: "warm_up_total", instance, job, le }),
        samples: columns(
          ts.map((at) => Math.floor((at / 1000) * (index + 1 + jobIndex)) % 300_007),
        ),
      })),
    ),
  );
  const inOrder = (series: RawSeries[]): RawSeries[] =>
    series.sort((a, b) => compareLabels(a.labels, b.labels));
  return [...inOrder(gauges), ...inOrder(counters)];
}

function noStop(): void {}
