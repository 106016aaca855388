/** Starts a coordinator in this process and workers beside it, and stops them again. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runController } from "../../coordinator/index.ts";
import { ApiClient } from "../../ground/command/client/api-client.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { realClock as clock } from "../../ground/kernel/node/real-clock.ts";
import {
  chooseFreePort,
  hostPort,
  lockDir,
  openDataDir,
  packageInfo,
  readTokens,
  type StopReason,
} from "../../ground/process/index.ts";
import { setUpStore } from "../commands/setup.ts";
import { childEnv, coordinatorArgs, type UpOptions, workerArgs } from "../up/child-args.ts";
import { SupervisedChild } from "../up/supervised-child.ts";
import { waitUntilUp } from "../up/wait-until.ts";
import { EmbeddedCapstan } from "./embedded-capstan.ts";
import type { Capstan, CapstanOptions } from "./open-capstan.ts";
import { parseOptions } from "./parse-options.ts";

const upMsMax = 60_000;
const childStopMsMax = 10_000;

export async function startEmbedded(options: CapstanOptions): Promise<Capstan> {
  const { workers = 1, args = [], logLevel = "error" } = options;
  const dir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "capstan-")));
  const undo: (() => Promise<void>)[] = [];
  if (options.dataDir === undefined) {
    undo.push(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  }
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const own = ["--data-dir", dir, "--log-level", logLevel, "--drain-timeout", "2"];
    const asked = ["up", "--port", "0", ...own, "--workers", "1", ...args];
    const up = { ...(await parseOptions<UpOptions>(asked)), workers };
    const url = await start(up, undo);
    const { operateToken, secrets } = tokensOf(up);
    const client = new ApiClient({ url, token: operateToken ?? secrets[0] });
    return new EmbeddedCapstan({ url, dataDir: dir, client, close });
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

function tokensOf({ tokensFile }: UpOptions) {
  const tokens = readTokens(tokensFile, process.env.CAPSTAN_TOKENS);
  return { operateToken: tokens.operateToken, secrets: tokens.secrets() };
}

/** Puts how to end what it has begun into `undo`, and resolves with the address of the API. */
async function start(up: UpOptions, undo: (() => Promise<void>)[]): Promise<string> {
  const dataDir = openDataDir(up.dataDir);
  const lock = await lockDir(dataDir.path, "up.lock", clock, 0);
  undo.push(async () => lock.release());
  const port = up.port === 0 ? await chooseFreePort(up.host) : up.port;
  await setUpStore(up);
  const url = `${up.tlsCert === undefined ? "http" : "https"}://${hostPort(up.host, port)}`;
  const coordinator = await startCoordinator(up, port, undo);
  const env = childEnv(up, dataDir);
  const names = Array.from({ length: up.workers }, (_, index) => `worker-${index + 1}`);
  const failed = Promise.withResolvers<never>();
  for (const name of names) {
    const child = workerChild(name, workerArgs(up, name, url), env, failed.reject);
    undo.push(async () => {
      await child.stop(childStopMsMax);
    });
    child.start();
  }
  const over = new AbortController();
  const { operateToken, secrets } = tokensOf(up);
  const client = new ApiClient({ url, token: operateToken ?? secrets[0] });
  try {
    const all = waitUntilUp(client, names, clock, upMsMax, over.signal);
    const isUp = await Promise.race([all, coordinator.ended, failed.promise]);
    if (isUp === true) return url;
    const message = `Capstan is not up after ${upMsMax / 1_000} s`;
    throw new OperatingError("deadline_exceeded", "backoff", message);
  } finally {
    over.abort();
  }
}

/** Rejects what it gives as `ended` when the coordinator fails. */
async function startCoordinator(
  up: UpOptions,
  port: number,
  undo: (() => Promise<void>)[],
): Promise<{ readonly ended: Promise<void> }> {
  const options = await parseOptions<Parameters<typeof runController>[0]>(
    coordinatorArgs(up, port),
  );
  const asked = Promise.withResolvers<StopReason>();
  const store = up.store === undefined ? {} : { store: up.store };
  const ended = runController(
    { ...options, ...store, role: "coordinator", embedded: true },
    undefined,
    { stopping: asked.promise, ready: async () => undefined },
  );
  ended.catch(() => undefined); // Whoever opens or closes it is told.
  undo.push(async () => {
    asked.resolve("closed");
    await ended;
  });
  return { ended };
}

function workerChild(
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  fail: (error: OperatingError) => void,
): SupervisedChild {
  const nothing = (): void => undefined;
  return new SupervisedChild({
    ...{ name, env, clock },
    command: [process.execPath, join(packageInfo().root, "bin", "capstan.js"), ...args],
    events: {
      ...{ started: nothing, ready: nothing, died: nothing, dropped: nothing },
      line: (text) => process.stderr.write(`${text}\n`),
      hopeless: ({ message, hint }) =>
        fail(new OperatingError("worker_unreachable", "never", message, hint ? { hint } : {})),
    },
  });
}
