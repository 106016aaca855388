/** `capstan up` as a person starts it, on any free port and in a directory of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = join(import.meta.dirname, "../../bin/capstan.js");
const startMsMax = 120_000;
const stopMsMax = 60_000;

export interface RealCluster extends AsyncDisposable {
  readonly url: string;
  /** The current process of this worker. */
  workerPid(workerId: string): Promise<number>;
}

export async function startCluster(workers: number): Promise<RealCluster> {
  const dataDir = await mkdtemp(join(tmpdir(), "capstan-browser-"));
  const args = ["up", "--workers", String(workers), "--data-dir", dataDir, "--port", "0"];
  const up = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const dispose = async (): Promise<void> => {
    await stop(up);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  try {
    const url = await addressOf(up);
    return {
      url,
      workerPid: async (workerId) => await pidOf(dataDir, workerId),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The address that it prints once it is up. */
async function addressOf(up: ChildProcess): Promise<string> {
  const said: string[] = [];
  const address = Promise.withResolvers<string>();
  const refuse = (why: string): void =>
    address.reject(new Error(`capstan up ${why}. It said:\n${said.join("\n")}`));
  const timer = setTimeout(() => refuse(`was not up after ${startMsMax} ms`), startMsMax);
  up.once("exit", (code) => refuse(`ended with ${code}`));
  for (const stream of [up.stdout, up.stderr]) {
    if (stream === null) continue;
    createInterface(stream).on("line", (line) => {
      if (said.length < 200) said.push(line);
      const found = /Capstan is up: (http:\S+)/.exec(line)?.[1];
      if (found !== undefined) address.resolve(found.replace(/\/$/, ""));
    });
  }
  return await address.promise.finally(() => clearTimeout(timer));
}

async function stop(up: ChildProcess): Promise<void> {
  if (up.exitCode !== null || up.signalCode !== null) return;
  const ended = once(up, "exit");
  up.kill("SIGINT");
  const force = setTimeout(() => up.kill("SIGKILL"), stopMsMax);
  await ended;
  clearTimeout(force);
}

/** `up.json` says which process is which, and is rewritten when one is started again. */
async function pidOf(dataDir: string, workerId: string): Promise<number> {
  const text = await readFile(join(dataDir, "up.json"), "utf8");
  const { processes } = JSON.parse(text) as { processes: Record<string, { pid: number }> };
  const pid = processes[workerId]?.pid;
  if (pid === undefined) throw new Error(`${workerId} has no process in ${text}`);
  return pid;
}
