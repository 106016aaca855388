/** Parses a Prometheus-style configuration into scrape jobs. */
import { messageOf } from "../../../../../../ground/kernel/errors.ts";
import { parseDuration } from "../../../../promql/core/index.ts";
import { parseRelabelRules } from "./parse-relabel-rules.ts";
import {
  type FileDiscovery,
  noScrapeLimits,
  type ScrapeConfig,
  type ScrapeJob,
  type ScrapeLimits,
  type ScrapeTls,
  type SecretSource,
  type TargetGroup,
} from "./scrape-config.ts";
import { readYaml, type YamlMap, type YamlValue } from "./yaml-reader.ts";

/** Sections of Prometheus's configuration that do not concern scraping. */
const otherSections = [
  "alerting",
  "otlp",
  "remote_read",
  "remote_write",
  "rule_files",
  "runtime",
  "storage",
  "tracing",
];

const limitFields = [
  "body_size_limit",
  "label_limit",
  "label_name_length_limit",
  "label_value_length_limit",
  "sample_limit",
  "target_limit",
];

/** Accepted without effect: only text formats are scraped. */
const toleratedFields = [
  "always_scrape_classic_histograms",
  "convert_classic_histograms_to_nhcb",
  "enable_http2",
  "keep_dropped_targets",
  "metric_name_escaping_scheme",
  "metric_name_validation_scheme",
  "native_histogram_bucket_limit",
  "native_histogram_min_bucket_factor",
  "scrape_failure_log_file",
  "scrape_native_histograms",
  "scrape_protocols",
];

/** Accepted without effect: these concern rules, federation and remote storage. */
const globalTolerated = [
  "evaluation_interval",
  "external_labels",
  "query_log_file",
  "rule_query_offset",
];

const globalFields = [
  ...limitFields,
  ...toleratedFields,
  ...globalTolerated,
  "extra_scrape_metrics",
  "scrape_interval",
  "scrape_timeout",
];

const jobFields = [
  ...limitFields,
  ...toleratedFields,
  "authorization",
  "basic_auth",
  "bearer_token",
  "bearer_token_file",
  "enable_compression",
  "extra_scrape_metrics",
  "fallback_scrape_protocol",
  "file_sd_configs",
  "follow_redirects",
  "honor_labels",
  "honor_timestamps",
  "job_name",
  "metric_relabel_configs",
  "metrics_path",
  "params",
  "relabel_configs",
  "scheme",
  "scrape_interval",
  "scrape_timeout",
  "static_configs",
  "tls_config",
  "track_timestamps_staleness",
];

const mediaTypes: ReadonlyMap<string, string> = new Map([
  ["OpenMetricsText0.0.1", "application/openmetrics-text"],
  ["OpenMetricsText1.0.0", "application/openmetrics-text"],
  ["PrometheusText0.0.4", "text/plain"],
  ["PrometheusText1.0.0", "text/plain"],
]);

interface Defaults {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly extraMetrics: boolean;
  readonly limits: ScrapeLimits;
}

/** Throws `bad_request`, which names the line. */
export function parseScrapeConfig(text: string): ScrapeConfig {
  const root = readYaml(text).map([
    "global",
    "scrape_configs",
    "scrape_config_files",
    ...otherSections,
  ]);
  const files = root.get("scrape_config_files");
  if (files !== undefined) throw files.fail("scrape_config_files is not supported");
  const defaults = parseGlobal(root.get("global"));
  const jobs = root.items("scrape_configs").map((value) => parseJob(value, defaults));
  const names = new Set<string>();
  for (const [index, { jobName }] of jobs.entries()) {
    if (names.has(jobName)) {
      const job = root.items("scrape_configs")[index] as YamlValue;
      throw job.fail(`found multiple scrape configs with job name ${JSON.stringify(jobName)}`);
    }
    names.add(jobName);
  }
  const places = [root.get("global"), ...root.items("scrape_configs")];
  const ignored = [
    ...withoutEffect(root.value, otherSections),
    ...places.flatMap((place) => withoutEffect(place, [...toleratedFields, ...globalTolerated])),
  ];
  return { jobs, ignored };
}

/** The fields that are present but have no effect, each with its line. */
function withoutEffect(place: YamlValue | undefined, names: readonly string[]): readonly string[] {
  if (place === undefined) return [];
  const found = [...place.record()].filter(([name]) => names.includes(name));
  return found.map(([, entry]) => `line ${entry.line}: ${entry.path} has no effect here`);
}

