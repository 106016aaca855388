/**
 * One child of `capstan up`: started, listened to, restarted when it ends, stopped when asked (CM9,
 * CM10). A child that was dropped from the cluster says so by its exit status. One that cannot
 * start at all is reported as hopeless.
 */
import { exitCodes } from "../../ground/command/exit-codes.ts";
import { type Clock, sleep } from "../../ground/kernel/clock.ts";
import type { ChildMessage } from "../../ground/process/index.ts";
import { OwnProcess } from "../../ground/threads/index.ts";
import { decideRestart, freshHistory } from "./restart-policy.ts";

export type ChildFailure = Extract<ChildMessage, { kind: "failed" }>;

export interface ChildEvents {
  started(pid: number): void;
  /** `again` is false the first time. */
  ready(pid: number, url: string, again: boolean): void;
  line(text: string): void;
  died(how: string, restartMs: number): void;
  /** The worker was dropped from the cluster and stays down. */
  dropped(): void;
  /** The child cannot start, and a retry is useless. */
  hopeless(failure: ChildFailure): void;
}

export interface ChildConfig {
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly events: ChildEvents;
}

export class SupervisedChild {
  readonly name: string;
  readonly #config: ChildConfig;
  readonly #stopped = new AbortController();
  #process: OwnProcess | undefined;
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
    const outcome = await this.#process?.stop(this.#config.clock, graceMs);
    await this.#running;
    return outcome ?? "ended";
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
    const { command, env, events } = this.#config;
    let failure: ChildFailure | undefined;
    const onMessage = (told: unknown): void => {
      const message = told as ChildMessage;
      if (message.kind === "failed") {
        failure = message;
        return;
      }
      events.ready(child.pid ?? 0, message.url, this.#readyBefore);
      this.#readyBefore = true;
    };
    const child = new OwnProcess(command, { env, output: events.line, onMessage });
    this.#process = child;
    child.started.then(
      () => events.started(child.pid ?? 0),
      () => undefined, // `ended` tells the same.
    );
    const { code, how } = await child.ended;
    if (code === exitCodes.usage) failure ??= refusedCommandLine; // Its lines say why.
    return { how, dropped: code === exitCodes.dropped, failure };
  }
}

const refusedCommandLine: ChildFailure = {
  kind: "failed",
  code: "usage",
  message: "its command line was refused",
  hint: "the lines above say why",
  final: true,
};
