/** Runs PromQL through the whole path and compares it with the pure engine over the same series. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { never } from "../../../data/duckdb/testing/test-engine.ts";
import { sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { WorkerId } from "../../../ground/kernel/ids.ts";
import { type LogFields, type Logger, silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { until } from "../../../ground/kernel/testing/eventually.ts";
import type { ArtifactSpool } from "../../../ground/work/core/index.ts";
import type { HeadSnapshot, SegmentInfo } from "../metrics/core/index.ts";
import {
  defaultEngineOptions,
  type FloatHistogram,
  type Grid,
  instantGrid,
  Labels,
  PromqlError,
  type QueryResult,
  type RawSeries,
} from "../promql/core/index.ts";
import { evaluateInMemory } from "../promql/core/testing/evaluate-in-memory.ts";
import { JsonSink } from "./json-sink.ts";
import type { PromqlEvent } from "./promql-service.ts";
import { writeData } from "./result-json.ts";
import { type PromqlCluster, startPromqlCluster } from "./testing/promql-cluster.ts";
import { cut, TestHead, writeSegments } from "./testing/test-lake.ts";

const minute = 60_000;
const stepMs = 15_000;
const sampleCount = 720; // Three hours.
const blockEnds = [60 * minute, 120 * minute];
const endMs = sampleCount * stepMs;

function histogramAt(index: number): FloatHistogram {
  return {
    counterResetHint: "unknown",
    schema: 0,
    zeroThreshold: 0.001,
    zeroCount: index,
    count: 4 * index,
    sum: 10 * index,
    positiveSpans: [{ offset: 0, length: 2 }],
    positiveBuckets: [index, 2 * index],
    negativeSpans: [],
    negativeBuckets: [],
    customValues: [],
  };
}

function makeSeries(): readonly RawSeries[] {
  const prng = createPrng("path");
  const ts = Float64Array.from({ length: sampleCount }, (_, index) => (index + 1) * stepMs);
  const all: RawSeries[] = [];
  const add = (labels: Record<string, string>, value: (index: number) => number): void => {
    const values = Float64Array.from(ts, (_, index) => value(index));
    const samples = {
      count: sampleCount,
      ts,
      values,
      stale: undefined,
      histograms: undefined,
      startTs: undefined,
    };
    all.push({ labels: Labels.of(labels), samples });
  };
  for (const job of ["api", "db"]) {
    for (let instance = 0; instance < 6; instance += 1) {
      let counter = 0;
      add({ __name__: "requests_total", job, instance: `i${instance}` }, () => {
        counter = prng.next() < 0.01 ? 0 : counter + prng.next() * 10;
        return counter;
      });
      add({ __name__: "temperature", job, instance: `i${instance}` }, () => 20 + prng.next());
      for (const [index, le] of ["0.1", "1", "+Inf"].entries()) {
        add(
          { __name__: "latency_bucket", job, instance: `i${instance}`, le },
          (at) => at * (index + 1),
        );
      }
    }
  }
  const indexes = [...ts.keys()];
  all.push({
    labels: Labels.of({ __name__: "native", job: "api" }),
    samples: {
      count: sampleCount,
      ts,
      values: new Float64Array(sampleCount),
      stale: undefined,
      histograms: indexes.map((index) => histogramAt(index + 1)),
      startTs: undefined,
    },
  });
  all.push({
    labels: Labels.of({ __name__: "gone", job: "db" }),
    samples: {
      count: sampleCount,
      ts,
      values: Float64Array.from(ts, (_, index) => index),
      stale: Uint8Array.from(ts, (_, index) => (index % 50 === 49 ? 1 : 0)),
      histograms: undefined,
      startTs: undefined,
    },
  });
  return all;
}

const series = makeSeries();
const lakeDir = mkdtempSync(join(tmpdir(), "capstan-lake-"));
const head = new TestHead(series.map((each) => cut(each, blockEnds[1] as number, endMs)));
let segments: readonly SegmentInfo[] = [];
let listed = 0;
let cluster: PromqlCluster;
/** How queries are cut; tests may change it. */
const whole = { shardCount: 4, spanCount: 1 };
const forced = { ...whole };
let snapshot = async (): Promise<HeadSnapshot> => head.snapshot();

before(async () => {
  segments = await writeSegments(lakeDir, series, blockEnds, 4);
  await head.start();
  cluster = await startPromqlCluster({
    lakeDir,
    forcedCut: forced,
    limits: { evalThreads: 1 },
    head: () => snapshot(),
    segments: {
      list: async () => {
        listed += 1;
        return segments;
      },
    },
  });
});