function parseGlobal(value: YamlValue | undefined): Defaults {
  const global = value?.map(globalFields);
  const intervalMs = duration(global, "scrape_interval") || 60_000;
  const timeout = duration(global, "scrape_timeout");
  if (timeout > intervalMs) {
    throw (value as YamlValue).fail("global scrape timeout greater than scrape interval");
  }
  return {
    intervalMs,
    timeoutMs: timeout || Math.min(10_000, intervalMs),
    extraMetrics: global?.boolean("extra_scrape_metrics") ?? false,
    limits: global === undefined ? noScrapeLimits : parseLimits(global, noScrapeLimits),
  };
}

function parseJob(value: YamlValue, defaults: Defaults): ScrapeJob {
  if (value.isNull) throw value.fail("empty or null scrape config section");
  const job = value.map([...jobFields, ...unsupportedOf(value)]);
  refuseUnsupported(value);
  const jobName = job.text("job_name") ?? "";
  if (jobName === "") throw value.fail("job_name is empty");
  const intervalMs = duration(job, "scrape_interval") || defaults.intervalMs;
  const timeout = duration(job, "scrape_timeout");
  if (timeout > intervalMs) {
    const shown = JSON.stringify(jobName);
    throw value.fail(
      `scrape timeout greater than scrape interval for scrape config with job name ${shown}`,
    );
  }
  const relabelRules = parseRelabelRules(job.items("relabel_configs"));
  return {
    jobName,
    intervalMs,
    timeoutMs: timeout || Math.min(defaults.timeoutMs, intervalMs),
    scheme: parseScheme(job),
    metricsPath: job.text("metrics_path") ?? "/metrics",
    params: parseParams(job.get("params")),
    honorLabels: job.boolean("honor_labels") ?? false,
    honorTimestamps: job.boolean("honor_timestamps") ?? true,
    trackTimestampsStaleness: job.boolean("track_timestamps_staleness") ?? false,
    extraMetrics: job.boolean("extra_scrape_metrics") ?? defaults.extraMetrics,
    compression: job.boolean("enable_compression") ?? true,
    followRedirects: job.boolean("follow_redirects") ?? true,
    fallbackMediaType: parseFallback(job.get("fallback_scrape_protocol")),
    ...parseAuth(job),
    tls: parseTls(job.get("tls_config")),
    limits: parseLimits(job, defaults.limits),
    staticGroups: job
      .items("static_configs")
      .map((group) => parseTargetGroup(group, relabelRules.length === 0)),
    fileDiscoveries: job.items("file_sd_configs").map(parseFileDiscovery),
    relabelRules,
    metricRelabelRules: parseRelabelRules(job.items("metric_relabel_configs")),
  };
}

/** Fields of Prometheus that would change what is scraped, so they are refused, not ignored. */
function isUnsupported(name: string): boolean {
  const others = [
    "oauth2",
    "http_headers",
    "no_proxy",
    "proxy_from_environment",
    "proxy_connect_header",
  ];
  const isDiscovery = name.endsWith("_sd_configs") && name !== "file_sd_configs";
  return isDiscovery || name === "proxy_url" || others.includes(name);
}

function unsupportedOf(value: YamlValue): string[] {
  return [...value.record().keys()].filter(isUnsupported);
}

function refuseUnsupported(value: YamlValue): void {
  for (const [name, entry] of value.record()) {
    if (isUnsupported(name)) throw entry.fail(`${name} is not supported`);
  }
}

/** Returns 0 when the field is absent. */
function duration(map: YamlMap | undefined, name: string): number {
  const value = map?.get(name);
  if (value === undefined) return 0;
  const text = value.text();
  if (text === "0") return 0;
  try {
    return parseDuration(text);
  } catch (thrown) {
    throw value.fail(messageOf(thrown));
  }
}

function parseScheme(job: YamlMap): string {
  const scheme = job.text("scheme") ?? "http";
  if (scheme === "http" || scheme === "https") return scheme;
  throw (job.get("scheme") as YamlValue).fail("a scheme is http or https");
}

function parseParams(value: YamlValue | undefined): Record<string, readonly string[]> {
  const params: Record<string, readonly string[]> = {};
  for (const [name, entry] of value?.record() ?? []) {
    params[name] = entry.items().map((item) => item.text());
  }
  return params;
}

function parseFallback(value: YamlValue | undefined): string | undefined {
  if (value === undefined) return undefined;
  const mediaType = mediaTypes.get(value.text());
  if (mediaType !== undefined) return mediaType;
  throw value.fail(`it must be one of ${[...mediaTypes.keys()].join(", ")}`);
}

