import assert from "node:assert/strict";
import { test } from "node:test";
import {
  factNumber,
  formatAge,
  formatAgo,
  formatBytes,
  formatDuration,
  formatLatency,
  formatPercent,
  formatRate,
  formatShare,
  formatUptime,
  plural,
} from "./format.ts";

const cases: readonly (readonly [got: string, want: string])[] = [
  [formatBytes(undefined), "–"],
  [formatBytes(Number.NaN), "–"],
  [formatBytes(0), "0 B"],
  [formatBytes(1023), "1023 B"],
  [formatBytes(1536), "1.5 KiB"],
  [formatBytes(150 * 1024 ** 2), "150 MiB"],
  [formatBytes(5 * 1024 ** 5), "5120 TiB"],
  [formatPercent(0.126), "13 %"],
  [formatPercent(null), "–"],
  [formatDuration(0), "0.0 ms"],
  [formatDuration(412.4), "412 ms"],
  [formatDuration(1_234), "1.23 s"],
  [formatDuration(59_940), "59.9 s"],
  [formatDuration(61_000), "1 min 1 s"],
  [formatDuration(3_600_000), "1 h 0 min"],
  [formatDuration(90_000_000), "1 d 1 h"],
  [formatAge(59_400), "59 s ago"],
  [formatAge(7_199_000), "1 h ago"],
  [formatAge(172_800_000), "2 d ago"],
  [formatLatency(null), "–"],
  [formatLatency(0.0614), "0.0614 ms"],
  [formatLatency(2.556), "2.56 ms"],
  [formatLatency(121.7), "122 ms"],
  [formatLatency(1_204), "1.2 s"],
  [formatLatency(61_000), "1 min 1 s"],
  [formatRate(1_269.78), "1,270"],
  [formatRate(2.345_6), "2.35"],
  [formatShare(0.0001), "0.0001 %"],
  [formatShare(4.9160263), "4.92 %"],
  [formatShare(100), "100 %"],
  [formatUptime(2_900), "2 s"],
  [formatUptime(60_000), "1 min 0 s"],
  [formatAgo(420), "0.4 s ago"],
  [formatAgo(-30), "0.0 s ago"],
  [formatAgo(12_400), "12 s ago"],
  [plural(1, "worker"), "1 worker"],
  [plural(1_200, "row"), "1,200 rows"],
  [plural(1, "query"), "1 query"],
  [plural(2, "query"), "2 queries"],
  [plural(2, "day"), "2 days"],
];

test("[WEB4] amounts and times read as people write them", () => {
  for (const [got, want] of cases) assert.equal(got, want);
});

test("[WEB4] a fact that is no number is unknown", () => {
  const facts = { cpu_ratio: "0.25", broken: "much", empty: "" };
  assert.equal(factNumber(facts, "cpu_ratio"), 0.25);
  assert.equal(factNumber(facts, "broken"), undefined);
  assert.equal(factNumber(facts, "empty"), undefined);
  assert.equal(factNumber(undefined, "cpu_ratio"), undefined);
});
