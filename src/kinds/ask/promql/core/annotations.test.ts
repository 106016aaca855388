import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  AnnotationSet,
  annotationKey,
  badBucketLabel,
  forcedMonotonicity,
  incompatibleTypesInBinaryOperation,
  invalidQuantile,
  invalidRatio,
  mergeMessages,
  mixedClassicNativeHistograms,
  mixedFloatsHistograms,
  startTimeOverlap,
} from "./annotations.ts";

const texts: [{ level: string; message: string }, string][] = [
  [invalidQuantile(1.5), "warning: quantile value should be between 0 and 1, got 1.5"],
  [invalidRatio(-2, -1), "warning: ratio value should be between -1 and 1, got -2, capping to -1"],
  [
    badBucketLabel("m", 'x"'),
    'warning: bucket label "le" is missing or has a malformed value of "x\\"" for metric name "m"',
  ],
  [badBucketLabel("", ""), 'warning: bucket label "le" is missing or has a malformed value of ""'],
  [
    mixedFloatsHistograms("m"),
    'warning: encountered a mix of histograms and floats for metric name "m"',
  ],
  [
    mixedClassicNativeHistograms(""),
    "warning: vector contains a mix of classic and native histograms",
  ],
  [
    incompatibleTypesInBinaryOperation("float", "+", "histogram"),
    'info: incompatible sample types encountered for binary operator "+": float + histogram',
  ],
  [
    forcedMonotonicity("m", {
      bucketMin: 0.25,
      bucketMax: Number.POSITIVE_INFINITY,
      diffMax: 12.345,
      occurrences: 3,
      fromMs: 0,
      toMs: 60_000,
    }),
    "info: input to histogram_quantile needed to be fixed for monotonicity (see " +
      'https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile) for metric name "m"' +
      ", from buckets 0.25 to +Inf, with a max diff of 12, over 3 samples " +
      "from 1970-01-01T00:00:00Z to 1970-01-01T00:01:00Z",
  ],
  [
    startTimeOverlap("m", 2),
    'warning: sample has start time that overlaps with previous sample timestamp for metric "m" (2 occurrences)',
  ],
];
for (const [{ level, message }, want] of texts) {
  test(`[HG13] ${want.slice(0, 60)}`, () => assert.equal(`${level}: ${message}`, want));
}

test("[HG13] equal annotations are kept once, at the last place", () => {
  const set = new AnnotationSet();
  set.add("warning", "a", 0);
  set.add("info", "a", 1);
  set.add("warning", "b", "call");
  set.add("warning", "a", 2);
  assert.deepEqual(set.entries(), [
    { level: "warning", message: "a", place: 2 },
    { level: "warning", message: "b", place: "call" },
    { level: "info", message: "a", place: 1 },
  ]);
  assert.equal(set.size, 3);
});

test("[HG13] occurrences add up, at the first place", () => {
  const set = new AnnotationSet();
  for (const [place, occurrences] of [1, 1, 5].entries()) {
    const { level, message } = startTimeOverlap("m", occurrences);
    set.add(level, message, place);
  }
  const { level, message } = startTimeOverlap("other");
  set.add(level, message, 7);
  assert.deepEqual(set.entries(), [
    { ...startTimeOverlap("m", 7), place: 0 },
    { ...startTimeOverlap("other"), place: 7 },
  ]);
});

// Excludes -0, because its order relative to 0 is not defined.
const finite = fc.double({ noNaN: true }).map((value) => value + 0);
const fix = fc.record({
  bucketMin: finite,
  bucketMax: finite,
  diffMax: fc.double({ min: 0, max: 1e300, noNaN: true }),
  occurrences: fc.integer({ min: 1, max: 1_000 }),
  fromMs: fc.nat(),
  toMs: fc.nat(),
});

test("[HG13] merged texts are the texts of merged figures", () => {
  fc.assert(
    fc.property(fix, fix, fc.constantFrom("", "m", "to 1, over 2"), (a, b, name) => {
      const left = forcedMonotonicity(name, a).message;
      const right = forcedMonotonicity(name, b).message;
      const both = forcedMonotonicity(name, {
        bucketMin: Math.min(a.bucketMin, b.bucketMin),
        bucketMax: Math.max(a.bucketMax, b.bucketMax),
        diffMax: Math.max(a.diffMax, b.diffMax),
        occurrences: a.occurrences + b.occurrences,
        fromMs: Math.min(a.fromMs, b.fromMs),
        toMs: Math.max(a.toMs, b.toMs),
      }).message;
      assert.equal(annotationKey(left), annotationKey(right));
      assert.equal(mergeMessages(left, right), both);
    }),
  );
});

test("[HG13] their number is bounded", () => {
  const set = new AnnotationSet();
  for (let count = 0; count < 5_000; count += 1) set.add("info", `about ${count}`, "call");
  assert.equal(set.size, 1_000);
});