function parseAuth(job: YamlMap): Pick<ScrapeJob, "basicAuth" | "authorization"> {
  const basic = job.get("basic_auth");
  const authorization = job.get("authorization");
  const bearer = secret(job, "bearer_token");
  const hasBearer = bearer.value !== undefined || bearer.file !== undefined;
  if (Number(basic !== undefined) + Number(authorization !== undefined) + Number(hasBearer) > 1) {
    throw job.value.fail(
      "at most one of basic_auth, oauth2, authorization and bearer_token must be configured",
    );
  }
  if (hasBearer) {
    return { basicAuth: undefined, authorization: { type: "Bearer", credentials: bearer } };
  }
  return {
    basicAuth: basic === undefined ? undefined : parseBasicAuth(basic),
    authorization: authorization === undefined ? undefined : parseAuthorization(authorization),
  };
}

function parseBasicAuth(value: YamlValue): NonNullable<ScrapeJob["basicAuth"]> {
  const map = value.map(["username", "username_file", "password", "password_file"]);
  return { username: secret(map, "username"), password: secret(map, "password") };
}

function parseAuthorization(value: YamlValue): NonNullable<ScrapeJob["authorization"]> {
  const map = value.map(["type", "credentials", "credentials_file"]);
  const type = map.text("type")?.trim() ?? "";
  if (type.toLowerCase() === "basic") {
    throw value.fail('authorization type cannot be set to "basic", use "basic_auth" instead');
  }
  return { type: type === "" ? "Bearer" : type, credentials: secret(map, "credentials") };
}

function secret(map: YamlMap, name: string): SecretSource {
  const [value, file] = [map.text(name), map.text(`${name}_file`)];
  if (value !== undefined && file !== undefined) {
    throw map.value.fail(`at most one of ${name} and ${name}_file must be configured`);
  }
  return { value, file };
}

function parseTls(value: YamlValue | undefined): ScrapeTls {
  const map = value?.map([
    "ca",
    "ca_file",
    "cert_file",
    "key_file",
    "server_name",
    "insecure_skip_verify",
  ]);
  return {
    insecureSkipVerify: map?.boolean("insecure_skip_verify") ?? false,
    ca: map?.text("ca"),
    caFile: map?.text("ca_file"),
    certFile: map?.text("cert_file"),
    keyFile: map?.text("key_file"),
    serverName: map?.text("server_name"),
  };
}

function parseLimits(map: YamlMap, defaults: ScrapeLimits): ScrapeLimits {
  const limit = (name: string, otherwise: number): number => map.wholeNumber(name) || otherwise;
  return {
    bodyBytes: parseSize(map.get("body_size_limit")) || defaults.bodyBytes,
    samples: limit("sample_limit", defaults.samples),
    targets: limit("target_limit", defaults.targets),
    labels: limit("label_limit", defaults.labels),
    labelNameBytes: limit("label_name_length_limit", defaults.labelNameBytes),
    labelValueBytes: limit("label_value_length_limit", defaults.labelValueBytes),
  };
}

/** Like Prometheus, reads `10MB` as 10 × 1024 × 1024 bytes. */
function parseSize(value: YamlValue | undefined): number {
  if (value === undefined) return 0;
  const text = value.text();
  if (text === "0") return 0;
  const [, digits, unit = ""] = /^(\d+)([KMGTPE]?)i?B$/.exec(text) ?? [];
  if (digits === undefined) throw value.fail(`${JSON.stringify(text)} is no size, such as 10MB`);
  return Number(digits) * 1_024 ** ["", "K", "M", "G", "T", "P", "E"].indexOf(unit);
}

export function parseTargetGroup(value: YamlValue, refuseUrls: boolean): TargetGroup {
  const map = value.map(["targets", "labels"]);
  const targets = map.items("targets").map((item) => {
    const target = item.text();
    if (refuseUrls && target.includes("/")) {
      throw item.fail(`${JSON.stringify(target)} is not a valid hostname`);
    }
    return target;
  });
  const labels: Record<string, string> = {};
  for (const [name, entry] of map.get("labels")?.record() ?? []) {
    if (name === "") throw entry.fail(`${JSON.stringify(name)} is not a valid label name`);
    labels[name] = entry.isNull ? "" : entry.text();
  }
  return { targets, labels };
}

function parseFileDiscovery(value: YamlValue): FileDiscovery {
  const map = value.map(["files", "refresh_interval"]);
  const files = map.items("files").map((item) => {
    const path = item.text();
    if (!/^[^*]*(\*[^/]*)?\.(json|yml|yaml|JSON|YML|YAML)$/.test(path)) {
      throw item.fail(`path name ${JSON.stringify(path)} is not valid for file discovery`);
    }
    return path;
  });
  if (files.length === 0) {
    throw value.fail("file service discovery config must contain at least one path name");
  }
  return { files, refreshMs: duration(map, "refresh_interval") || 300_000 };
}

/** The content of a discovered file: a list of groups, as JSON or YAML. */
export function parseTargetFile(text: string): TargetGroup[] {
  return readYaml(text)
    .items()
    .map((group) => parseTargetGroup(group, false));
}
