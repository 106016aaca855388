/** What to scrape and how, as parsed from a Prometheus-style configuration. */
import type { RelabelRule } from "./relabel.ts";

export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** A secret is given in the text, or in a file that is read at every scrape. */
export interface SecretSource {
  readonly value: string | undefined;
  readonly file: string | undefined;
}

export interface ScrapeTls {
  readonly insecureSkipVerify: boolean;
  readonly ca: string | undefined;
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly serverName: string | undefined;
}

export interface FileDiscovery {
  /** Paths, relative to the configuration's directory; the last part may contain a `*`. */
  readonly files: readonly string[];
  readonly refreshMs: number;
}

/** 0 means no limit. */
export interface ScrapeLimits {
  readonly bodyBytes: number;
  readonly samples: number;
  readonly targets: number;
  readonly labels: number;
  readonly labelNameBytes: number;
  readonly labelValueBytes: number;
}

export interface ScrapeJob {
  readonly jobName: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly scheme: string;
  readonly metricsPath: string;
  readonly params: Readonly<Record<string, readonly string[]>>;
  readonly honorLabels: boolean;
  readonly honorTimestamps: boolean;
  readonly trackTimestampsStaleness: boolean;
  readonly extraMetrics: boolean;
  readonly compression: boolean;
  readonly followRedirects: boolean;
  /** The media type to assume when a target sends none, or an unknown one. */
  readonly fallbackMediaType: string | undefined;
  readonly basicAuth:
    | { readonly username: SecretSource; readonly password: SecretSource }
    | undefined;
  readonly authorization: { readonly type: string; readonly credentials: SecretSource } | undefined;
  readonly tls: ScrapeTls;
  readonly limits: ScrapeLimits;
  readonly staticGroups: readonly TargetGroup[];
  readonly fileDiscoveries: readonly FileDiscovery[];
  readonly relabelRules: readonly RelabelRule[];
  readonly metricRelabelRules: readonly RelabelRule[];
}

export interface ScrapeConfig {
  readonly jobs: readonly ScrapeJob[];
  /** Parts of the configuration that have no effect, each with its line. */
  readonly ignored: readonly string[];
}

export const noScrapeLimits: ScrapeLimits = {
  bodyBytes: 0,
  samples: 0,
  targets: 0,
  labels: 0,
  labelNameBytes: 0,
  labelValueBytes: 0,
};
