/**
 * What the server under test says of itself while a run lasts: every five seconds, on a connection
 * of its own, where it can be asked. Never in the way: a server that does not answer is asked again
 * later, and the run goes on.
 */

import { type Clock, type Timer, within } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { Loop } from "../../../ground/reconcile/index.ts";
import type { LeaseGrant, Store } from "../../../ground/store/index.ts";
import type { RunId } from "../core/ids.ts";
import { ownStatements } from "../core/own-statements.ts";
import type { Target } from "../core/target.ts";
import { addFigures } from "../store/finalize-run.ts";
import { writePoll } from "../store/run-series.ts";

export type StatementEdge = "before" | "after";

export interface ServerWatchOptions {
  readonly runId: RunId;
  readonly target: Target;
  /** The texts of the run's statements. */
  readonly statements: readonly string[];
  readonly store: Store;
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 5_000;
const answerMsMax = 10_000;

export class ServerWatch {
  readonly #options: ServerWatchOptions;
  readonly #loop: Loop;
  #isQueued = false;
  readonly #edges = new Map<StatementEdge, Timer>();
  readonly #noting = new Map<StatementEdge, Promise<void>>();

  constructor(options: ServerWatchOptions) {
    this.#options = options;
    const { clock, logger, runId } = options;
    this.#loop = new Loop({
      clock,
      logger: logger.with({ run_id: runId }),
      turn: (signal) => this.#poll(signal),
      everyMs,
      trouble: "the server does not tell of itself",
    });
  }

  start(): void {
    if (this.#options.target.capabilities.pollsServer) this.#loop.start();
  }

  /** Whether the server has reported a queue since the last call. */
  takeQueued(): boolean {
    const isQueued = this.#isQueued;
    this.#isQueued = false;
    return isQueued;
  }

  /**
   * AM3: the figures of the run's statements as they are at an edge of MEASUREMENT, `inMs` from
   * now. Nobody waits for them. Of two that are asked for one edge the sooner counts.
   */
  noteStatements(edge: StatementEdge, inMs: number): void {
    if (this.#options.target.capabilities.enrichment !== "aggregate") return;
    if (this.#noting.has(edge)) return;
    this.#edges.get(edge)?.cancel();
    const note = (): void => void this.#noting.set(edge, this.#note(edge));
    if (inMs <= 0) note();
    else this.#edges.set(edge, this.#options.clock.after(inMs, note));
  }

  async #note(edge: StatementEdge): Promise<void> {
    const { target, store, runId, lease, clock, logger, statements } = this.#options;
    const grant = lease();
    if (grant === undefined) return;
    try {
      const all = await within(clock, answerMsMax, (signal) => target.statementFigures(signal));
      const own = ownStatements(all, statements);
      await addFigures(store, runId, { [`statements_${edge}`]: own }, grant);
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      logger.warn({ run_id: runId }, `no figures of statements: ${messageOf(thrown)}`);
    }
  }

  async stop(): Promise<void> {
    for (const timer of this.#edges.values()) timer.cancel();
    await Promise.all(this.#noting.values()); // This takes at most the time limit of an answer.
    await this.#loop.stop();
    await this.#options.target.close().catch(() => undefined);
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { target, store, runId, lease, clock } = this.#options;
    const grant = lease();
    const poll = await within(clock, answerMsMax, (either) => target.pollServer(either), signal);
    if ((poll.queued ?? 0) > 0) this.#isQueued = true;
    if (grant !== undefined) await writePoll(store, runId, poll, grant);
  }
}
