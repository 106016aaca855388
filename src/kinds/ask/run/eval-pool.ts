/**
 * The threads that plan and evaluate. A query stays with one of them.
 *
 *   EP1  A thread that goes on computing what nobody wants any more is ended and replaced (WT1); the other queries in it fail,
 *        and may be asked again.
 *   EP2  A thread that dies is replaced too: a query may cost a thread, never the process. One that cannot even start is tried
 *        again after a while.
 *   EP3  A query does not go to a thread that has been computing for long without a word, unless all have: it would wait for
 *        whatever that computes.
 *   EP4  Whoever was in a thread that died runs again, once, alone in a thread of its own, one after
 *        the other. Who ends that too, or was alone from the beginning, is at fault: it alone fails.
 */
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, type OperatingError } from "../../../ground/kernel/errors.ts";
import type { LogFields, Logger } from "../../../ground/kernel/logger.ts";
import { siblingModule } from "../../../ground/kernel/node/sibling-module.ts";
import type { AnswerOf, ArgumentOf, Peer, RequestOf } from "../../../ground/threads/index.ts";
import { ExecutorBroken } from "../../../ground/work/core/index.ts";
import type { ArtifactNote, EvalThread, EvalThreadOptions } from "./eval-messages.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { threadMemoryExceeded } from "./query-errors.ts";
import { startQueryThread } from "./query-threads.ts";
import { WatchedThread } from "./watched-thread.ts";

type EvalLink = Peer<EvalThread>;

export interface EvalPoolOptions {
  readonly threads: number;
  readonly heapBytesMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of what all queries hold; without a bound when absent. */
  readonly memory?: MemoryBudget;
  /** A thread runs a few queries of its own, unless a real one is there first. */
  readonly warmUp?: boolean;
  /** How long a thread may go on after a cancellation. */
  readonly patienceMs?: number;
}

const restartMs = 1_000;
/** Most queries are evaluated in a fraction of it. */
const silentMsMax = 250;

interface PlacedQuery {
  /** Whether it shared its thread with another at any time. */
  hadCompany: boolean;
  /** Whose it is, for log lines. */
  readonly fields: LogFields;
}

/** One thread, its successors, and the queries in it. */
class EvalSlot extends WatchedThread<EvalLink> {
  readonly queries = new Map<number, PlacedQuery>();
  /** When the thread last said something, or was first asked after it had nothing to do. */
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
  /** Whether it shared its thread with another query at any time. */
  hadCompany(): boolean;
  /** The query is over: nothing of it is kept. Idempotent. */
  leave(): void;
}

/** What is done in a place, and again where EP4 asks for it. */
export interface EvalTask<T> {
  readonly fields?: LogFields;
  readonly signal?: AbortSignal | undefined;
  readonly onNote?: (json: string) => void;
  act(place: EvalPlace, isAgain: boolean): Promise<T>;
  /** Asked before it is done again. */
  mayRepeat?(): boolean;
}

export class EvalPool {
  readonly #options: EvalPoolOptions;
  readonly #memory: MemoryBudget;
  readonly #slots: readonly EvalSlot[];
  #queryNext = 1;
  readonly #closing = new AbortController();
  /** EP4: who runs alone, one after the other. */
  #aloneTurn: Promise<unknown> = Promise.resolve();
  #aloneSlot: EvalSlot | undefined;
  #closed: boolean = false;

  constructor(options: EvalPoolOptions) {
    this.#options = options;
    this.#memory = options.memory ?? new MemoryBudget(Number.MAX_SAFE_INTEGER);
    this.#slots = Array.from({ length: options.threads }, () => this.#newSlot(true));
    void this.#slots[0]?.link; // The first query should not wait for it.
  }

  /** With the thread that has the fewest queries; of two, the one that has started. EP3. */
  enter(fields: LogFields = {}, onNote: (json: string) => void = () => undefined): EvalPlace {
    return this.#place(this.#choose(this.#options.clock.nowMs()), fields, onNote);
  }

  /** EP4. */
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
      if (!this.#closed && slot.link === link) slot.replace(); // EP2
    });
    return link;
  }
}