after(async () => {
  await cluster.close();
  await head.close();
  rmSync(lakeDir, { recursive: true, force: true });
});

const range: Grid = { startMs: 50 * minute, endMs: 170 * minute, stepMs: 60_000 };
const atMs = 150 * minute;

/** The result as the API would return it. */
function dataOf(results: readonly QueryResult[], instant: boolean): unknown {
  const sink = new JsonSink();
  writeData(sink, results, { instant, atMs, limit: 0, bytesMax: 1e9 });
  return JSON.parse(`${sink.takeText()}}`);
}

function expected(query: string, grid: Grid | undefined): unknown {
  const params = { instant: grid === undefined, grid: grid ?? instantGrid(atMs) };
  return dataOf(
    [evaluateInMemory(query, params, defaultEngineOptions, [...series])],
    params.instant,
  );
}

async function ask(
  query: string,
  grid: Grid | undefined,
  signal: AbortSignal = never,
  of: PromqlCluster = cluster,
): Promise<unknown> {
  const at = grid ?? { timeMs: atMs };
  const { json } = await of.service.query({ query, at }, signal);
  const { status, data } = JSON.parse(Buffer.from(json).toString()) as {
    status: string;
    data: unknown;
  };
  assert.equal(status, "success");
  return data;
}

/** Sums in another order differ in their last digits. */
function close(actual: unknown, wanted: unknown): void {
  const rounded = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (_key, each: unknown) =>
        typeof each === "string" && each !== "" && Number.isFinite(Number(each))
          ? Number(each).toPrecision(11)
          : each,
      ),
    );
  assert.deepEqual(rounded(actual), rounded(wanted));
}

const queries = [
  "temperature",
  "sum by (job) (rate(requests_total[5m]))",
  "topk(2, temperature)",
  "avg without (instance) (temperature) / on (job) group_left max by (job) (requests_total)",
  "histogram_quantile(0.9, sum by (le) (rate(latency_bucket[10m])))",
  "rate(native[5m])",
  "sum(native)",
  "histogram_count(native)",
  "gone",
  "count_over_time(gone[10m])",
  "max_over_time(sum(rate(requests_total[5m]))[30m:1m])",
  "temperature{instance=~'i[12]'} offset 20m",
  "requests_total @ 3600",
  "sum(temperature) - sum(temperature offset 1h)",
  "absent(nothing)",
  "quantile(0.5, temperature)",
  "1 + 1",
  "time()",
  "nothing_here",
];
for (const query of queries) {
  test(`[QP5] ${query}: an instant, over four shards, two blocks and the head`, async () => {
    close(await ask(query, undefined), expected(query, undefined));
  });
  test(`[QP5] ${query}: a range`, async () => {
    close(await ask(query, range), expected(query, range));
  });
}

test("[QP5] a range vector and a string, as instants", async () => {
  close(await ask("temperature[2m]", undefined), expected("temperature[2m]", undefined));
  close(await ask("native[2m]", undefined), expected("native[2m]", undefined));
  assert.deepEqual(await ask('"text"', undefined), {
    resultType: "string",
    result: [atMs / 1000, "text"],
  });
});

test("[QP4] in spans the answer is the same", async () => {
  await cutInto({ shardCount: 2, spanCount: 4 }, async () => {
    for (const query of queries) close(await ask(query, range), expected(query, range));
  });
});

test("[QP7] a streamed answer: results in time order, a summary, done", async () => {
  await cutInto({ shardCount: 2, spanCount: 3 }, async () => {
    const query = "sum by (job) (rate(requests_total[5m]))";
    const events: PromqlEvent[] = [];
    const stream = await cluster.service.stream({ query, at: range }, never);
    for await (const event of stream) events.push(event);
    assert.deepEqual(
      events.map(({ event }) => event),
      ["result", "result", "result", "summary", "done"],
    );
    const firsts = events.flatMap((event) => {
      if (event.event !== "result") return [];
      const data = JSON.parse(event.json) as { result: { values: [number, string][] }[] };
      return [data.result[0]?.values[0]?.[0] ?? 0];
    });
    assert.deepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
    );
    const summary = events.find((event) => event.event === "summary")?.summary;
    assert.equal(summary?.leaves[0]?.output, "partials");
    assert.equal(summary?.leaves[0]?.works.length, 6);
    const { firstResultMs = 0, totalMs = 0 } = summary?.stages ?? {};
    assert.ok(firstResultMs < totalMs);
  });
});

