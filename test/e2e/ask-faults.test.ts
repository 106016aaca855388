/**
 * Processes die, drain and lose their network while they compute PromQL; callers leave; the answers
 * stay right.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  AskCluster,
  bothWorkers,
  first,
  metric,
  promql,
  remoteWrite,
  type StreamedAnswer,
  second,
  streamed,
  vector,
  workersOf,
  worksOf,
  writeData,
} from "./ask-cluster.ts";
import { dataSeries, dayOfCounters, remoteWriteBody, splitAt } from "./ask-data.ts";
import { isAlive, listWorkers, onceWithin, stopEverything, waitFor } from "./harness.ts";

const isLinux = process.platform === "linux";
const linuxOnly = { skip: isLinux ? false : "needs Linux: /proc, and all of 127.0.0.0/8" };

const minuteMs = 60_000;
const endMs = Math.floor((Date.now() - minuteMs) / minuteMs) * minuteMs;
const day = { startMs: endMs - 24 * 60 * minuteMs, endMs, stepMs: minuteMs };
/** So many steps that an artifact is too large to travel with its report. */
const fineDay = { ...day, stepMs: minuteMs / 2 };
/** About a second of work for two cores: windows of 720 samples, 1,440 times, for 96 series. */
const slowQuery = "sum by (job) (stddev_over_time(day_total[4h]))";
const lightQuery = "sum by (job) (rate(day_total[5m]))";

let ask: AskCluster;
let url: string;
/** The answer of an undisturbed query. */
let slowAnswer: string;
let lightAnswer: string;

before(async () => {
  ask = await AskCluster.start({ proxied: isLinux });
  url = ask.url;
  const data = splitAt(dayOfCounters("day_total", endMs), endMs - 10 * minuteMs);
  await Promise.all([ask.importData(data.before), writeData(url, data.after)]);
  lightAnswer = await promql(url, lightQuery, fineDay);
  slowAnswer = await promql(url, slowQuery, day);
});
after(async () => {
  await ask.stop();
  await stopEverything();
});

/**
 * Asks, and resolves when all of the workers are seen computing something of it. Where its answer
 * came before anybody looked, it is asked again.
 */
async function whileComputing<T>(
  ask: () => Promise<T>,
  workers: readonly string[],
): Promise<{ readonly asked: Promise<T> }> {
  let isAnswered = true;
  let asked: Promise<T> | undefined;
  return await waitFor(`${workers.join(" and ")} to compute`, async () => {
    if (asked === undefined || isAnswered) {
      isAnswered = false;
      asked = ask();
      // Whoever asked awaits it.
      void asked
        .catch(() => undefined)
        .then(() => {
          isAnswered = true;
        });
    }
    const counts = await Promise.all(workers.map(running));
    return counts.every((count) => count > 0) ? { asked } : undefined;
  });
}

/** What a stream of one result says, as an answer to the same query says it. */
function asWhole({ results }: StreamedAnswer): string {
  assert.equal(results.length, 1);
  return `{"status":"success","data":${results[0]}}`;
}

interface Held<T> {
  readonly asked: Promise<T>;
  /** Of the answer, on the second worker's disk. */
  /** When it was asked. */
  readonly fromMs: number;
}

/** A fetch without a byte for this long is given up, and its work runs elsewhere. */
const fetchSilenceMs = 5_000;

/**
 * Asks while nothing can be fetched from the second worker, and resolves when it has made two
 * artifacts for that. Where the busy machine had made the other worker take more than its half, it
 * is asked again.
 */
async function whileHeld<T>(question: () => Promise<T>): Promise<Held<T>> {
  return await waitFor("two artifacts to be ready", async () => {
    const madeBefore = await madeBySecond();
    ask.proxies?.data.hold();
    const asked = question();
    asked.catch(() => undefined); // Whoever asked awaits it.
    const fromMs = performance.now();
    const made = await waitFor("the second worker's half", async () => {
      if ((await madeBySecond()) >= madeBefore + 2) return "half" as const;
      return performance.now() > fromMs + 2 * fetchSilenceMs ? ("less" as const) : undefined;
    });
    if (made === "half") return { asked, fromMs };
    ask.proxies?.data.release();
    await asked;
    return undefined;
  });
}

