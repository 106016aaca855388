/**
 * One child of `capstan up`: started, listened to, started again when it dies, stopped when asked.
 *
 *   1  A child that ends, however it ends, is started again after a wait that grows to a cap.
 *   2  Except for a worker that was dropped from the cluster: it says so by its exit status, and stays down.
 *   3  A child that cannot start at all, and says that trying again is no use, is reported before it was ever ready.
 *   4  After `stop` nothing is started any more; what does not end in time is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { exitCodes } from "../../ground/command/exit-codes.ts";
import { type Clock, sleep } from "../../ground/kernel/clock.ts";
import type { ChildMessage } from "../../ground/process/index.ts";
import { decideRestart, freshHistory } from "./restart-policy.ts";

export type ChildFailure = Extract<ChildMessage, { kind: "failed" }>;

export interface ChildEvents {
  started(pid: number): void;
  /** `again`: not for the first time. */
  ready(pid: number, url: string, again: boolean): void;
  line(text: string): void;
  died(how: string, restartMs: number): void;
  /** See 2. */
  dropped(): void;
  /** It will not run: see 3. */
  hopeless(failure: ChildFailure): void;
}

export interface ChildConfig {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly events: ChildEvents;
}

export class SupervisedChild {
  readonly name: string;
  readonly #config: ChildConfig;
  readonly #stopped = new AbortController();
  #process: ChildProcess | undefined;
  #readyBefore = false;
  #running: Promise<void> | undefined;

  constructor(config: ChildConfig) {
    this.#config = config;
    this.name = config.name;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  start(): void {
    this.#running ??= this.#keepRunning();
  }

  /** Asks it to end, waits `graceMs`, then kills it. Resolves when it is gone. */
  async stop(graceMs: number): Promise<"ended" | "killed"> {
    this.#stopped.abort();
    this.#process?.kill("SIGTERM");
    const waited = new AbortController();
    const timeout = sleep(this.#config.clock, graceMs, waited.signal).then(() => "late" as const);
    const ended = this.#running?.then(() => "ended" as const) ?? Promise.resolve("ended" as const);
    const outcome = await Promise.race([ended, timeout]);
    waited.abort();
    if (outcome === "ended") return "ended";
    this.#process?.kill("SIGKILL");
    await this.#running;
    return "killed";
  }

  async #keepRunning(): Promise<void> {
    const { clock, events } = this.#config;
    let history = freshHistory;
    while (!this.#stopped.signal.aborted) {
      const startMs = clock.nowMs();
      const { how, dropped, failure } = await this.#runOnce();
      if (this.#stopped.signal.aborted) return;
      if (failure?.final === true && !this.#readyBefore) {
        events.hopeless(failure);
        return;
      }
      if (dropped) {
        events.dropped();
        return;
      }
      const decision = decideRestart(history, clock.nowMs() - startMs);
      history = decision.history;
      events.died(failure === undefined ? how : failure.message, decision.waitMs);
      await sleep(clock, decision.waitMs, this.#stopped.signal);
    }
  }

  async #runOnce(): Promise<{ how: string; dropped: boolean; failure: ChildFailure | undefined }> {
    const { command, args, env, events } = this.#config;
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    this.#process = child;
    let failure: ChildFailure | undefined;
    child.on("message", (message: ChildMessage) => {
      if (message.kind === "failed") {
        failure = message;
        return;
      }
      events.ready(child.pid ?? 0, message.url, this.#readyBefore);
      this.#readyBefore = true;
    });
    forEachLine(child.stdout, events.line);
    forEachLine(child.stderr, events.line);
    return await new Promise((resolve) => {
      child.once("spawn", () => events.started(child.pid ?? 0));
      child.once("error", (error) => resolve({ how: error.message, dropped: false, failure }));
      child.once("exit", (code, signal) => {
        const how = signal === null ? `exit status ${code}` : signal;
        // 3: it said why in its lines.
        if (code === exitCodes.usage) failure ??= refusedCommandLine;
        resolve({ how, dropped: code === exitCodes.dropped, failure });
      });
    });
  }
}

const refusedCommandLine: ChildFailure = {
  kind: "failed",
  code: "usage",
  message: "its command line was refused",
  hint: "the lines above say why",
  final: true,
};

function forEachLine(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream === null) return;
  createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
}
