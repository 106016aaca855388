/**
 * The threads that plan and evaluate. A query stays with one thread. A thread that keeps computing
 * a cancelled query is ended and replaced (`WatchedThread`), and a thread that dies is replaced,
 * too: a query may cost a thread, never the process.
 * After a thread has died, its queries run again once, each alone in a thread, one after the other.
 * A query that ends a thread in which it was alone is at fault and fails.
 */
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, type OperatingError } from "../../../ground/kernel/errors.ts";
import type { LogFields, Logger } from "../../../ground/kernel/logger.ts";
import { siblingModule } from "../../../ground/kernel/node/sibling-module.ts";
import { MemoryBudget } from "../../../ground/process/core/index.ts";
import type { AnswerOf, ArgumentOf, Peer, RequestOf } from "../../../ground/threads/index.ts";
import { ExecutorBroken } from "../../../ground/work/core/index.ts";
import type { ArtifactNote, EvalThread, EvalThreadOptions } from "./eval-messages.ts";
import { threadMemoryExceeded } from "./query-errors.ts";
import { startQueryThread } from "./query-threads.ts";
import { WatchedThread } from "./watched-thread.ts";

type EvalLink = Peer<EvalThread>;

export interface EvalPoolOptions {
  readonly threads: number;
  readonly heapBytesMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The budget of all queries together. No limit when absent. */
  readonly memory?: MemoryBudget;
  /** Whether a thread warms up with queries of its own until a real one arrives. */
  readonly warmUp?: boolean;
  /** How long a thread may go on after a cancellation. */
  readonly patienceMs?: number;
}

const restartMs = 1_000;
/** Most queries are evaluated in a fraction of this time. */
const silentMsMax = 250;

interface PlacedQuery {
  /** Whether the query ever shared its thread with another. */
  hadCompany: boolean;
  /** Identifies the query in log lines. */
  readonly fields: LogFields;
}

/** One thread, its successors, and the queries in it. */
class EvalSlot extends WatchedThread<EvalLink> {
  readonly queries = new Map<number, PlacedQuery>();
  /** When the thread last answered, or got its first request after being idle. */
  heardMs = 0;

  isSilent(nowMs: number): boolean {
    return Atomics.load(this.current, 0) !== 0 && nowMs - this.heardMs > silentMsMax;
  }
}

/** A query's place in a thread. */
export interface EvalPlace {
  readonly query: number;
  ask<N extends RequestOf<EvalThread>>(
    name: N,
    request: ArgumentOf<EvalThread, N>,
    signal: AbortSignal | undefined,
    transfer?: readonly ArrayBuffer[],
  ): Promise<AnswerOf<EvalThread, N>>;
  tell(artifact: ArtifactNote, transfer: readonly ArrayBuffer[]): void;
  /** Whether the query ever shared its thread with another. */
  hadCompany(): boolean;
  /** Forgets the query. Idempotent. */
  leave(): void;
}

/** What runs in a place, and runs again alone after the thread has died. */
export interface EvalTask<T> {
  readonly fields?: LogFields;
  readonly signal?: AbortSignal | undefined;
  readonly onNote?: (json: string) => void;
  act(place: EvalPlace, isAgain: boolean): Promise<T>;
  /** Checked before it runs again. */
  mayRepeat?(): boolean;
}

export class EvalPool {
  readonly #options: EvalPoolOptions;
  readonly #memory: MemoryBudget;
  readonly #slots: readonly EvalSlot[];
  #queryNext = 1;
  readonly #closing = new AbortController();
  /** The queue of those that run alone. */
  #aloneTurn: Promise<unknown> = Promise.resolve();
  #aloneSlot: EvalSlot | undefined;
  #closed: boolean = false;

  constructor(options: EvalPoolOptions) {
    this.#options = options;
    this.#memory = options.memory ?? new MemoryBudget(Number.MAX_SAFE_INTEGER);
    this.#slots = Array.from({ length: options.threads }, () => this.#newSlot(true));
    void this.#slots[0]?.link; // The first query should not wait for it.
  }

  /**
   * Chooses the thread with the fewest queries, and prefers one that has started. A thread that has
   * computed for long without an answer is avoided, unless all have.
   */
  enter(fields: LogFields = {}, onNote: (json: string) => void = () => undefined): EvalPlace {
    return this.#place(this.#choose(this.#options.clock.nowMs()), fields, onNote);
  }