async function madeBySecond(): Promise<number> {
  const labels = { kind: "promql", outcome: "done" };
  return await metric(ask.monitorUrl(second), "capstan_work_runtime_seconds_count", labels);
}

/** Kills the process at once; resolves when the supervisor has started it again. */
async function backAfterKill(name: string): Promise<void> {
  const returns = (): number =>
    ask.cluster.events.filter(({ event, process }) => event === "back" && process === name).length;
  const before = returns();
  ask.cluster.kill(name, "SIGKILL");
  await waitFor(`${name} to be back`, () => (returns() > before ? true : undefined));
}

async function running(worker: string): Promise<number> {
  return await metric(ask.monitorUrl(worker), "capstan_worker_running_work");
}

test("[QU14] [QP10] Worker failure mid-query with immediate reassignment", async () => {
  await onceWithin("moving work, besides computing it anew,", 3_000, async () => {
    const slowMs = await timeOfSlowQuery();
    const movedBefore = await metric(url, "capstan_work_reassigned_total");
    const { asked } = await whileComputing(() => promql(url, slowQuery, day), [first]);
    const back = backAfterKill(first);
    const killedMs = performance.now();
    assert.equal(await asked, slowAnswer);
    const delayMs = performance.now() - killedMs;
    assert.ok((await metric(url, "capstan_work_reassigned_total")) > movedBefore, "nothing moved");
    await back;
    await ask.cluster.waitForWorkers("ACTIVE", bothWorkers);
    // All of it anew on what is left is twice the time; no lease or poll is waited for besides.
    return delayMs - 3 * slowMs;
  });
});

/** The time of an undisturbed query on the machine as busy as it is now. */
async function timeOfSlowQuery(): Promise<number> {
  const startedMs = performance.now();
  assert.equal(await promql(url, slowQuery, day), slowAnswer);
  return performance.now() - startedMs;
}

test("[QU25] Drain behavior: worker signaled to stop rejects new work, finishes in-flight work, exits cleanly", async () => {
  const { asked } = await whileComputing(() => streamed(url, slowQuery, day), [second]);
  const leaving = ask.second;
  leaving.kill("SIGTERM");
  await waitFor("it to take no more work", async () => {
    const found = (await listWorkers(url)).find(({ worker_id }) => worker_id === second);
    return found?.accepting_work === true ? undefined : true;
  });
  const meanwhile = await streamed(url, lightQuery, fineDay);
  assert.deepEqual(workersOf(meanwhile), [first]);
  const answer = await asked;
  assert.deepEqual(workersOf(answer), bothWorkers, "it finished what it had begun");
  assert.ok(worksOf(answer).every(({ attempts }) => attempts === 1));
  assert.equal(asWhole(answer), slowAnswer);
  assert.deepEqual(await leaving.exited, { code: 0, signal: null });
  await ask.startSecond();
});

test(
  "[QU8] Artifact expiration path: expired artifact forces deterministic work re-execution",
  linuxOnly,
  async () => {
    const isSeen = async (): Promise<true | undefined> => ((await loseTwo()) ? true : undefined);
    await waitFor("artifacts that are lost before their fetch is given up", isSeen);
  },
);

/**
 * Of two artifacts one is gone and one corrupt. `false`: it took so long that fetches were given up
 * as well.
 */
async function loseTwo(): Promise<boolean> {
  const failuresBefore = await metric(url, "capstan_artifact_fetch_failures_total");
  const mismatchesBefore = await metric(url, "capstan_artifact_checksum_mismatches_total");
  const held = await whileHeld(() => streamed(url, lightQuery, fineDay));
  ask.proxies?.data.spoil("lost", "corrupt");
  ask.proxies?.data.release();
  const heldMs = performance.now() - held.fromMs;
  const answer = await held.asked;
  assert.equal(asWhole(answer), lightAnswer);
  if (heldMs > fetchSilenceMs / 2) return false;
  const repeated = worksOf(answer).filter(({ attempts }) => attempts > 1);
  assert.equal(repeated.length, 2, JSON.stringify(worksOf(answer)));
  const failures = await metric(url, "capstan_artifact_fetch_failures_total");
  assert.equal(failures - failuresBefore, 2);
  const mismatches = await metric(url, "capstan_artifact_checksum_mismatches_total");
  assert.equal(mismatches - mismatchesBefore, 1);
  return true;
}

