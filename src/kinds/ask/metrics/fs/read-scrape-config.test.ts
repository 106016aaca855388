import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { readScrapeConfig } from "./read-scrape-config.ts";

const dir = mkdtempSync(join(tmpdir(), "capstan-scrape-"));
after(() => rmSync(dir, { recursive: true, force: true }));

function written(text: string): string {
  const path = join(dir, "prometheus.yml");
  writeFileSync(path, text);
  return path;
}

for (const [name, text, want] of [
  [
    "a key that is not supported",
    "scrape_configs:\n  - job_name: a\n    kubernetes_sd_configs: []\n",
    /line 3: .*kubernetes_sd_configs/,
  ],
  ["a key that does not exist", "scrape_configs:\n  - jobname: a\n", /line 2: .*"jobname"/],
  ["no YAML", "scrape_configs: [\n", /line \d+/],
] as const) {
  test(`[IN31] ${name} is found before the start, with file and line`, () => {
    assert.throws(
      () => readScrapeConfig(written(text)),
      (thrown) =>
        thrown instanceof OperatingError &&
        thrown.code === "bad_settings" &&
        want.test(thrown.message) &&
        thrown.message.includes("prometheus.yml"),
    );
  });
}

test("[IN31] a file that is not there is bad settings, too", () => {
  const path = join(dir, "absent.yml");
  assert.throws(() => readScrapeConfig(path), { code: "bad_settings" });
  assert.equal(readScrapeConfig(undefined), undefined);
});

test("[IN31] what has no effect is listed with its line, wherever it is", () => {
  const read = readScrapeConfig(
    written(
      [
        "global:",
        "  evaluation_interval: 30s",
        "  scrape_interval: 15s",
        "rule_files: [a.yml]",
        "scrape_configs:",
        "  - job_name: a",
        "    scrape_protocols: [PrometheusText0.0.4]",
      ].join("\n"),
    ),
  );
  assert.deepEqual(read?.ignored, [
    "line 4: rule_files has no effect here",
    "line 2: global.evaluation_interval has no effect here",
    "line 7: scrape_configs[0].scrape_protocols has no effect here",
  ]);
});
