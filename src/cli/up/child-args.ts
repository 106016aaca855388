/** The arguments and environment of the children of `capstan up`. */
import {
  type DataDir,
  decideMemoryBytes,
  launchedEnv,
  machine,
  readSecretFile,
  supervisedEnv,
} from "../../ground/process/index.ts";

/** The command-line options. */
export interface UpOptions {
  readonly workers: number;
  readonly dashboard: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly dataDir: string;
  readonly store?: string;
  readonly host: string;
  readonly port: number;
  readonly apiUrl?: string;
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly clusterTokenFile?: string;
  readonly clusterCert?: string;
  readonly clusterKey?: string;
  readonly clusterCa?: string;
  readonly tokensFile?: string;
  readonly warmUp?: string;
  readonly memoryLimit?: number;
  /** For each worker. */
  readonly diskLimit?: number;
  readonly lake?: string;
  readonly metricsDir?: string;
  /** In milliseconds. */
  readonly keepSnapshots?: number;
  readonly deleteAfter?: number;
  readonly upkeepEvery?: number;
  readonly scrubEvery?: number;
  readonly keepMetrics?: number;
  readonly keepRuns?: number;
  readonly scrapeConfig?: string;
  readonly splitRows?: number;
  readonly limit?: readonly string[];
  readonly allowTargetFile?: readonly string[];
  readonly loadMemoryLimit?: number;
  readonly allowPasswordEnv?: readonly string[];
  readonly suspendAfter?: number;
  readonly streamDialect?: string;
  readonly secretsDir?: string;
  readonly drainTimeout: number;
  readonly logLevel: string;
}

/** Secrets are passed in the environment: every user of the machine can read a command line. */
export function childEnv(options: UpOptions, dataDir: DataDir): NodeJS.ProcessEnv {
  const { [launchedEnv]: _launched, ...inherited } = process.env;
  const given =
    options.clusterTokenFile === undefined
      ? inherited.CAPSTAN_CLUSTER_TOKEN
      : readSecretFile(options.clusterTokenFile, "--cluster-token-file").trim();
  return {
    ...inherited,
    [supervisedEnv]: "1",
    CAPSTAN_CLUSTER_TOKEN: given === undefined || given === "" ? dataDir.clusterToken() : given,
    ...(options.store === undefined ? {} : { CAPSTAN_STORE: options.store }),
  };
}

function commonArgs(options: UpOptions): string[] {
  return [
    ...["--data-dir", options.dataDir, "--host", options.host],
    ...["--log-level", options.logLevel, "--log-format", "json"],
    ...["--drain-timeout", String(options.drainTimeout)],
    ...flag("--warm-up", options.warmUp),
    ...flag("--tokens-file", options.tokensFile),
    ...flag("--cluster-cert", options.clusterCert),
    ...flag("--cluster-key", options.clusterKey),
    ...flag("--cluster-ca", options.clusterCa),
  ];
}

export function coordinatorArgs(options: UpOptions, port: number): string[] {
  const shareBytes = decideMemoryBytes("coordinator", { ...machine(), workers: 1 });
  // A coordinator can do with less memory than a worker, and does not use more.
  const memoryBytes = Math.min(options.memoryLimit ?? shareBytes, shareBytes);
  return [
    "coordinator",
    ...commonArgs(options),
    ...["--port", String(port), "--memory-limit", String(memoryBytes)],
    ...flag("--api-url", options.apiUrl),
    ...flag("--lake", options.lake),
    ...flag("--metrics-dir", options.metricsDir),
    ...ageFlag("--keep-snapshots", options.keepSnapshots),
    ...ageFlag("--delete-after", options.deleteAfter),
    ...ageFlag("--upkeep-every", options.upkeepEvery),
    ...ageFlag("--keep-metrics", options.keepMetrics),
    ...ageFlag("--scrub-every", options.scrubEvery),
    ...ageFlag("--keep-runs", options.keepRuns),
    ...flag("--scrape-config", options.scrapeConfig),
    ...flag("--stream-dialect", options.streamDialect),
    ...flag("--tls-cert", options.tlsCert),
    ...flag("--tls-key", options.tlsKey),
    ...(options.allowHost ?? []).flatMap((host) => ["--allow-host", host]),
    ...(options.allowOrigin ?? []).flatMap((origin) => ["--allow-origin", origin]),
    ...targetFiles(options),
    ...(options.limit ?? []).flatMap((limit) => ["--limit", limit]),
    ...(options.allowPasswordEnv ?? []).flatMap((name) => ["--allow-password-env", name]),
  ];
}

export function workerArgs(options: UpOptions, name: string, url: string): string[] {
  const memoryBytes =
    options.memoryLimit ?? decideMemoryBytes("worker", { ...machine(), workers: options.workers });
  return [
    "worker",
    ...commonArgs(options),
    ...["--name", name, "--join", url, "--memory-limit", String(memoryBytes)],
    ...["--compute-threads", String(computeThreads(options.workers))],
    ...flag("--lake", options.lake),
    ...flag("--metrics-dir", options.metricsDir),
    ...flag("--disk-limit", options.diskLimit?.toString()),
    ...flag("--split-rows", options.splitRows?.toString()),
    ...targetFiles(options),
    ...ageFlag("--suspend-after", options.suspendAfter),
    ...flag("--secrets-dir", options.secretsDir),
  ];
}

function targetFiles({ allowTargetFile = [], loadMemoryLimit }: UpOptions): string[] {
  return [
    ...allowTargetFile.flatMap((path) => ["--allow-target-file", path]),
    ...flag("--load-memory-limit", loadMemoryLimit?.toString()),
  ];
}

/** The cores, divided among the workers. */
function computeThreads(workers: number): number {
  return Math.max(1, Math.floor(machine().cores / Math.max(1, workers)));
}

function ageFlag(name: string, ageMs: number | undefined): string[] {
  return ageMs === undefined ? [] : [name, `${ageMs / 1000}s`];
}

function flag(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value];
}