test(
  "[QP10] Transient network blip: worker disconnect/reconnect with API retry loop and successful continued operation",
  linuxOnly,
  async () => {
    const incarnationOf = async (): Promise<string | undefined> =>
      (await listWorkers(url)).find(({ worker_id }) => worker_id === second)?.incarnation;
    const before = await incarnationOf();
    const disconnectsBefore = await metric(url, "capstan_control_disconnects_total");
    const { asked } = await whileComputing(() => promql(url, slowQuery, day), [second]);
    ask.proxies?.grpc.cut();
    assert.equal(await asked, slowAnswer, "after a cut of the control session");
    await ask.cluster.waitForWorkers("ACTIVE", bothWorkers);
    assert.ok((await metric(url, "capstan_control_disconnects_total")) > disconnectsBefore);
    assert.equal(await incarnationOf(), before, "it is the same worker, not a new one");
    const answer = await waitFor("it to take part again", async () => {
      const found = await streamed(url, lightQuery, fineDay);
      return workersOf(found).includes(second) ? found : undefined;
    });
    assert.ok(worksOf(answer).every(({ attempts }) => attempts === 1));
    assert.equal(asWhole(answer), lightAnswer);

    const light = await whileHeld(() => promql(url, lightQuery, fineDay));
    ask.proxies?.data.cut();
    ask.proxies?.data.release();
    assert.equal(await light.asked, lightAnswer, "after a cut of fetches under way");
  },
);

test("[QU21] [MH16] API failure causing worker-side cancellation", async () => {
  const written = dataSeries(
    { __name__: "acknowledged" },
    { startMs: endMs, stepMs: 100, count: 500 },
    (index) => index,
  );
  await writeData(url, [written]);
  // It is never computed to its end: much longer than the others, it is still under way on both.
  const endless = { ...day, stepMs: 10_000 };
  await onceWithin("the end of cancelled work", 5_000, async () => {
    const cancelledBefore = await Promise.all(bothWorkers.map(cancelledWorks));
    const { asked } = await whileComputing(() => promql(url, slowQuery, endless), bothWorkers);
    const pid = ask.pid("coordinator");
    const back = backAfterKill("coordinator");
    const killedMs = performance.now();
    await assert.rejects(asked);
    await waitFor("the workers to stop", async () => {
      const busy = await Promise.all(bothWorkers.map(running));
      return busy.every((works) => works === 0) ? true : undefined;
    });
    const stoppedMs = performance.now() - killedMs;
    for (const [index, worker] of bothWorkers.entries()) {
      const cancelled = (await cancelledWorks(worker)) - (cancelledBefore[index] ?? 0);
      assert.ok(cancelled > 0, `${worker} cancelled nothing`);
    }
    await back;
    assert.ok(!isAlive(pid));
    await ask.cluster.waitForWorkers("ACTIVE", bothWorkers);
    return stoppedMs;
  });
  const [counted] = await vector(url, "count_over_time(acknowledged[5m])", endMs + 60_000);
  assert.equal(counted?.value[1], "500");
  assert.equal(await promql(url, lightQuery, fineDay), lightAnswer);
});

async function cancelledWorks(worker: string): Promise<number> {
  return await metric(ask.monitorUrl(worker), "capstan_work_cancel_latency_seconds_count", {
    kind: "promql",
  });
}

const lanes = ["a", "b", "c"] as const;
const seriesPerLane = 500;
const samplesPerWrite = 20;
const stepMs = 100;
/** Samples of a lane lie between its start and now, however fast it writes. */
const writesMax = 600;

