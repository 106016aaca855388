/** The first steps of every process: directory, secrets, log. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { OperatingError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { trimWhenIdle } from "../kernel/node/trim-when-idle.ts";
import { createPinoLogger, type LogLevel, Scrubber } from "../observe/index.ts";
import { type DataDir, openDataDir } from "./data-dir.ts";
import { dieOnBug } from "./lifecycle.ts";
import { readSecretFile, readTokens, type TokenBook } from "./tokens.ts";

/** Options as the command line gives them. */
export interface ProcessOptions {
  readonly dataDir: string;
  readonly logLevel: LogLevel;
  readonly logFormat?: "json" | "short";
  readonly json?: boolean;
  readonly host: string;
  readonly clusterTokenFile?: string;
  readonly clusterCert?: string;
  readonly clusterKey?: string;
  readonly clusterCa?: string;
  readonly tokensFile?: string;
  /** Whether PromQL threads compile before the first query (0.4 s of CPU time). On by default. */
  readonly warmUp?: "on" | "off";
  /** Whether it runs in a process of somebody else, who decides what an unexpected error does. */
  readonly embedded?: boolean;
  /** Migrations that replace the package's, for tests. */
  readonly schemaDir?: string;
}

/** PEM texts. */
export interface ClusterTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface ProcessSetup {
  readonly dataDir: DataDir;
  readonly logger: Logger;
  readonly tokens: TokenBook;
  readonly clusterToken: string;
  readonly clusterTls: ClusterTls | undefined;
}

export function setUpProcess(
  options: ProcessOptions,
  processName: string,
  kind: "controller" | "worker",
): ProcessSetup {
  if (!namePattern.test(processName)) throw badName(processName);
  const scrubber = new Scrubber();
  const dataDir = openDataDir(options.dataDir);
  const tokens = readTokens(options.tokensFile, process.env.CAPSTAN_TOKENS);
  const clusterToken = clusterTokenOf(options, dataDir, kind);
  const { stdout, env } = process;
  const ofTheLake = [env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN];
  for (const secret of [clusterToken, ...tokens.secrets(), ...ofTheLake]) {
    if (secret !== undefined) scrubber.add(secret);
  }
  const format = options.logFormat ?? (stdout.isTTY && options.json !== true ? "short" : "json");
  const colour = stdout.isTTY && (env.NO_COLOR ?? "") === "";
  const level = options.logLevel;
  const logger = createPinoLogger({ process: processName, level, format, colour, scrubber });
  if (options.embedded !== true) dieOnBug(logger);
  trimWhenIdle();
  return { dataDir, logger, tokens, clusterToken, clusterTls: readClusterTls(options) };
}

/** The name is used for a directory and in every log line. */
const namePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

function badName(name: string): OperatingError {
  return new OperatingError(
    "bad_request",
    "never",
    `--name: ${JSON.stringify(name)} is not a name`,
    {
      hint: "Lower-case letters, digits and hyphens, 63 at most.",
    },
  );
}

function clusterTokenOf(
  { clusterTokenFile }: ProcessOptions,
  dataDir: DataDir,
  kind: "controller" | "worker",
): string {
  const given =
    clusterTokenFile === undefined
      ? process.env.CAPSTAN_CLUSTER_TOKEN
      : readSecretFile(clusterTokenFile, "--cluster-token-file");
  const token = given?.trim() ?? "";
  if (token !== "") return token;
  // A worker with an invented token would be refused.
  if (kind === "controller" || existsSync(join(dataDir.path, "cluster-token"))) {
    return dataDir.clusterToken();
  }
  throw new OperatingError("unauthenticated", "never", "a worker needs the cluster's token", {
    hint: "Set CAPSTAN_CLUSTER_TOKEN or --cluster-token-file to what the coordinator has in .capstan/cluster-token.",
  });
}

function readClusterTls(options: ProcessOptions): ClusterTls | undefined {
  const { clusterCert, clusterKey, clusterCa } = options;
  if (clusterCert === undefined && clusterKey === undefined && clusterCa === undefined) {
    return undefined;
  }
  if (clusterCert === undefined || clusterKey === undefined || clusterCa === undefined) {
    throw new OperatingError(
      "bad_request",
      "never",
      "--cluster-cert, --cluster-key and --cluster-ca go together",
    );
  }
  return {
    cert: readSecretFile(clusterCert, "--cluster-cert"),
    key: readSecretFile(clusterKey, "--cluster-key"),
    ca: readSecretFile(clusterCa, "--cluster-ca"),
  };
}