test("[QP7] a streamed instant, cut at a limit", async () => {
  const request = { query: "temperature", at: { timeMs: atMs }, limit: 5 };
  const events: PromqlEvent[] = [];
  for await (const event of await cluster.service.stream(request, never)) events.push(event);
  const summary = events.find((event) => event.event === "summary")?.summary;
  assert.deepEqual(
    [summary?.resultType, summary?.seriesCount, summary?.pointCount, summary?.warnings],
    ["vector", 5, 5, ["results truncated due to limit"]],
  );
});

test("[QP7] a stream whose reader leaves is cancelled; one that fails at once rejects", async () => {
  await cutInto({ shardCount: 2, spanCount: 4 }, async () => {
    const request = { query: "temperature", at: range };
    for await (const event of await cluster.service.stream(request, never)) {
      assert.equal(event.event, "result");
      break;
    }
    await untilIdle();
    const bad = { query: "temperature * on (job) temperature", at: range };
    await assert.rejects(cluster.service.stream(bad, never), PromqlError);
  });
});

async function cutInto(cuts: typeof whole, act: () => Promise<void>): Promise<void> {
  Object.assign(forced, cuts);
  try {
    await act();
  } finally {
    Object.assign(forced, whole);
  }
}

test("[QP3] what reads nothing is no work", async () => {
  await untilIdle();
  const before = cluster.manager.counts().completedTotal;
  const pulls = head.pulls;
  await ask("temperature", { startMs: -20 * minute, endMs: -10 * minute, stepMs: minute });
  await ask("1 + 2", undefined);
  assert.deepEqual([cluster.manager.counts().completedTotal, head.pulls], [before, pulls]);
});

test("[QP3] leaves with the same series share one pull of the head", async () => {
  await untilIdle();
  const pulls = head.pulls;
  await ask("temperature + temperature offset 1m - sum without () (temperature)", undefined);
  assert.equal(head.pulls - pulls, 4, "one for each shard");
});

type Act = (spool: ArtifactSpool, name: string) => void;
const losses: readonly (readonly [name: string, act: Act])[] = [
  ["lost", (spool, name) => spool.remove(name)],
  [
    "corrupt",
    (spool, name) => {
      const bytes = spool.stat(name)?.content;
      assert.ok(bytes instanceof Uint8Array);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
    },
  ],
];
for (const [name, act] of losses) {
  test(`[QP10] an artifact that is ${name} is executed anew, and the answer is the same`, async () => {
    cluster.mischief = (workerId, { url }) => {
      const worker = cluster.workers.find((each) => each.workerId === workerId);
      assert.ok(worker !== undefined);
      act(worker.spool, url.slice(url.lastIndexOf("/") + 1));
    };
    const query = "sum by (job) (rate(requests_total[5m]))";
    close(await ask(query, range), expected(query, range));
    assert.equal(cluster.manager.list()[0]?.attempts, 2);
  });
}

test("[QP10] a worker that is lost in the middle: the other does its share", async () => {
  let lost: WorkerId | undefined;
  cluster.mischief = (workerId) => {
    lost = workerId;
    cluster.pool.disconnect(workerId);
  };
  const query = "sum by (job) (rate(requests_total[5m]))";
  close(await ask(query, range), expected(query, range));
  const worker = cluster.workers.find(({ workerId }) => workerId === lost);
  assert.ok(worker !== undefined);
  await until(() => worker.manager.counts().executing === 0);
  cluster.pool.connect(worker.workerId, worker.manager);
});

test("[QP10] [OB14] a head that moved: the query takes a new look, under the same id", async () => {
  let snapshots = 0;
  snapshot = async () => {
    snapshots += 1;
    return snapshots === 1 ? { ...head.snapshot(), incarnation: "gone" } : head.snapshot();
  };
  close(await ask("sum(temperature)", undefined), expected("sum(temperature)", undefined));
  assert.equal(snapshots, 2);
  const ended = cluster.manager.list().filter(({ text }) => text === "sum(temperature)");
  for (const { queryId } of ended) assert.match(queryId, /^q-[a-z0-9]+$/);
  assert.ok(
    new Set(ended.map(({ queryId }) => queryId)).size < ended.length,
    "one id, two attempts",
  );
  snapshot = async () => head.snapshot();
});