/** A sender of its own series: a write follows when the one before was acknowledged. */
class Lane {
  readonly name: string;
  /** Writes that were answered with 204. */
  acknowledged = 0;
  readonly #labels: readonly Readonly<Record<string, string>>[];
  readonly #startMs: number;

  constructor(name: string, startMs: number) {
    this.name = name;
    this.#startMs = startMs;
    this.#labels = Array.from({ length: seriesPerLane }, (_, index) => ({
      __name__: "load",
      lane: name,
      series: String(index),
    }));
  }

  /** Writes until a write fails. */
  async run(): Promise<void> {
    while (await this.write()) assert.ok(this.acknowledged < writesMax, "the head is not sealed");
  }

  /** Returns false when it is unknown whether the sample was written. */
  async write(): Promise<boolean> {
    const status = await remoteWrite(url, this.#body()).catch(() => undefined);
    if (status === 204) this.acknowledged += 1;
    return status === 204;
  }

  /** A sample's value is the number of samples before it. */
  #body(): Uint8Array<ArrayBuffer> {
    const first = this.acknowledged * samplesPerWrite;
    const times = { startMs: this.#startMs + first * stepMs, stepMs, count: samplesPerWrite };
    return remoteWriteBody(
      this.#labels.map((labels) => dataSeries(labels, times, (index) => first + index)),
    );
  }
}

test("[MH6] [MH16] every sample that was acknowledged is there when the coordinator is killed under load, and in the middle of a seal", async () => {
  await ask.cluster.waitForWorkers("ACTIVE", bothWorkers);
  const tmpDir = join(ask.cluster.dataDir, "lake", "tmp");
  const startMs = Date.now() - 20 * minuteMs;
  const all = lanes.map((name) => new Lane(name, startMs));
  const moments: readonly (readonly [string, () => boolean])[] = [
    ["writes to be under way", () => all.every(({ acknowledged }) => acknowledged > 10)],
    ["the head to be sealed", () => readdirSync(tmpDir).length > 0],
  ];
  for (const [what, isNow] of moments) {
    const writing = Promise.all(all.map((lane) => lane.run()));
    const reached = waitFor(what, () => (isNow() ? true : undefined), 60_000);
    const wasFirst = await Promise.race([reached, writing.then(() => false)]);
    assert.ok(wasFirst, `a write failed while waiting for ${what}`);
    await backAfterKill("coordinator");
    await writing;
    await ask.cluster.waitForWorkers("ACTIVE", bothWorkers);
    await checkLanes(all, "one more at the most");
  }
  const sealed = await waitFor("the seal", async () => {
    const { summary } = await streamed(url, "count(load)", { timeMs: startMs + minuteMs });
    const segments = summary.leaves[0]?.segmentCount ?? 0;
    return segments > 0 ? segments : undefined;
  });
  assert.ok(sealed > 0);
  // Sent again, what was written but not acknowledged is no error, and is not there twice.
  for (const lane of all) assert.ok(await lane.write(), `lane ${lane.name} goes on`);
  await checkLanes(all, "no more");
});

/**
 * Each series has the first so many samples of its lane, without a gap. A write that was not
 * acknowledged is there whole, or not at all.
 */
async function checkLanes(
  all: readonly Lane[],
  allowed: "one more at the most" | "no more",
): Promise<void> {
  const gapless = "count_over_time(load[30m]) == last_over_time(load[30m]) + 1";
  const found = await vector(url, `count_values by (lane) ("n", ${gapless})`, Date.now());
  for (const { name, acknowledged } of all) {
    const counts = found
      .filter(({ metric: labels }) => labels.lane === name)
      .map(({ metric: labels, value }) => [Number(labels.n), Number(value[1])]);
    const least = acknowledged * samplesPerWrite;
    const isMore = allowed === "one more at the most" && counts[0]?.[0] !== least;
    const wanted = isMore ? least + samplesPerWrite : least;
    assert.deepEqual(counts, [[wanted, seriesPerLane]], `lane ${name}, ${acknowledged} writes`);
  }
}
