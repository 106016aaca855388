import assert from "node:assert/strict";
import { test } from "node:test";
import { parseScrapeConfig, parseTargetFile } from "./parse-scrape-config.ts";
import { buildTargets } from "./target.ts";

const full = `
global:
  scrape_interval: 30s
  scrape_timeout: 5s
  external_labels: {region: eu}
  sample_limit: 1000
rule_files: [rules.yml]
scrape_configs:
  - job_name: node
    honor_labels: true
    honor_timestamps: false
    scrape_interval: 15s
    metrics_path: /probe
    scheme: https
    params:
      module: [http_2xx, second]
    basic_auth: {username: me, password_file: secret.txt}
    tls_config:
      insecure_skip_verify: true
      ca_file: ca.pem
    body_size_limit: 10MB
    label_limit: 30
    scrape_protocols: [OpenMetricsText1.0.0]
    static_configs:
      - targets: ['a:9100', 'b:9100']
        labels: {env: prod, version: 01}
    file_sd_configs:
      - files: [targets/*.json]
        refresh_interval: 1m
    relabel_configs:
      - source_labels: [__address__]
        target_label: __param_target
      - source_labels: [env]
        regex: dev
        action: drop
    metric_relabel_configs:
      - regex: le
        action: labeldrop
  - job_name: other
    authorization: {credentials: token}
`;

test("[IN11] a whole configuration is read, defaults filled in", () => {
  const { jobs, ignored } = parseScrapeConfig(full);
  const [node, other] = jobs;
  assert.ok(node !== undefined && other !== undefined);
  assert.deepEqual(
    [node.intervalMs, node.timeoutMs, other.intervalMs, other.timeoutMs],
    [15_000, 5_000, 30_000, 5_000],
  );
  assert.deepEqual(
    [node.honorLabels, node.honorTimestamps, other.honorTimestamps],
    [true, false, true],
  );
  assert.deepEqual(node.params, { module: ["http_2xx", "second"] });
  assert.deepEqual(node.basicAuth, {
    username: { value: "me", file: undefined },
    password: { value: undefined, file: "secret.txt" },
  });
  assert.deepEqual(other.authorization, {
    type: "Bearer",
    credentials: { value: "token", file: undefined },
  });
  assert.equal(node.tls.insecureSkipVerify, true);
  assert.deepEqual(
    [node.limits.bodyBytes, node.limits.samples, node.limits.labels],
    [10 * 1024 * 1024, 1_000, 30],
  );
  assert.deepEqual(node.staticGroups, [
    { targets: ["a:9100", "b:9100"], labels: { env: "prod", version: "01" } },
  ]);
  assert.deepEqual(node.fileDiscoveries, [{ files: ["targets/*.json"], refreshMs: 60_000 }]);
  assert.deepEqual([node.relabelRules.length, node.metricRelabelRules.length], [2, 1]);
  assert.deepEqual(ignored, [
    "line 7: rule_files has no effect here",
    "line 5: global.external_labels has no effect here",
    "line 23: scrape_configs[0].scrape_protocols has no effect here",
  ]);
});

test("[IN11] nothing to scrape is a configuration too", () => {
  assert.deepEqual(parseScrapeConfig("").jobs, []);
  assert.deepEqual(parseScrapeConfig("scrape_configs:\n").jobs, []);
});

