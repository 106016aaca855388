import assert from "node:assert/strict";
import { test } from "node:test";
import { usualLabelLimits } from "../label-limits.ts";
import { boundedJob } from "./bounded-job.ts";
import { parseScrapeConfig } from "./parse-scrape-config.ts";

test("[IN30] a job without limits of its own has everybody's; its own come first", () => {
  const { jobs } = parseScrapeConfig(
    "scrape_configs: [{job_name: a}, {job_name: b, label_limit: 7, body_size_limit: 1KB}]",
  );
  const limits = {
    ...usualLabelLimits,
    labels_per_series: 3,
    label_name_bytes: 10,
    label_value_bytes: 20,
  };
  const bounded = jobs.map((job) => boundedJob(job, limits).limits);
  const shown = bounded.map((of) => [of.labels, of.labelNameBytes, of.labelValueBytes]);
  assert.deepEqual(shown, [
    [3, 10, 20],
    [7, 10, 20],
  ]);
  assert.ok((bounded[0]?.bodyBytes ?? 0) > 1_000_000);
  assert.ok((bounded[1]?.bodyBytes ?? 0) <= 1_024);
});
