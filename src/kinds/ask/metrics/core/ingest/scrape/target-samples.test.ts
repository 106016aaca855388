import assert from "node:assert/strict";
import { test } from "node:test";
import type { SampleBatch } from "../../model.ts";
import { parseScrapeConfig } from "./parse-scrape-config.ts";
import { buildTargets, type Target } from "./target.ts";
import { TargetSamples } from "./target-samples.ts";

function targetOf(fields = ""): Target {
  const text = `scrape_configs:\n  - job_name: j\n    static_configs: [{targets: ['h:1']}]\n${fields}`;
  const [job] = parseScrapeConfig(text).jobs;
  assert.ok(job !== undefined);
  const [target] = buildTargets(job, job.staticGroups).targets;
  assert.ok(target !== undefined);
  return target;
}

const body = (
  text: string,
  contentType = "text/plain",
): { body: Uint8Array; contentType: string } => ({
  body: new TextEncoder().encode(text),
  contentType,
});

/** Each sample as `name{labels} value@ts`, without the target's own labels. */
function shown(batch: SampleBatch): string[] {
  return Array.from({ length: batch.count }, (_, index) => {
    const { __name__, job, instance, ...rest } =
      batch.series[batch.seriesIndex[index] as number]?.toRecord() ?? {};
    assert.deepEqual([job, instance], ["j", "h:1"]);
    const labels = Object.entries(rest)
      .map(([name, value]) => `${name}=${value}`)
      .join(",");
    const value = batch.stale?.[index] === 1 ? "stale" : batch.values[index];
    return `${__name__}${labels === "" ? "" : `{${labels}}`} ${value}@${batch.ts[index]}`;
  });
}

const own = (all: string[]): string[] => all.filter((line) => !/^(up|scrape_)/.test(line));

test("[IN13] a scrape's samples have its target's labels and time, and a report follows", () => {
  const samples = new TargetSamples(targetOf());
  const { batch, error } = samples.digest(body('a 1\nb{x="y"} 2 500\n'), 1_000, 250);
  assert.equal(error, "");
  assert.deepEqual(shown(batch), [
    "a 1@1000",
    "b{x=y} 2@500",
    "up 1@1000",
    "scrape_duration_seconds 0.25@1000",
    "scrape_samples_scraped 2@1000",
    "scrape_samples_post_metric_relabeling 2@1000",
    "scrape_series_added 2@1000",
  ]);
  const again = samples.digest(body("a 1\n"), 2_000, 250);
  assert.ok(shown(again.batch).includes("scrape_series_added 0@2000"));
});

test("[IN13] the job may ask for three more reports", () => {
  const samples = new TargetSamples(
    targetOf("    extra_scrape_metrics: true\n    sample_limit: 9\n"),
  );
  const { batch } = samples.digest(body("a 1\n"), 1_000, 0);
  assert.deepEqual(shown(batch).slice(-3), [
    "scrape_timeout_seconds 10@1000",
    "scrape_sample_limit 9@1000",
    "scrape_body_size_bytes 4@1000",
  ]);
});

test("[IN14] what vanishes is marked stale once; what has its own time is not", () => {
  const samples = new TargetSamples(targetOf());
  samples.digest(body("a 1\nb 1\nc 1 500\n"), 1_000, 0);
  assert.deepEqual(own(shown(samples.digest(body("a 2\n"), 2_000, 0).batch)), [
    "a 2@2000",
    "b stale@2000",
  ]);
  assert.deepEqual(own(shown(samples.digest(body("a 3\n"), 3_000, 0).batch)), ["a 3@3000"]);
  assert.deepEqual(own(shown(samples.digest(body("a 3\nb 4\n"), 4_000, 0).batch)), [
    "a 3@4000",
    "b 4@4000",
  ]);
});

test("[IN14] a job may track series with their own times too", () => {
  const samples = new TargetSamples(targetOf("    track_timestamps_staleness: true\n"));
  samples.digest(body("c 1 500\n"), 1_000, 0);
  assert.deepEqual(own(shown(samples.digest(body("a 2\n"), 2_000, 0).batch)), [
    "a 2@2000",
    "c stale@2000",
  ]);
});

