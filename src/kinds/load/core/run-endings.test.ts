import assert from "node:assert/strict";
import { test } from "node:test";
import { testWorker } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { beginEnrichment, decideEnrichment } from "./decide-enrichment.ts";
import { decideSignal } from "./decide-reap.ts";
import {
  beginProgress,
  finalResult,
  isMeasured,
  isSettled,
  judged,
  measuring,
  stepOf,
} from "./find-max-run.ts";
import { generatorBoundOf } from "./generator-bound.ts";
import { checkTargetHost } from "./target-host.ts";

test("[EN1] [EN2] enrichment: 240 s, every 10 s, enough at 90 %, or at half when nothing more comes", () => {
  const run = (ratios: readonly number[]) => {
    let progress = beginEnrichment(0);
    for (const [index, ratio] of ratios.entries()) {
      const next = decideEnrichment(progress, ratio, index * 10_000);
      if (next.decision.kind === "end") return [index + 1, next.decision.status];
      assert.equal(next.decision.atMs, (index + 1) * 10_000);
      progress = next.progress;
    }
    return "not ended";
  };
  assert.deepEqual(run([0.2, 0.9]), [2, "COMPLETED"]);
  assert.deepEqual(run([0.6, 0.6, 0.6, 0.6]), [4, "COMPLETED"]);
  assert.deepEqual(run([0.6, 0.6, 0.7, 0.7, 0.7, 0.7]), [6, "COMPLETED"]);
  assert.deepEqual(run(new Array<number>(30).fill(0.4)), [25, "COMPLETED"]);
  assert.deepEqual(run(new Array<number>(30).fill(0)), [25, "FAILED"]);
});

test("[RP1] a process that should be gone is asked after 10 s and killed after 20", () => {
  const run = { stopTimeMs: null, endTimeMs: null };
  const signals = (facts: Omit<Parameters<typeof decideSignal>[0], "nowMs">, goneByMs: number) =>
    [9_999, 10_000, 19_999, 20_000].map((ms) => decideSignal({ ...facts, nowMs: goneByMs + ms }));
  const late = [undefined, "SIGTERM", "SIGTERM", "SIGKILL"];
  const beat = { lastHeartbeatMs: 5_000 };
  assert.deepEqual(signals({ status: "COMPLETED", ...beat, ...run }, 5_000), late);
  assert.deepEqual(signals({ status: "DEAD", ...beat, ...run }, 65_000), late);
  const stopped = { ...run, stopTimeMs: 1_000 };
  assert.deepEqual(signals({ status: "DRAINING", ...beat, ...stopped }, 121_000), late);
  const ended = { ...stopped, endTimeMs: 3_000 };
  assert.deepEqual(signals({ status: "DRAINING", ...beat, ...ended }, 3_000), late);
  assert.equal(decideSignal({ status: "RUNNING", ...beat, ...run, nowMs: 1e9 }), undefined);
});

test("[FR1] [FR2] [FR3] [FR4] a step settles under no number, waits for all, is measured, then judged", () => {
  const scenario = scenarioOf({
    findMax: { stepDurationSeconds: 10, startConcurrency: 8, concurrencyIncrement: 8 },
    scaling: { mode: "BOUNDED", maxWorkers: 1, maxConnections: 12 },
  });
  const settling = beginProgress(scenario, 0);
  assert.equal(stepOf(settling), 0);
  assert.equal(isSettled(scenario, settling, 2_499, true), false);
  assert.equal(isSettled(scenario, settling, 90_000, false), false);
  assert.equal(isSettled(scenario, settling, 2_500, true), true);
  const step = measuring(settling, 2_500);
  assert.equal(stepOf(step), 1);
  assert.equal(isMeasured(scenario, step, 13_499), false);
  assert.equal(isMeasured(scenario, step, 13_500), true);
  const of = (qps: number) => ({
    qps,
    qpsLow: qps,
    qpsHigh: qps,
    p95Ms: 10,
    p95LowMs: 10,
    p95HighMs: 10,
    ops: 1_000,
    errorRatePct: 0,
    queuedShare: 0,
    secondsDiscarded: 0,
    isLate: false,
  });
  const good = of(80);
  const second = judged(scenario, step, good, 13_500);
  assert.equal(second.verdict.outcome, "STABLE");
  assert.equal(second.progress.state.connections, 12);
  const last = judged(scenario, measuring(second.progress, 0), of(120), 1);
  assert.equal(last.progress.stage, "done");
  assert.deepEqual(last.progress.result?.reason, "12 connections were allowed");
  const stored = JSON.parse(JSON.stringify(second.progress));
  assert.deepEqual(judged(scenario, stored, good, 5), judged(scenario, second.progress, good, 5));
});

