import assert from "node:assert/strict";
import { test } from "node:test";
import { formatUnit, incrementsOf, plain, unitOf } from "./unit.ts";

const cases: readonly (readonly [query: string, value: number, shown: string])[] = [
  ["process_resident_memory_bytes", 131_072_000, "125 MiB"],
  ["sum by (job_seconds) (go_memstats_heap_bytes{unit='x_seconds'})", 1536, "1.5 KiB"],
  ["rate(network_receive_bytes_total[5m])", 2048, "2 KiB/s"],
  ["request_duration_seconds_sum", 0.0125, "12.5 ms"],
  [
    "histogram_quantile(0.95, sum by (le) (rate(request_duration_seconds_bucket[5m])))",
    90,
    "1.5 min",
  ],
  ["rate(http_requests_total[5m])", 12.5, "12.5/s"],
  ["increase(http_requests_total[1h])", 12.5, "12.5"],
  ["rate(process_cpu_seconds_total[1m])", 0.25, "0.25"],
  ["cache_hit_ratio", 0.934, "93.4 %"],
  ["disk_used_percent", 93.4, "93.4 %"],
  ["a_bytes / b_bytes", 0.5, "0.5"],
  ["a_bytes + b_seconds", 5, "5"],
  ["max(a_bytes) - min(b_bytes)", -2048, "-2 KiB"],
  ["count(a_bytes)", 3, "3"],
  ["request_duration_seconds_count", 3, "3"],
  ["process_start_time_seconds", 1000, "1000"],
  ["up", 1, "1"],
  ["{__name__='x_bytes'}", 2048, "2048"],
  ["a_bytes", 0, "0 B"],
  ["http_request_duration_seconds_bucket", 120, "120"],
  ["sum by (le) (increase(http_request_duration_seconds_bucket[5m]))", 120, "120"],
  ["rate(http_response_size_bytes_bucket[5m])", 4096, "4096/s"],
  ["histogram_quantile(0.9, rate(x_bytes_bucket[5m])) > 10", 2048, "2 KiB"],
  ["histogram_quantile(0.9, sum(rate(x_seconds[5m])))", 90, "1.5 min"],
  ["histogram_quantile(0.9, a_seconds_bucket + b_bytes_bucket)", 2048, "2048"],
  ["process_uptime_seconds", 7200, "2 h"],
  ["max(http_response_time_seconds)", 0.25, "250 ms"],
  ["worker_last_seen_timestamp_seconds", 1000, "1000"],
  ["x_seconds_created", 1000, "1000"],
  ["sqrt(a_bytes)", 4, "4"],
  ["up + a_bytes", 2, "2"],
  ["a_bytes and up", 2048, "2 KiB"],
  ["a_bytes > bool 1", 1, "1"],
  ["a_bytes - 1 or vector(0)", 2048, "2 KiB"],
  ["1024 < a_bytes offset 5m", 2048, "2 KiB"],
  ["-clamp_max(a_bytes, 1e9) # of all", -2048, "-2 KiB"],
  ["topk(5, quantile_over_time(0.5, a_seconds[5m]))", 90, "1.5 min"],
  ["max_over_time(rate(a_bytes_total[1m])[1h:1m])", 2048, "2 KiB/s"],
  ["deriv(rate(a_bytes_total[1m])[1h:1m])", 2048, "2048"],
  [`{"a_bytes", job="x"}`, 2048, "2 KiB"],
  ["a_bytes * 8", 2048, "2048"],
  ["a_bytes +", 2048, "2048"],
  ["", 4, "4"],
];
for (const [query, value, shown] of cases) {
  test(`[WEB34] ${query}: ${value} is shown as ${shown}`, () => {
    assert.equal(formatUnit(value, unitOf(query), 6), shown);
  });
}

test("[WEB34] ticks are round in the unit that is shown", () => {
  assert.ok(incrementsOf(unitOf("a_bytes"))?.includes(2 ** 20));
  const seconds = incrementsOf(unitOf("a_seconds")) ?? [];
  assert.deepEqual(
    seconds,
    [...seconds].sort((a, b) => a - b),
  );
  assert.equal(incrementsOf(plain), undefined);
});
