/** Builds targets from a job's groups: fills in defaults and applies the relabelling rules. */
import { formatDuration, Labels, parseDuration } from "../../../../promql/core/index.ts";
import { relabel } from "./relabel.ts";
import type { ScrapeJob, TargetGroup } from "./scrape-config.ts";

export interface Target {
  readonly job: ScrapeJob;
  /** The labels of its samples, without names that begin with `__`. */
  readonly labels: Labels;
  /** The labels as discovered, before relabelling. */
  readonly discovered: Labels;
  readonly url: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Equal when two configurations have the same target. */
  readonly key: string;
}

export interface BuiltTargets {
  readonly targets: readonly Target[];
  /** The number of targets that relabelling dropped. */
  readonly droppedCount: number;
  readonly problems: readonly string[];
}

const address = "__address__";
const interval = "__scrape_interval__";
const timeout = "__scrape_timeout__";
const metricsPath = "__metrics_path__";
const scheme = "__scheme__";
const paramPrefix = "__param_";

/** Of two targets that become equal, the first is kept. */
export function buildTargets(job: ScrapeJob, groups: readonly TargetGroup[]): BuiltTargets {
  const targets = new Map<string, Target>();
  const problems: string[] = [];
  let droppedCount = 0;
  for (const group of groups) {
    for (const text of group.targets) {
      const discovered = discoveredLabels(job, group, text);
      const labels = relabel(discovered, job.relabelRules);
      if (labels === undefined) {
        droppedCount += 1;
        continue;
      }
      const target = targetOf(job, discovered, labels);
      if (typeof target === "string") problems.push(`${job.jobName}: ${text}: ${target}`);
      else if (!targets.has(target.key)) targets.set(target.key, target);
    }
  }
  return { targets: [...targets.values()], droppedCount, problems };
}

function discoveredLabels(job: ScrapeJob, group: TargetGroup, target: string): Labels {
  const record: Record<string, string> = { ...group.labels, [address]: target };
  const defaults: [string, string][] = [
    ["job", job.jobName],
    [interval, formatDuration(job.intervalMs)],
    [timeout, formatDuration(job.timeoutMs)],
    [metricsPath, job.metricsPath],
    [scheme, job.scheme],
  ];
  for (const [name, values] of Object.entries(job.params)) {
    const [first] = values;
    if (first !== undefined) defaults.push([`${paramPrefix}${name}`, first]);
  }
  for (const [name, value] of defaults) {
    if ((record[name] ?? "") === "") record[name] = value;
  }
  return Labels.of(record);
}

/** Returns a text that says what is wrong when there is no valid target. */
function targetOf(job: ScrapeJob, discovered: Labels, relabelled: Labels): Target | string {
  const host = relabelled.get(address);
  if (host === "") return "no address";
  if (host.includes("/")) return `${JSON.stringify(host)} is not a valid hostname`;
  const times = timesOf(relabelled);
  if (typeof times === "string") return times;
  const url = urlOf(job, relabelled);
  if (!URL.canParse(url)) return `${JSON.stringify(host)} is not a valid hostname`;
  const kept = [...relabelled.entries()].filter(([name]) => !name.startsWith("__"));
  const labels = Labels.fromPairs(
    relabelled.get("instance") === "" ? [...kept, ["instance", host]] : kept,
  );
  const key = `${labels.key}\n${url}\n${times.intervalMs} ${times.timeoutMs}`;
  return { job, labels, discovered, url, ...times, key };
}

function timesOf(labels: Labels): { intervalMs: number; timeoutMs: number } | string {
  const [intervalMs, timeoutMs] = [labels.get(interval), labels.get(timeout)].map(durationOf);
  if (intervalMs === undefined) return "error parsing scrape interval";
  if (intervalMs === 0) return "scrape interval cannot be 0";
  if (timeoutMs === undefined) return "error parsing scrape timeout";
  if (timeoutMs === 0) return "scrape timeout cannot be 0";
  if (timeoutMs > intervalMs) {
    const shown = `${JSON.stringify(labels.get(timeout))} > ${JSON.stringify(labels.get(interval))}`;
    return `scrape timeout cannot be greater than scrape interval (${shown})`;
  }
  return { intervalMs, timeoutMs };
}

function durationOf(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

/** Parameters are sorted by name; a `__param_x` label is the first value of `x`. */
function urlOf(job: ScrapeJob, labels: Labels): string {
  const params = new Map(Object.entries(job.params).map(([name, values]) => [name, [...values]]));
  for (const [name, value] of labels.entries()) {
    if (!name.startsWith(paramPrefix)) continue;
    const param = name.slice(paramPrefix.length);
    params.set(param, [value, ...(params.get(param) ?? []).slice(1)]);
  }
  const query = [...params]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, values]) => values.map((value) => `${escaped(name)}=${escaped(value)}`))
    .join("&");
  const path = labels.get(metricsPath);
  const rooted = path.startsWith("/") || path === "" ? path : `/${path}`;
  return `${labels.get(scheme)}://${labels.get(address)}${rooted}${query === "" ? "" : `?${query}`}`;
}

function escaped(text: string): string {
  return encodeURIComponent(text).replaceAll("%20", "+");
}

/**
 * How long after each full interval of the wall clock this target is scraped. It is derived from
 * the target's key, so that targets are spread over the interval and keep their time over restarts.
 */
export function scrapeOffsetMs({ key, intervalMs }: Target, seed: string): number {
  let hash = 0x811c9dc5;
  for (const unit of `${seed}\n${key}`) {
    hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) % intervalMs;
}
