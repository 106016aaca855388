import assert from "node:assert/strict";
import { test } from "node:test";
import { scenarioOf } from "../testing/scenario.ts";
import { finalRecordOf, type RecordFacts } from "./final-record.ts";
import { Histogram } from "./histogram.ts";
import { SeriesBook } from "./series-book.ts";

const operations = [
  { name: "look", kind: "POINT_LOOKUP" },
  { name: "put", kind: "UPDATE" },
] as const;

function factsOf(book: SeriesBook, changes: Partial<RecordFacts> = {}): RecordFacts {
  return {
    scenario: { ...scenarioOf(), slos: [{ of: "ALL", metric: "p95", limit: 20 }] },
    series: book.snapshot(),
    measuredSeconds: 10,
    health: [],
    answering: [{ measured_ms: 10_000, silences: "" }],
    errorExamples: {},
    workerCount: 1,
    lostWorkers: 0,
    status: "COMPLETED",
    ...changes,
  };
}

function bookOf(successes: number, failures: number, unserved = 0): SeriesBook {
  const book = new SeriesBook(operations, "MEASUREMENT");
  const { token } = book;
  for (let nth = 0; nth < successes; nth += 1) book.record(token, 0, 10_000, 9_000, undefined, 1);
  for (let nth = 0; nth < failures; nth += 1) book.record(token, 1, 8_000, 8_000, "other", 0);
  book.giveUp({ token, operation: 0, waitedUs: 4_000_000, count: unserved });
  return book;
}

test("[FF1] [FF2] a target that only fails: no latency, no rate, FAILED, and what failed has its own figures", () => {
  const examples = { other: "500: Internal Server Error" };
  const record = finalRecordOf(factsOf(bookOf(0, 6_914), { errorExamples: examples }));
  assert.deepEqual([record.qps, record.p95_latency_ms, record.min_latency_ms], [0, null, null]);
  assert.deepEqual([record.failed_operations, record.error_rate_pct], [6_914, 100]);
  assert.equal(Math.round(record.failed_latency?.p95_latency_ms ?? 0), 8);
  assert.deepEqual(record.error_examples, examples);
  assert.deepEqual([record.verdict, record.has_broken_limits], ["FAILED", true]);
  assert.match(record.reasons.join("\n"), /no operation succeeded: 6914 failed, 0 unserved/);
  assert.equal(record.slos[0]?.state, "MISSED");
});

test("[FF1] a target that hangs: every arrival counts, percentiles are least values, FAILED", () => {
  const record = finalRecordOf(factsOf(bookOf(671, 0, 529)));
  assert.deepEqual([record.total_operations, record.unserved], [671, 529]);
  assert.ok(Math.abs((record.p95_latency_ms ?? 0) / 4_000 - 1) < 0.01);
  assert.ok(Math.abs((record.p50_latency_ms ?? 0) / 10 - 1) < 0.01);
  assert.deepEqual([record.percentiles_valid, record.verdict], [false, "FAILED"]);
  assert.equal(record.qps, 67.1);
  assert.match(record.reasons.join("\n"), /529 of 1200 arrivals \(44.08 %\)/);
  assert.match(record.warnings.join("\n"), /529 arrivals went unserved/);
  assert.equal(record.operations.find(({ operation }) => operation === "look")?.unserved, 529);
});

test("[FF2] records of single operations replace the histograms' latencies, and objectives follow", () => {
  const exact = {
    p50_latency_ms: 11,
    p90_latency_ms: 12,
    p95_latency_ms: 21,
    p99_latency_ms: 22,
    p999_latency_ms: 23,
    avg_latency_ms: 11,
    min_latency_ms: 9,
    max_latency_ms: 24,
  };
  const book = bookOf(100, 1);
  assert.equal(finalRecordOf(factsOf(book)).verdict, "PASSED");
  const record = finalRecordOf(factsOf(book, { recorded: new Map([["ALL", exact]]) }));
  assert.deepEqual([record.p95_latency_ms, record.percentiles_from], [21, "records"]);
  assert.deepEqual([record.slos[0]?.value, record.verdict], [21, "FAILED"]);
  assert.equal(record.has_broken_limits, false, "an objective is missed, no limit is broken");
  assert.equal(record.percentiles_valid, true);
});