test("[QP8] cancelled at any moment: told so, and nothing is left", async () => {
  const prng = createPrng("cancel");
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const abort = new AbortController();
      const asking = ask(queries[index % queries.length] as string, range, abort.signal);
      setTimeout(() => abort.abort(), prng.next() * 60);
      try {
        await asking;
        return "answered";
      } catch (thrown) {
        assert.ok(thrown instanceof OperatingError, String(thrown));
        return thrown.code;
      }
    }),
  );
  assert.ok(outcomes.includes("cancelled"), outcomes.join());
  for (const outcome of outcomes) assert.ok(["answered", "cancelled"].includes(outcome), outcome);
  await untilIdle();
  close(await ask("temperature", range), expected("temperature", range));
});

test("[QP8] a query that runs out of time is told so in Prometheus's words, and what it waited for", async () => {
  for (const { workerId } of cluster.workers) cluster.pool.disconnect(workerId);
  const within = (timeoutMs: number): Promise<unknown> =>
    cluster.service.query({ query: "temperature", at: { timeMs: atMs }, timeoutMs }, never);
  const late = { code: "deadline_exceeded" };
  try {
    const waited = /^query timed out in expression evaluation: no worker is connected/;
    // On a busy machine 100 ms may pass before the query waits for a worker.
    let told = "";
    for (const timeoutMs of [100, 1_000, 10_000]) {
      await assert.rejects(within(timeoutMs), (thrown: OperatingError) => {
        told = thrown.message;
        return thrown.code === late.code;
      });
      if (waited.test(told)) break;
    }
    assert.match(told, waited);
    for (const timeoutMs of [0, -1]) {
      await assert.rejects(within(timeoutMs), {
        ...late,
        message: "query timed out in query queue",
      });
    }
  } finally {
    for (const { workerId, manager } of cluster.workers) cluster.pool.connect(workerId, manager);
  }
});

const mistakes: readonly (readonly [
  query: string,
  grid: Grid | undefined,
  stage: string,
  text: RegExp,
])[] = [
  ["sum(", undefined, "parse", /parse error/],
  ["temperature[5m]", range, "parse", /invalid expression type "range vector" for range query/],
  [
    "temperature",
    { startMs: 0, endMs: 11_001_000, stepMs: 1_000 },
    "parse",
    /exceeded maximum resolution of 11,000 points per timeseries/,
  ],
  ["temperature * on (job) temperature", undefined, "execution", /many-to-many|duplicate series/],
];
for (const [query, grid, stage, text] of mistakes) {
  test(`[QP8] ${query}: its mistake is told`, async () => {
    await assert.rejects(ask(query, grid), (thrown) => {
      assert.ok(thrown instanceof PromqlError, String(thrown));
      assert.equal(thrown.stage, stage);
      assert.match(thrown.message, text);
      return true;
    });
  });
}

test("[QP8] limits of samples, answers and memory say what they are about", async () => {
  const engine = { samplesMax: 500 };
  const lines: [fields: LogFields, message: string][] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (fields, message) => lines.push([fields, message]),
  };
  const small = await startPromqlCluster({
    lakeDir,
    workers: 1,
    limits: { evalThreads: 1, answerBytesMax: 20_000, slowMs: 0 },
    logger,
    workBytesMax: 100_000,
    engine,
    head: async () => undefined,
    segments: { list: async () => segments },
  });
  try {
    await assert.rejects(ask("temperature", range, never, small), (thrown) => {
      const text = "query processing would load too many samples into memory in query execution";
      return thrown instanceof PromqlError && thrown.message === text;
    });
    engine.samplesMax = 50_000_000;
    await assert.rejects(
      ask("temperature", range, never, small),
      tooLarge(/answer is larger than/),
    );
    await assert.rejects(
      ask("{job=~'.+'}", range, never, small),
      tooLarge(/would hold \d+ bytes of memory; it may have 100000/),
    );
    await ask("sum(temperature)", undefined, never, small);
    const slow = lines.filter(([, message]) => message === "slow query").at(-1)?.[0];
    assert.equal(slow?.query, "sum(temperature)");
    assert.match(String(slow?.query_id), /^q-/);
    assert.ok(Number(slow?.duration_ms) >= Number(slow?.work_ms) && slow?.error === undefined);
  } finally {
    await small.close();
  }
});

function tooLarge(text: RegExp): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.match(thrown.message, text);
    return thrown.code === "query_too_large";
  };
}

