/**
 * The threads that plan and evaluate. A query stays with one of them.
 *
 *   EP1  A thread that goes on computing what nobody wants any more is ended and replaced; the other queries in it fail, and
 *        may be asked again. One that is busy with something that is wanted is left alone.
 *   EP2  A thread that dies is replaced too: a query may cost a thread, never the process. One that cannot even start is tried
 *        again after a while.
 *   EP3  A query does not go to a thread that has been computing for long without a word, unless all have: it would wait for
 *        whatever that computes.
 */
import { type Clock, sleep, type Timer } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import type { EvalAnswer, EvalNote, EvalPost, EvalRequest } from "./eval-messages.ts";
import { ThreadLink } from "./thread-link.ts";

type EvalLink = ThreadLink<EvalRequest, EvalAnswer, EvalPost, EvalNote>;

export interface EvalPoolOptions {
  readonly threads: number;
  readonly heapBytesMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A thread runs a few queries of its own, unless a real one is there first. */
  readonly warmUp?: boolean;
  /** How long a thread may go on after a cancellation. */
  readonly patienceMs?: number;
}

const patienceMsDefault = 3_000;
const restartMs = 1_000;
/** Most queries are evaluated in a fraction of it. */
const silentMsMax = 250;

/** Whatever was computed beside a query that had to be stopped: nothing is wrong with it, and it may be asked again. */
export class StoppedTogether extends OperatingError {
  constructor() {
    super("query_failed", "backoff", "another query had to be stopped together with this one");
  }
}

/** One thread, and its successors. The thread starts when it is first needed. */
class EvalSlot {
  readonly queries = new Map<number, (note: EvalNote) => void>();
  /** `EvalThreadOptions.current` of the thread. */
  current = new Int32Array(new SharedArrayBuffer(4));
  /** When the thread last said something, or was first asked after it had nothing to do. */
  heardMs = 0;
  readonly #start: (slot: EvalSlot) => EvalLink;
  #link: EvalLink | undefined;

  constructor(start: (slot: EvalSlot) => EvalLink) {
    this.#start = start;
  }

  get isStarted(): boolean {
    return this.#link !== undefined;
  }

  get link(): EvalLink {
    this.#link ??= this.#start(this);
    return this.#link;
  }

  isSilent(nowMs: number): boolean {
    return Atomics.load(this.current, 0) !== 0 && nowMs - this.heardMs > silentMsMax;
  }

  replace(): void {
    this.current = new Int32Array(new SharedArrayBuffer(4));
    this.#link = this.#start(this);
  }
}

/** A query's place in a thread. */
export interface EvalPlace {
  readonly query: number;
  ask(request: EvalRequest, signal: AbortSignal | undefined): Promise<EvalAnswer>;
  post(post: EvalPost): void;
  /** The query is over: nothing of it is kept. Idempotent. */
  leave(): void;
}

export class EvalPool {
  readonly #options: EvalPoolOptions;
  readonly #slots: readonly EvalSlot[];
  #queryNext = 1;
  readonly #watches = new Set<Timer>();
  readonly #closing = new AbortController();
  #closed: boolean = false;

  constructor(options: EvalPoolOptions) {
    this.#options = options;
    this.#slots = Array.from(
      { length: options.threads },
      () => new EvalSlot((slot) => this.#startLink(slot)),
    );
    void this.#slots[0]?.link; // The first query should not wait for it.
  }

  /** With the thread that has the fewest queries; of two, the one that has started. EP3. */
  enter(onNote: (json: string) => void = () => undefined): EvalPlace {
    const { clock } = this.#options;
    const slot = this.#choose(clock.nowMs());
    if (slot.queries.size === 0) slot.heardMs = clock.nowMs();
    const query = this.#queryNext;
    this.#queryNext += 1;
    slot.queries.set(query, ({ json }) => onNote(json));
    const { link } = slot;
    return {
      query,
      ask: async (request, signal) => {
        try {
          return await link.ask(request, signal);
        } finally {
          if (signal?.aborted === true) this.#watch(slot, link, query);
          else slot.heardMs = clock.nowMs();
        }
      },
      post: (post) => link.post(post),
      leave: () => {
        if (slot.queries.delete(query)) link.post({ kind: "forget", query });
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#closing.abort();
    for (const timer of this.#watches) timer.cancel();
    const started = this.#slots.filter(({ isStarted }) => isStarted);
    await Promise.all(started.map(({ link }) => link.close()));
  }

  #choose(nowMs: number): EvalSlot {
    const talking = this.#slots.filter((slot) => !slot.isSilent(nowMs));
    const slots = talking.length > 0 ? talking : this.#slots;
    return slots.reduce((a, b) => (b.queries.size < a.queries.size ? b : a));
  }

  #startLink(slot: EvalSlot): EvalLink {
    const { clock, heapBytesMax, logger, warmUp = false } = this.#options;
    const link: EvalLink = new ThreadLink({
      module: siblingModule(import.meta.url, "./eval-thread"),
      workerData: { current: slot.current.buffer, warmUp },
      clock,
      heapBytesMax,
      onNote: (note) => {
        slot.heardMs = clock.nowMs();
        slot.queries.get(note.query)?.(note);
      },
    });
    let started: boolean = false;
    link.ready.then(
      () => {
        started = true;
      },
      () => undefined, // `failure` tells the same.
    );
    void link.failure.then(async (error) => {
      if (this.#closed || slot.link !== link) return;
      logger.error({}, `a thread that evaluates queries ended: ${messageOf(error)}`);
      if (!started) await sleep(clock, restartMs, this.#closing.signal);
      if (!this.#closed && slot.link === link) slot.replace(); // EP2
    });
    return link;
  }

  /** EP1. */
  #watch(slot: EvalSlot, link: EvalLink, query: number): void {
    const { clock, logger, patienceMs = patienceMsDefault } = this.#options;
    if (Atomics.load(slot.current, 0) !== query) return;
    const timer = clock.after(patienceMs, () => {
      this.#watches.delete(timer);
      const isSame = !this.#closed && slot.link === link;
      if (!isSame || Atomics.load(slot.current, 0) !== query) return;
      logger.warn({}, "a cancelled query does not stop: its thread is replaced");
      slot.replace();
      void link.kill(new StoppedTogether());
    });
    this.#watches.add(timer);
  }
}
