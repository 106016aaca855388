/**
 * What the server under test says of itself while a run lasts: every five seconds, on a connection of its own, where it can be asked.
 * Never in the way: a server that does not answer is asked again later, and the run goes on.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { AssertionError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { LeaseGrant, Store } from "../../store/index.ts";
import type { Target } from "../core/target.ts";
import { addFigures } from "../store/finalize-run.ts";
import { writePoll } from "../store/run-series.ts";

export interface ServerWatchOptions {
  readonly runId: string;
  readonly target: Target;
  readonly store: Store;
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 5_000;
const answerMsMax = 10_000;
/** A busy server knows thousands of statements; those of a run are few and called most. */
const statementsMax = 500;

export class ServerWatch {
  readonly #options: ServerWatchOptions;
  readonly #stopped = new AbortController();
  #timer: Timer | undefined;
  #underWay: Promise<void> | undefined;
  #isQueued = false;
  #noting: Promise<void> | undefined;

  constructor(options: ServerWatchOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.target.capabilities.pollsServer) this.#soon(0);
  }

  /** Whether the server said since the last call that something waits. */
  takeQueued(): boolean {
    const isQueued = this.#isQueued;
    this.#isQueued = false;
    return isQueued;
  }

  /** The statements' figures as they are when MEASUREMENT begins, or when somebody takes over that has none. Nobody waits for them. */
  noteBaseline(): void {
    if (this.#options.target.capabilities.enrichment !== "aggregate") return;
    this.#noting ??= this.#noteBaseline();
  }

  async #noteBaseline(): Promise<void> {
    const { target, store, runId, lease, logger } = this.#options;
    const grant = lease();
    if (grant === undefined) return;
    try {
      const all = await this.#within(answerMsMax, (signal) => target.statementFigures(signal));
      const most = [...all].sort((a, b) => b.calls - a.calls).slice(0, statementsMax);
      await addFigures(store, runId, { statements_before: most }, grant);
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      logger.warn({ run_id: runId }, `no figures of statements: ${messageOf(thrown)}`);
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#timer?.cancel();
    await Promise.all([this.#underWay, this.#noting]);
    await this.#options.target.close().catch(() => undefined);
  }

  #soon(delayMs: number): void {
    if (this.#stopped.signal.aborted) return;
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#underWay = this.#poll();
    });
  }

  async #poll(): Promise<void> {
    const { target, store, runId, lease, logger } = this.#options;
    try {
      const grant = lease();
      const poll = await this.#within(answerMsMax, (signal) => target.pollServer(signal));
      if ((poll.queued ?? 0) > 0) this.#isQueued = true;
      if (grant !== undefined) await writePoll(store, runId, poll, grant);
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      if (!this.#stopped.signal.aborted) {
        logger.warn({ run_id: runId }, `the server does not tell of itself: ${messageOf(thrown)}`);
      }
    }
    this.#soon(everyMs);
  }

  async #within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = this.#options.clock.after(ms, () => late.abort());
    try {
      return await ask(AbortSignal.any([this.#stopped.signal, late.signal]));
    } finally {
      timer.cancel();
    }
  }
}