test("[FF3] what an earlier version stored is shown with what is not known of it, and judged by its objectives alone", () => {
  const old = bookOf(50, 50)
    .snapshot()
    .map((each) => ({ ...each, failed: null }));
  const record = finalRecordOf(factsOf(bookOf(0, 0), { series: old, answering: [] }));
  assert.deepEqual(
    [record.unserved, record.availability_pct, record.failed_latency],
    [null, null, null],
  );
  assert.equal(record.verdict, "PASSED");
  assert.match(record.warnings.join("\n"), /Measured by an earlier version/);
});

test("[FF1] [AV1] a run without a success was available for 0 % of the time, however little of it was silence", () => {
  const { availability_pct: percent } = finalRecordOf(factsOf(bookOf(0, 500)));
  assert.equal(percent, 0);
  assert.equal(finalRecordOf(factsOf(bookOf(0, 0, 40))).availability_pct, 0);
  assert.equal(finalRecordOf(factsOf(bookOf(500, 0))).availability_pct, 100);
});

test("[AV1] what is usual is the slowest operation's: one that takes a second now and then is no outage", () => {
  const silences = new Histogram();
  for (let nth = 0; nth < 8; nth += 1) silences.record(1_000_000);
  const answering = [{ measured_ms: 10_000, silences: silences.encode() }];
  const mix = (slow: number): SeriesBook => {
    const book = bookOf(1_000, 0);
    for (let nth = 0; nth < slow; nth += 1)
      book.record(book.token, 1, 1_000_000, 1_000_000, undefined, 1);
    return book;
  };
  assert.equal(finalRecordOf(factsOf(mix(30), { answering })).availability_pct, 100);
  const few = finalRecordOf(factsOf(mix(8), { answering })).availability_pct ?? 100;
  assert.ok(Math.abs(few - 20) < 1, `${few}: eight hung, and nothing says that this is usual`);
});

test("[HT5] requests that were sent again are counted, of all workers, and more than 1 % of them is said", () => {
  const answering = (resent: number) => [
    { measured_ms: 5_000, silences: "", resent },
    { measured_ms: 5_000, silences: "" },
  ];
  const few = finalRecordOf(factsOf(bookOf(1_000, 0), { answering: answering(10) }));
  assert.deepEqual([few.resent_requests, few.warnings], [10, []]);
  const many = finalRecordOf(factsOf(bookOf(1_000, 0), { answering: answering(91) }));
  assert.equal(many.resent_requests, 91);
  assert.match(many.warnings.join("\n"), /91 requests \(9.1 % of operations\) were sent again/);
});

test("[VE5] a run that was cancelled has no verdict where it would have passed", () => {
  const record = finalRecordOf(factsOf(bookOf(500, 0), { status: "CANCELLED" }));
  assert.deepEqual([record.verdict, record.reasons, record.slos[0]?.state], [null, [], "MET"]);
});

const frozenRuns = [
  { name: "none", frozen: [0, 0], isSaid: false },
  { name: "a short one", frozen: [900, 0], isSaid: false },
  { name: "more than a second", frozen: [1_100, 0], isSaid: true },
  { name: "2 % of a short run", measuredMs: 10_000, frozen: [0, 600], isSaid: true },
] as const;
for (const { name, frozen, isSaid, ...rest } of frozenRuns) {
  test(`[GB2] a generator that did not run: ${name}`, () => {
    const { measuredMs = 100_000 } = rest as { measuredMs?: number };
    const answering = frozen.map((ms) => ({
      measured_ms: measuredMs,
      silences: "",
      frozen_ms: ms,
      skipped: ms / 10,
    }));
    const facts = { answering, measuredSeconds: measuredMs / 1000, workerCount: 2 };
    const record = finalRecordOf(factsOf(bookOf(1_000, 0), facts));
    const [longest, all] = [Math.max(...frozen), frozen[0] + frozen[1]];
    assert.equal(record.verdict, "PASSED");
    assert.equal(record.generator_bound, isSaid, "it has passed, with a reservation");
    assert.deepEqual([record.generator_frozen_ms, record.skipped_arrivals], [longest, all / 10]);
    assert.equal(record.measured_seconds, measuredMs / 1000);
    const ranSeconds = (measuredMs - all / 2) / 1000;
    assert.ok(Math.abs(record.qps - 1_000 / ranSeconds) < 1e-9, "the rate is of the other time");
    const said = `The load generator did not run for ${longest / 1000} s .*; ${all / 10} arrivals that came due then went unsent`;
    assert.equal(new RegExp(said).test(record.warnings.join("\n")), isSaid, record.warnings.join());
  });
}