test("[QP9] series, label names and values", async () => {
  const all = { matcherSets: [], startMs: 0, endMs, limit: 0 };
  const names = await cluster.service.labelNames(all, never);
  assert.deepEqual(names.names, ["__name__", "instance", "job", "le"]);
  const values = await cluster.service.labelValues("__name__", all, never);
  assert.deepEqual(values.values, [
    "gone",
    "latency_bucket",
    "native",
    "requests_total",
    "temperature",
  ]);
  const matchers = [{ name: "__name__", op: "=" as const, value: "temperature" }];
  const found = await cluster.service.series({ ...all, matcherSets: [matchers] }, never);
  const foundSeries = seriesOf(found);
  assert.equal(foundSeries.length, 12);
  assert.deepEqual(foundSeries[0], { __name__: "temperature", instance: "i0", job: "api" });
  const some = await cluster.service.series({ ...all, matcherSets: [matchers], limit: 5 }, never);
  assert.deepEqual([seriesOf(some).length, some.truncated], [5, true]);
  const late = { ...all, startMs: blockEnds[1] as number, endMs };
  assert.equal(seriesOf(await cluster.service.series(late, never)).length, series.length);
  const before = { ...all, startMs: -9, endMs: -1 };
  assert.deepEqual(seriesOf(await cluster.service.series(before, never)), []);
});

test("[QP8] [QP10] [QP32] a query whose thread had to be stopped for another one is answered by the next", async () => {
  const abort = new AbortController();
  const slow = "quantile_over_time(0.5, (vector(time()))[9d:1s])";
  const long = { startMs: 0, endMs: 10_000_000, stepMs: 1_000 };
  const stuck = assert.rejects(cluster.service.query({ query: slow, at: long }, abort.signal));
  await sleep(realClock, 500);
  const beside = ask("sum(temperature)", undefined);
  abort.abort();
  await stuck;
  close(await beside, expected("sum(temperature)", undefined));
});

test("[QP16] while the head cannot be read the segments are, and every answer warns of it", async () => {
  const warnings = ["the newest samples are missing: its log is damaged"];
  const without = await startPromqlCluster({
    lakeDir,
    workers: 1,
    limits: { evalThreads: 1 },
    head: async () => undefined,
    headMissing: () => "its log is damaged",
    segments: { list: async () => segments },
  });
  try {
    const query = "sum(temperature)";
    const answer = await without.service.query({ query, at: range }, never);
    const body = JSON.parse(Buffer.from(answer.json).toString());
    assert.deepEqual(body.warnings, warnings);
    assert.ok(body.data.result.length > 0);
    const streamed = await Array.fromAsync(
      await without.service.stream({ query, at: range }, never),
    );
    const summary = streamed.find(({ event }) => event === "summary");
    assert.deepEqual((summary as { summary: { warnings: unknown } }).summary.warnings, warnings);
    const all = { matcherSets: [], startMs: 0, endMs, limit: 0 };
    assert.deepEqual((await without.service.series(all, never)).warnings, warnings);
    assert.deepEqual((await without.service.labelNames(all, never)).warnings, warnings);
    assert.deepEqual(
      (await without.service.labelValues("__name__", all, never)).warnings,
      warnings,
    );
  } finally {
    await without.close();
  }
});

test("[QP7] [QP8] lists and streams are bounded like answers, and so is what waits for a reader", async () => {
  const small = await startPromqlCluster({
    lakeDir,
    workers: 1,
    limits: { evalThreads: 1, answerBytesMax: 2_500, waitingBytesMax: 4_000 },
    head: async () => undefined,
    segments: { list: async () => segments },
  });
  const all = { matcherSets: [], startMs: 0, endMs, limit: 0 };
  const streamed = (query: string): ReturnType<PromqlCluster["service"]["stream"]> =>
    small.service.stream({ query, at: range }, never);
  try {
    await assert.rejects(small.service.series(all, never), tooLarge(/larger than 2500 bytes/));
    assert.equal(seriesOf(await small.service.series({ ...all, limit: 1 }, never)).length, 1);
    await assert.rejects(streamed("temperature"), tooLarge(/larger than 2500 bytes/));
    const query = "sum(temperature)";
    const unread = await streamed(query);
    await assert.rejects(streamed(query), (thrown) => {
      return thrown instanceof OperatingError && thrown.code === "overloaded";
    });
    for await (const _ of unread) break;
    assert.deepEqual((await Array.fromAsync(await streamed(query))).at(-1), { event: "done" });
  } finally {
    await small.close();
  }
});

function seriesOf({ json }: { readonly json: Uint8Array }): readonly unknown[] {
  return JSON.parse(Buffer.from(json).toString()) as unknown[];
}

