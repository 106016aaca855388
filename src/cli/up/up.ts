/** `capstan up`: one coordinator and N workers on this machine, kept running until somebody says stop. */
import { totalmem } from "node:os";
import { join } from "node:path";
import { type ErrorCode, OperatingError } from "../../kernel/errors.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import {
  checkBind,
  chooseFreePort,
  type DataDir,
  decideMemoryBytes,
  hostPort,
  launchedEnv,
  lockDir,
  openDataDir,
  packageInfo,
  readSecretFile,
  readTokens,
  stopRequested,
  supervisedEnv,
} from "../../process/index.ts";
import { ApiClient } from "../client/api-client.ts";
import { setUpStore } from "../commands/setup.ts";
import { processTerminal } from "../output/terminal.ts";
import { Announcer } from "./announcer.ts";
import { buildDashboard } from "./dashboard-build.ts";
import { LogFile } from "./log-file.ts";
import { type ChildFailure, SupervisedChild } from "./supervised-child.ts";
import { UpFile } from "./up-file.ts";
import { waitUntilFree, waitUntilUp } from "./wait-until.ts";

/** As the command line gives them. */
export interface UpOptions {
  readonly workers: number;
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
  readonly memoryLimit?: number;
  readonly drainTimeout: number;
  readonly logLevel: string;
}

const clock = realClock;
const upMsMax = 60_000;

/** Resolves when everything has stopped; throws when it could not start. */
export async function runUp(options: UpOptions): Promise<void> {
  const startMs = clock.nowMs();
  const stopping = stopRequested();
  const announcer = new Announcer(processTerminal(), {
    json: options.json === true,
    verbose: options.verbose === true,
  });
  const tokens = readTokens(options.tokensFile, process.env.CAPSTAN_TOKENS);
  checkBind(options.host, tokens.size > 0 ? "tokens" : "nothing", "the API");
  const dataDir = openDataDir(options.dataDir);
  const lock = await lockDir(dataDir.path, "up.lock", clock, 0);
  const port = await choosePort(options);
  const dashboard = buildDashboard((text) => announcer.say({ event: "note", text }));
  announcer.say({ event: "setup", ...(await setUpStore(options)) });

  const url = `${options.tlsCert === undefined ? "http" : "https"}://${hostPort(reachable(options.host), port)}`;
  const upFile = new UpFile(dataDir.path, url);
  const hopeless = Promise.withResolvers<ChildFailure>();
  const names = Array.from({ length: options.workers }, (_, index) => `worker-${index + 1}`);
  const env = childEnv(options, dataDir);
  const children = [
    createChild("coordinator", coordinatorArgs(options, port)),
    ...names.map((name) => createChild(name, workerArgs(options, name, url))),
  ];
  for (const child of children) child.start();

  const over = new AbortController();
  const client = new ApiClient({ url, token: tokens.operateToken ?? tokens.secrets()[0] });
  const up = Promise.all([waitUntilUp(client, names, clock, upMsMax, over.signal), dashboard]);
  const first = await Promise.race([up, stopping, hopeless.promise]);
  if (Array.isArray(first)) {
    const [complete] = first;
    if (!complete) announcer.say({ event: "note", text: notCompleteText(dataDir) });
    const took_ms = Math.round(clock.nowMs() - startMs);
    announcer.say({ event: "up", url, workers: names.length, took_ms });
    announcer.settle(true);
  }
  const end = await Promise.race([stopping, hopeless.promise]);
  over.abort();
  announcer.settle(false);
  const failed = typeof end === "object";
  if (!failed) announcer.say({ event: "stopping", reason: end });
  // A supervisor that was asked to end waits for the drain, and a little for the rest of each child's end.
  const graceMs = failed ? 2_000 : options.drainTimeout * 1000 + 8_000;
  await Promise.all(children.map((child) => stopChild(child, graceMs)));
  upFile.remove();
  lock.release();
  if (failed) throw startError(end);
  announcer.say({ event: "stopped" });

  function createChild(name: string, args: readonly string[]): SupervisedChild {
    const log = new LogFile(join(dataDir.logsDir, `${name}.log`));
    return new SupervisedChild({
      name,
      command: process.execPath,
      args: [join(packageInfo().root, "bin", "capstan.js"), ...args],
      env,
      clock,
      events: {
        started: (pid) => upFile.set(name, { pid, url: undefined }),
        ready(pid, childUrl, again) {
          upFile.set(name, { pid, url: childUrl });
          if (again) announcer.say({ event: "back", process: name });
        },
        line(text) {
          log.append(text);
          announcer.childLine(name, text);
        },
        died: (how, restart_ms) => announcer.say({ event: "died", process: name, how, restart_ms }),
        left: (how) => announcer.say({ event: "left", process: name, how }),
        hopeless: (failure) => hopeless.resolve(failure),
      },
    });
  }

  async function stopChild(child: SupervisedChild, graceMs: number): Promise<void> {
    if ((await child.stop(graceMs)) === "killed") {
      announcer.say({ event: "killed", process: child.name });
    }
  }
}

/** The children's addresses must be known before they start, so "any" is chosen here. */
async function choosePort({ host, port }: UpOptions): Promise<number> {
  if (port === 0) return await chooseFreePort(host);
  await waitUntilFree(host, port, clock, 3_000);
  return port;
}

/** What the processes on this machine use to reach it. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** Secrets travel in the environment: a command line can be read by everybody on the machine. */
function childEnv(options: UpOptions, dataDir: DataDir): NodeJS.ProcessEnv {
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
    ...flag("--tokens-file", options.tokensFile),
    ...flag("--cluster-cert", options.clusterCert),
    ...flag("--cluster-key", options.clusterKey),
    ...flag("--cluster-ca", options.clusterCa),
  ];
}

function coordinatorArgs(options: UpOptions, port: number): string[] {
  return [
    "coordinator",
    ...commonArgs(options),
    ...["--port", String(port)],
    ...flag("--api-url", options.apiUrl),
    ...flag("--tls-cert", options.tlsCert),
    ...flag("--tls-key", options.tlsKey),
    ...(options.allowHost ?? []).flatMap((host) => ["--allow-host", host]),
    ...(options.allowOrigin ?? []).flatMap((origin) => ["--allow-origin", origin]),
  ];
}

function workerArgs(options: UpOptions, name: string, url: string): string[] {
  const share = { totalBytes: totalmem(), workers: options.workers };
  const memoryBytes = options.memoryLimit ?? decideMemoryBytes("worker", share);
  return [
    "worker",
    ...commonArgs(options),
    ...["--name", name, "--join", url, "--memory-limit", String(memoryBytes)],
  ];
}

function flag(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value];
}

function notCompleteText({ logsDir }: DataDir): string {
  return `Not everything is there after ${upMsMax / 1000} s; the logs in ${logsDir} may say why.`;
}

function startError({ code, message, hint }: ChildFailure): OperatingError {
  return new OperatingError(
    code as ErrorCode,
    "never",
    message,
    hint === undefined ? {} : { hint },
  );
}
