/**
 * The job under which a process scrapes itself: without a network, but with the labels and reports
 * of any other job.
 */
import { noScrapeLimits, type ScrapeJob } from "./scrape-config.ts";

export function selfJob(job: string, instance: string, intervalMs: number): ScrapeJob {
  return {
    jobName: job,
    intervalMs,
    timeoutMs: Math.min(10_000, intervalMs),
    scheme: "http",
    metricsPath: "/metrics",
    params: {},
    honorLabels: false,
    honorTimestamps: true,
    trackTimestampsStaleness: false,
    extraMetrics: false,
    compression: false,
    followRedirects: false,
    fallbackMediaType: "text/plain",
    basicAuth: undefined,
    authorization: undefined,
    tls: {
      insecureSkipVerify: false,
      ca: undefined,
      caFile: undefined,
      certFile: undefined,
      keyFile: undefined,
      serverName: undefined,
    },
    limits: noScrapeLimits,
    staticGroups: [{ targets: [instance], labels: {} }],
    fileDiscoveries: [],
    relabelRules: [],
    metricRelabelRules: [],
  };
}