test("[QP11] an explanation says what would be done", async () => {
  const query = "sum by (job) (rate(requests_total[5m])) / ignoring () temperature";
  const explained = await cluster.service.explain({ query, at: range }, never);
  assert.deepEqual(
    explained.leaves.map(({ output }) => output),
    ["partials", "steps"],
  );
  assert.ok(
    explained.leaves.every(
      ({ segmentCount, fromHead, why }) => segmentCount === 8 && fromHead && why !== "",
    ),
  );
  assert.equal(await cluster.service.format("sum( a )", never), "sum(a)");
});

test("[QP11] statistics stand in the answer when they are asked for", async () => {
  const request = { query: "sum(temperature)", at: range, stats: true, limit: 1 };
  const { json, queryId } = await cluster.service.query(request, never);
  const { data } = JSON.parse(Buffer.from(json).toString()) as {
    data: {
      stats: {
        timings: object;
        samples: { totalQueryableSamples: number };
        capstan: { queryId: string };
      };
    };
  };
  assert.ok(data.stats.samples.totalQueryableSamples > 0);
  assert.equal(data.stats.capstan.queryId, queryId);
});

test("[QP6] a limit cuts the series, and says so", async () => {
  const { json } = await cluster.service.query(
    { query: "temperature", at: { timeMs: atMs }, limit: 3 },
    never,
  );
  const answer = JSON.parse(Buffer.from(json).toString()) as {
    data: { result: unknown[] };
    warnings: string[];
  };
  assert.equal(answer.data.result.length, 3);
  assert.deepEqual(answer.warnings, ["results truncated due to limit"]);
});

test("[QP8] nothing is left behind", async () => {
  assert.ok(listed > 0);
  await untilIdle(); // An answer does not wait for the deletion of its copies.
  assert.deepEqual(readdirSync(cluster.fetchedDir), []);
  const { running, queued } = cluster.manager.counts();
  assert.deepEqual([running, queued], [0, 0]);
});

async function untilIdle(): Promise<void> {
  await until(() => {
    const { running, queued } = cluster.manager.counts();
    return running + queued === 0 && readdirSync(cluster.fetchedDir).length === 0;
  });
  for (const { manager } of cluster.workers) {
    await until(() => manager.counts().executing + manager.counts().queued === 0);
  }
}

test("[QP35] however many ask for labels, queries have their places", async () => {
  const asking = new AbortController();
  const head = Promise.withResolvers<undefined>();
  const busy = await startPromqlCluster({
    lakeDir,
    workers: 1,
    limits: { concurrencyMax: 2, evalThreads: 1 },
    head: () => head.promise,
    segments: { list: async () => segments },
  });
  try {
    const everything = { matcherSets: [], startMs: 0, endMs: 1e15, limit: 0 };
    const questions = Array.from({ length: 8 }, () =>
      busy.service.series(everything, asking.signal).catch(({ code }: OperatingError) => code),
    );
    await ask("1 + 1", undefined, never, busy);
    assert.equal(busy.service.waiting().depth, 7, "one at a time, of two threads");
    asking.abort();
    head.resolve(undefined);
    assert.deepEqual(new Set(await Promise.all(questions)), new Set(["cancelled"]));
    assert.equal(busy.service.waiting().depth, 0);
  } finally {
    await busy.close();
  }
});

test("[QP36] what is asked of a query's text waits for a place, and leaves with its client", async () => {
  const asking = new AbortController();
  const head = Promise.withResolvers<undefined>();
  const full = await startPromqlCluster({
    lakeDir,
    workers: 1,
    limits: { concurrencyMax: 1, evalThreads: 1 },
    head: () => head.promise,
    segments: { list: async () => segments },
  });
  const { service } = full;
  const code = ({ code }: OperatingError) => code;
  try {
    const running = ask("temperature", undefined, asking.signal, full).catch(code);
    const texts = new AbortController();
    const waiting = [
      service.format("sum( a )", texts.signal),
      service.parse("sum( a )", texts.signal),
      service.explain({ query: "sum( a )", at: { timeMs: 0 } }, texts.signal),
    ];
    assert.equal(service.waiting().depth, 3);
    texts.abort();
    const left = await Promise.all(waiting.map((each) => each.then(() => "answered", code)));
    assert.deepEqual(left, ["cancelled", "cancelled", "cancelled"]);
    asking.abort();
    head.resolve(undefined);
    assert.equal(await running, "cancelled");
    assert.equal(await service.format("sum( a )", never), "sum(a)");
  } finally {
    await full.close();
  }
});