test("[FM3] the answer of a run that was the generator's is not confirmed", () => {
  const result = {
    max_concurrency: 8,
    true_max: true,
    qps: 1,
    p95_latency_ms: 1,
    reason: "above it: nothing gained",
    steps: 9,
    low: 8,
    high: 8,
  };
  const scenario = scenarioOf();
  const progress = { ...beginProgress(scenario, 0), stage: "done" as const, result };
  const of = (isGeneratorBound: boolean) =>
    finalResult(scenario, progress, { reason: "", isGeneratorBound });
  assert.deepEqual(of(false), result);
  const { true_max: isTrue, low, high, reason } = of(true);
  assert.deepEqual([isTrue, low, high], [false, null, null]);
  assert.match(reason, /saturated, or did not run all the time; above it/);
});

test("[GB1] a quarter of the time makes a run the generator's", () => {
  const fine = {
    cpu_percent: 50,
    schedule_lag_ms_p99: 1,
    event_loop_delay_ms_p99: 1,
    event_loop_delay_ms_mean: 0,
    schedule_lag_ms_p95: 0,
    latency_ms_p50: 10,
    latency_ms_p95: 20,
    memory_percent: 10,
    rss_bytes: 1,
    waiting: 0,
    dropped: 0,
    unsent: 0,
  };
  const three = new Array(3).fill(fine);
  const span = (health: typeof fine, seconds = 1, workerId = testWorker("worker-0")) => ({
    workerId,
    health,
    seconds,
  });
  const isGeneratorBound = (seconds: readonly (typeof fine)[]) =>
    generatorBoundOf(seconds.map((each) => span(each))).isBound;
  assert.equal(isGeneratorBound([]), false);
  assert.equal(isGeneratorBound([...three, fine]), false);
  assert.equal(isGeneratorBound([...three, { ...fine, cpu_percent: 97 }]), true);
  assert.equal(isGeneratorBound([...three, ...three, { ...fine, schedule_lag_ms_p95: 50 }]), false);
  // Frozen for 4 of 14 s: one snapshot, or the one after it, tells of the whole stretch.
  const late = { ...fine, schedule_lag_ms_p95: 3_800, latency_ms_p95: 3_900 };
  const ten = new Array(9).fill(span(fine));
  const { isBound, reason } = generatorBoundOf([...ten, span(late, 4), span(fine)]);
  assert.equal(isBound, true);
  assert.match(reason, /^4 of 14 seconds: operations began 3800 ms late/);
  assert.equal(generatorBoundOf([...ten, span(fine, 4), span(late)]).isBound, true);
  assert.equal(
    generatorBoundOf([...ten, span(fine, 4), span(late, 1, testWorker("other"))]).isBound,
    false,
  );
  assert.equal(generatorBoundOf([...ten, span(fine, 5)]).isBound, false, "a store that was away");
});

test("[TH1] [TH2] this machine may be loaded, others by name only, addresses have no password", () => {
  const check = (url: string, allowed: readonly string[] = [], kind = "postgres") =>
    checkTargetHost({
      ...scenarioOf().target,
      url,
      allowedHosts: allowed,
      kind: kind as "postgres",
    });
  for (const url of [
    "postgres://localhost/db",
    "postgres://me@127.0.0.1:5432/db",
    "postgres://[::1]/db",
    "postgres:///db?host=/run/postgresql",
    "http://LOCALHOST:9090/api",
  ]) {
    check(url);
  }
  check("/data/db.sqlite", [], "sqlite");
  check("snowflake://me@acc/DB", ["acc.snowflakecomputing.com"], "snowflake");
  check("snowflake://me@acc/DB?access_url=http://127.0.0.1:9/", [], "snowflake");
  assert.throws(() => check("snowflake://me@localhost/DB", [], "snowflake"), { code: "forbidden" });
  check("postgres://DB.example.com/x", ["db.example.com"]);
  for (const url of [
    "postgres://db.example.com/x",
    "postgres://localhost/x?host=db.example.com",
    "postgres://127.0.0.1.example.com/x",
    "postgres://localhost.example.com/x",
  ]) {
    assert.throws(() => check(url), { code: "forbidden" });
  }
  for (const url of [
    "db.example.com",
    "postgres://me:secret@localhost/x",
    "postgres://localhost/x?password=y",
  ]) {
    assert.throws(() => check(url, ["db.example.com"]), { code: "bad_request" });
  }
});