test("[IN14] a failed scrape ends every series, and says why", () => {
  const samples = new TargetSamples(targetOf());
  samples.digest(body("a 1\n"), 1_000, 0);
  const failed = samples.digest({ failure: "connection refused" }, 2_000, 100);
  assert.equal(failed.error, "connection refused");
  assert.deepEqual(shown(failed.batch).slice(0, 2), ["a stale@2000", "up 0@2000"]);
  assert.deepEqual(own(shown(samples.digest({ failure: "x" }, 3_000, 0).batch)), []);
  assert.deepEqual(own(shown(samples.digest(body("a 1\n"), 4_000, 0).batch)), ["a 1@4000"]);
});

test("[IN14] a body that cannot be read is a failed scrape: nothing of it is kept", () => {
  const samples = new TargetSamples(targetOf());
  samples.digest(body("a 1\n"), 1_000, 0);
  const failed = samples.digest(body("a 2\nb 3\nc x\n"), 2_000, 0);
  assert.match(failed.error, /^line 3: expected value after metric, got "x"/);
  assert.deepEqual(own(shown(failed.batch)), ["a stale@2000"]);
});

test("[IN14] the end of a target ends its series and its report", () => {
  const samples = new TargetSamples(targetOf());
  assert.equal(samples.endMarkers(5_000), undefined);
  samples.digest(body("a 1\n"), 1_000, 0);
  const batch = samples.endMarkers(5_000);
  assert.ok(batch !== undefined);
  assert.deepEqual(shown(batch).slice(0, 2), ["a stale@5000", "up stale@5000"]);
  assert.equal(batch.count, 6);
});

test("[IN14] another configuration of the same target goes on with its series", () => {
  const first = new TargetSamples(targetOf());
  first.digest(body("a 1\nb 1\n"), 1_000, 0);
  const second = new TargetSamples(targetOf("    sample_limit: 5\n"));
  second.adopt(first);
  assert.deepEqual(own(shown(second.digest(body("a 2\n"), 2_000, 0).batch)), [
    "a 2@2000",
    "b stale@2000",
  ]);
});

test("[IN14] a scrape that fails half-way ends every series of the one before", () => {
  const samples = new TargetSamples(targetOf("    sample_limit: 2\n"));
  samples.digest(body("a 1\nb 2\n"), 1_000, 0);
  const failed = samples.digest(body("a 3\nb 4\nc 5\n"), 2_000, 0);
  assert.equal(failed.error, "sample limit exceeded");
  assert.deepEqual(own(shown(failed.batch)), ["a stale@2000", "b stale@2000"]);
  assert.deepEqual(own(shown(samples.digest(body("a 6\n"), 3_000, 0).batch)), ["a 6@3000"]);
});

const limits = [
  { fields: "    sample_limit: 1\n", text: "a 1\nb 2\n", want: /^sample limit exceeded$/ },
  {
    fields: "    label_limit: 3\n",
    text: 'a{x="1",y="2"} 1\n',
    want: /^label_limit exceeded \(metric: a, number of labels: 5, limit: 3\)$/,
  },
  {
    fields: "    label_name_length_limit: 8\n",
    text: 'a{long_name="2"} 1\n',
    want: /^label_name_length_limit exceeded \(metric: a, label name: long_name, length: 9, limit: 8\)$/,
  },
  {
    fields: "    label_value_length_limit: 4\n",
    text: 'a{x="größe"} 1\n',
    want: /^label_value_length_limit exceeded \(metric: a, label name: x, value: "größe", length: 7, limit: 4\)$/,
  },
];
for (const { fields, text, want } of limits) {
  test(`[IN15] a limit fails the scrape:${fields.trimEnd().slice(3)}`, () => {
    const outcome = new TargetSamples(targetOf(fields)).digest(body(text), 1_000, 0);
    assert.match(outcome.error, want);
    assert.deepEqual(own(shown(outcome.batch)), []);
  });
}