const job = (rest: string): string => `scrape_configs:\n  - job_name: a\n${rest}`;
const refused = [
  {
    name: "an unknown field at the top",
    text: "globals: {}",
    want: /^line 1: globals: there is no field "globals"$/,
  },
  {
    name: "an unknown field of a job",
    text: job("    intervall: 5s\n"),
    want: /^line 3: scrape_configs\[0\]\.intervall: there is no field "intervall"$/,
  },
  {
    name: "an unknown field deep inside",
    text: job("    tls_config:\n      insecure: true\n"),
    want: /^line 4: scrape_configs\[0\]\.tls_config\.insecure: there is no field/,
  },
  {
    name: "a discovery that is not supported",
    text: job("    kubernetes_sd_configs: []\n"),
    want: /line 3: .*kubernetes_sd_configs is not supported/,
  },
  { name: "a proxy", text: job("    proxy_url: http://p\n"), want: /proxy_url is not supported/ },
  { name: "no job name", text: "scrape_configs: [{scheme: http}]", want: /job_name is empty/ },
  {
    name: "a job twice",
    text: "scrape_configs: [{job_name: a}, {job_name: a}]",
    want: /found multiple scrape configs with job name "a"/,
  },
  {
    name: "an empty job",
    text: "scrape_configs:\n  -\n",
    want: /empty or null scrape config section/,
  },
  {
    name: "a timeout beyond the interval",
    text: job("    scrape_interval: 5s\n    scrape_timeout: 10s\n"),
    want: /scrape timeout greater than scrape interval for scrape config with job name "a"/,
  },
  {
    name: "no duration",
    text: job("    scrape_interval: 5\n"),
    want: /^line 3: .*not a valid duration string: "5"/,
  },
  {
    name: "a URL as a target",
    text: job("    static_configs: [{targets: ['http://x']}]\n"),
    want: /"http:\/\/x" is not a valid hostname/,
  },
  {
    name: "a list that is none",
    text: job("    static_configs: {targets: [a]}\n"),
    want: /it must be a list/,
  },
  { name: "no size", text: job("    body_size_limit: 10\n"), want: /"10" is no size/ },
  {
    name: "two ways to authenticate",
    text: job("    basic_auth: {username: a}\n    authorization: {credentials: b}\n"),
    want: /at most one of basic_auth/,
  },
  {
    name: "a pattern of files that is none",
    text: job("    file_sd_configs: [{files: ['*/x.json']}]\n"),
    want: /is not valid for file discovery/,
  },
  { name: "no YAML", text: "a: [", want: /^line 1: / },
  {
    name: "a key twice",
    text: "global: {}\nglobal: {}\n",
    want: /^line 2: Map keys must be unique/,
  },
  {
    name: "an alias",
    text: "global: &x {}\nscrape_configs: *x\n",
    want: /aliases are not supported/,
  },
];
for (const { name, text, want } of refused) {
  test(`[IN11] a configuration is refused: ${name}`, () => {
    assert.throws(
      () => parseScrapeConfig(text),
      (thrown: Error) => {
        assert.match(thrown.message, want);
        return true;
      },
    );
  });
}

test("[IN12] targets get their labels, address, path and parameters", () => {
  const [node] = parseScrapeConfig(full).jobs;
  assert.ok(node !== undefined);
  const { targets, droppedCount, problems } = buildTargets(node, [
    ...node.staticGroups,
    { targets: ["c:1"], labels: { env: "dev" } },
    { targets: ["d/x"], labels: { __scrape_interval__: "1m" } },
    { targets: ["e:1"], labels: { __scrape_timeout__: "1m" } },
    {
      targets: ["f:1"],
      labels: { instance: "own", __meta_x: "y", __scheme__: "http", __metrics_path__: "m" },
    },
  ]);
  assert.equal(droppedCount, 1);
  assert.deepEqual(problems, [
    'node: d/x: "d/x" is not a valid hostname',
    'node: e:1: scrape timeout cannot be greater than scrape interval ("1m" > "15s")',
  ]);
  assert.deepEqual(
    targets.map(({ url, labels }) => [url, labels.toRecord()]),
    [
      [
        "https://a:9100/probe?module=http_2xx&module=second&target=a%3A9100",
        { env: "prod", instance: "a:9100", job: "node", version: "01" },
      ],
      [
        "https://b:9100/probe?module=http_2xx&module=second&target=b%3A9100",
        { env: "prod", instance: "b:9100", job: "node", version: "01" },
      ],
      ["http://f:1/m?module=http_2xx&module=second&target=f%3A1", { instance: "own", job: "node" }],
    ],
  );
});

test("[IN12] a file of targets is JSON or YAML", () => {
  const want = [{ targets: ["a:1"], labels: { x: "y" } }];
  assert.deepEqual(parseTargetFile('[{"targets": ["a:1"], "labels": {"x": "y"}}]'), want);
  assert.deepEqual(parseTargetFile("- targets: ['a:1']\n  labels: {x: y}\n"), want);
  assert.throws(() => parseTargetFile("{}"), /it must be a list/);
  assert.throws(() => parseTargetFile("[{target: a}]"), /there is no field "target"/);
});