  /** Runs the query, and once more alone when its thread died. */
  async within<T>(task: EvalTask<T>): Promise<T> {
    const place = this.enter(task.fields, task.onNote);
    try {
      return await task.act(place, false);
    } catch (thrown) {
      if (!(thrown instanceof ExecutorBroken)) throw thrown;
      if (!place.hadCompany()) throw this.#atFault(thrown);
      if (this.#closed || task.mayRepeat?.() === false) throw thrown;
    } finally {
      place.leave();
    }
    const message = "a thread ended for one of its queries: each of them runs again, alone";
    this.#options.logger.info(task.fields ?? {}, message);
    const turn = this.#aloneTurn.then(() => this.#alone(task));
    this.#aloneTurn = turn.catch(() => undefined);
    return await turn;
  }

  async #alone<T>(task: EvalTask<T>): Promise<T> {
    if (task.signal?.aborted === true) throw task.signal.reason;
    const slot = this.#newSlot(false);
    this.#aloneSlot = slot;
    const place = this.#place(slot, task.fields, task.onNote);
    try {
      return await task.act(place, true);
    } catch (thrown) {
      throw thrown instanceof ExecutorBroken ? this.#atFault(thrown) : thrown;
    } finally {
      place.leave();
      this.#aloneSlot = undefined;
      await slot.link.stop();
    }
  }

  #atFault(broken: ExecutorBroken): OperatingError {
    const isMemory = /memory limit/i.test(broken.message);
    return isMemory ? threadMemoryExceeded(this.#options.heapBytesMax) : broken;
  }

  #place(
    slot: EvalSlot,
    fields: LogFields = {},
    onNote: (json: string) => void = () => undefined,
  ): EvalPlace {
    const { clock } = this.#options;
    if (slot.queries.size === 0) slot.heardMs = clock.nowMs();
    const query = this.#queryNext;
    this.#queryNext += 1;
    const hadCompany = slot.queries.size > 0;
    for (const other of slot.queries.values()) other.hadCompany = true;
    const placed = { fields, hadCompany };
    slot.queries.set(query, placed);
    const { link } = slot;
    let isKept: boolean = false;
    const onProgress = (json: string | undefined): void => {
      slot.heardMs = clock.nowMs();
      if (json !== undefined && slot.queries.has(query)) onNote(json);
    };
    return {
      query,
      ask: async (name, request, signal, transfer = []) => {
        isKept = name === "plan" || name === "split"; // Whatever else is asked keeps nothing.
        try {
          const options = { signal, whenAborted: "leave", onProgress, transfer } as const;
          return await link.ask(name, request, options);
        } finally {
          if (signal?.aborted === true) slot.stopped(link, query, fields);
          else slot.heardMs = clock.nowMs();
        }
      },
      tell: (artifact, transfer) => link.tell("artifact", artifact, transfer),
      hadCompany: () => placed.hadCompany,
      leave: () => {
        if (slot.queries.delete(query) && isKept) link.tell("forget", query);
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#closing.abort();
    for (const slot of this.#slots) slot.close();
    this.#aloneSlot?.close();
    const started = this.#slots.filter(({ isStarted }) => isStarted);
    await Promise.all(started.map(({ link }) => link.stop()));
    await this.#aloneSlot?.link.stop();
  }

  #choose(nowMs: number): EvalSlot {
    const talking = this.#slots.filter((slot) => !slot.isSilent(nowMs));
    const slots = talking.length > 0 ? talking : this.#slots;
    return slots.reduce((a, b) => (b.queries.size < a.queries.size ? b : a));
  }

  #newSlot(isLasting: boolean): EvalSlot {
    const slot: EvalSlot = new EvalSlot(
      (current) => this.#startLink(slot, current),
      this.#options,
      isLasting,
    );
    return slot;
  }

  #startLink(slot: EvalSlot, current: SharedArrayBuffer): EvalLink {
    const { clock, heapBytesMax, logger, warmUp = false } = this.#options;
    const memory = this.#memory.join();
    const options: EvalThreadOptions = { current, memory, warmUp: warmUp && slot.isLasting };
    const link: EvalLink = startQueryThread<EvalThread>({
      module: siblingModule(import.meta.url, "./eval-thread"),
      options,
      clock,
      heapBytesMax,
    });
    void link.exited.then(() => this.#memory.leave(memory));
    let started: boolean = false;
    link.ready.then(
      () => {
        started = true;
      },
      () => undefined, // `failure` tells the same.
    );
    void link.failure.then(async (error) => {
      if (this.#closed || slot.link !== link) return;
      const message = `a thread that evaluates queries ended: ${messageOf(error)}`;
      const lost = Array.from(slot.queries.values(), ({ fields }) => fields);
      for (const fields of lost.length === 0 ? [{}] : lost) logger.error(fields, message);
      if (!slot.isLasting) return;
      if (!started) await sleep(clock, restartMs, this.#closing.signal);
      if (!this.#closed && slot.link === link) slot.replace();
    });
    return link;
  }
}