test("[IN13] a target's labels win, the sample's are kept aside; or the other way round", () => {
  const text = 'a{job="x",exported_job="y"} 1\n';
  const { batch } = new TargetSamples(targetOf()).digest(body(text), 1, 0);
  assert.deepEqual(batch.series[0]?.toRecord(), {
    __name__: "a",
    job: "j",
    instance: "h:1",
    exported_job: "y",
    exported_exported_job: "x",
  });
  const honest = new TargetSamples(targetOf("    honor_labels: true\n")).digest(
    body(text),
    1,
    0,
  ).batch;
  assert.deepEqual(honest.series[0]?.toRecord(), {
    __name__: "a",
    job: "x",
    instance: "h:1",
    exported_job: "y",
  });
});

test("[IN13] times may be ignored, metrics dropped, two series made one", () => {
  const fields = `    honor_timestamps: false
    metric_relabel_configs:
      - {source_labels: [__name__], regex: go_.*, action: drop}
      - {regex: x, action: labeldrop}
`;
  const samples = new TargetSamples(targetOf(fields));
  const outcome = samples.digest(body('go_x 1\na{x="1"} 1 5\na{x="2"} 2 6\n'), 1_000, 0);
  assert.deepEqual(own(shown(outcome.batch)), ["a 1@1000"]);
  assert.equal(outcome.duplicateCount, 1);
  assert.ok(shown(outcome.batch).includes("scrape_samples_post_metric_relabeling 2@1000"));
  assert.deepEqual(own(shown(samples.digest(body('a{x="2"} 2\n'), 2_000, 0).batch)), ["a 2@2000"]);
});

test("[IN13] the content type chooses the format; one that is unknown fails", () => {
  const openMetrics = '# TYPE a counter\na_total 1 # {t="u"} 5\na_created 0.5\n# EOF\n';
  const samples = new TargetSamples(targetOf());
  const { batch } = samples.digest(
    body(openMetrics, "application/openmetrics-text; version=1.0.0"),
    1_000,
    0,
  );
  assert.equal(batch.startTs?.[0], 500);
  assert.deepEqual(
    batch.exemplars.map(({ series, value, ts }) => [series.name, value, ts]),
    [["a_total", 5, 1_000]],
  );
  assert.deepEqual(batch.metadata, [{ metric: "a", type: "counter", help: "", unit: "" }]);
  assert.match(
    samples.digest(body("a 1\n", "text/html"), 2_000, 0).error,
    /received unsupported Content-Type "text\/html"/,
  );
  assert.match(samples.digest(body("a 1\n", ""), 3_000, 0).error, /blank Content-Type/);
  const lenient = new TargetSamples(
    targetOf("    fallback_scrape_protocol: PrometheusText0.0.4\n"),
  );
  assert.equal(lenient.digest(body("a 1\n", ""), 1_000, 0).error, "");
});

test("[IN15] series that come and go are forgotten", () => {
  const samples = new TargetSamples(targetOf());
  for (let turn = 0; turn < 8; turn += 1) {
    const lines = Array.from({ length: 3_000 }, (_, index) => `m{turn="${turn}",n="${index}"} 1`);
    const { batch } = samples.digest(body(`${lines.join("\n")}\n`), turn * 1_000, 0);
    assert.equal(batch.count, 3_000 + (turn > 0 ? 3_000 : 0) + 5);
  }
});

const fleeting = [
  { what: "series of scrapes that fail", line: (name: string) => `${name} 1\n`, end: "bad line\n" },
  { what: "families without samples", line: (name: string) => `# TYPE ${name} gauge\n`, end: "" },
];
for (const { what, line, end } of fleeting) {
  test(`[IN15] ${what} are forgotten, too`, () => {
    const samples = new TargetSamples(targetOf());
    let most = 0;
    for (let scrape = 0; scrape < 40; scrape += 1) {
      const lines = Array.from({ length: 1_000 }, (_, index) => line(`m_${scrape}_${index}`));
      samples.digest(body(lines.join("") + end), scrape, 0);
      most = Math.max(most, samples.rememberedCount);
    }
    assert.ok(most > 5_000 && most <= 12_000, String(most));
  });
}
