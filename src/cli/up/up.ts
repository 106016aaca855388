/** `capstan up`: one coordinator and N workers on this machine, running until it is stopped. */
import { join, resolve } from "node:path";
import { ApiClient } from "../../ground/command/client/api-client.ts";
import { defaultUrl } from "../../ground/command/context.ts";
import { processTerminal } from "../../ground/command/output/terminal.ts";
import { type ErrorCode, OperatingError } from "../../ground/kernel/errors.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import {
  checkBind,
  chooseFreePort,
  type DataDir,
  hostPort,
  lockDir,
  openDataDir,
  packageInfo,
  readTokens,
  stopRequested,
} from "../../ground/process/index.ts";
import { readScrapeConfig } from "../../kinds/ask/metrics/index.ts";
import { setUpStore } from "../commands/setup.ts";
import { Announcer } from "./announcer.ts";
import { childEnv, coordinatorArgs, type UpOptions, workerArgs } from "./child-args.ts";
import { buildDashboard } from "./dashboard-build.ts";
import { LogFile } from "./log-file.ts";
import { type ChildFailure, SupervisedChild } from "./supervised-child.ts";
import { UpFile } from "./up-file.ts";
import { waitUntilFree, waitUntilUp } from "./wait-until.ts";

const clock = realClock;
const upMsMax = 60_000;

/** Resolves when everything has stopped. Throws when it could not start. */
export async function runUp(options: UpOptions): Promise<void> {
  const startMs = clock.nowMs();
  const stopping = stopRequested();
  const announcer = new Announcer(processTerminal(), {
    json: options.json === true,
    verbose: options.verbose === true,
  });
  const tokens = readTokens(options.tokensFile, process.env.CAPSTAN_TOKENS);
  checkBind(options.host, tokens.size > 0 ? "tokens" : "nothing", "the API");
  for (const notice of readScrapeConfig(options.scrapeConfig)?.ignored ?? []) {
    announcer.say({ event: "note", text: `Scrape configuration, ${notice}.` });
  }
  const dataDir = openDataDir(options.dataDir);
  const lock = await lockDir(dataDir.path, "up.lock", clock, 0);
  const port = await choosePort(options);
  const dashboard = options.dashboard
    ? buildDashboard((text) => announcer.say({ event: "note", text }))
    : undefined;
  announcer.say({ event: "setup", ...(await setUpStore(options)) });

  const url = `${options.tlsCert === undefined ? "http" : "https"}://${hostPort(reachable(options.host), port)}`;
  const upFile = new UpFile(dataDir.path, url, (text) => announcer.say({ event: "note", text }));
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
    const command = commandFor(options, url);
    announcer.say({ event: "up", url, workers: names.length, took_ms, command });
    announcer.settle(true);
  }
  const end = await Promise.race([stopping, hopeless.promise]);
  over.abort();
  announcer.settle(false);
  const failed = typeof end === "object";
  if (!failed) announcer.say({ event: "stopping", reason: end });
  // Longer than the drain, for the rest of each child's shutdown.
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
      command: [process.execPath, join(packageInfo().root, "bin", "capstan.js"), ...args],
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
        dropped: () => announcer.say({ event: "dropped", process: name }),
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

/** Chooses a free port for 0: the children's addresses must be known before they start. */
async function choosePort({ host, port }: UpOptions): Promise<number> {
  if (port === 0) return await chooseFreePort(host);
  await waitUntilFree(host, port, clock, 3_000);
  return port;
}

/** The address at which processes on this machine reach it. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** Other commands find the usual address, or that in this directory's `.capstan`, by themselves. */
function commandFor({ dataDir }: UpOptions, url: string): string {
  const found = url === defaultUrl || resolve(dataDir) === resolve(".capstan");
  const program = packageInfo().clone ? "npx capstan" : "capstan";
  return found ? program : `CAPSTAN_URL=${url} ${program}`;
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
