/**
 * The threads that plan and evaluate. A query stays with one of them.
 *
 *   EP1  A thread that goes on computing what nobody wants any more is ended and replaced; the other queries in it fail, and
 *        may be asked again. One that is busy with something that is wanted is left alone.
 *   EP2  A thread that dies is replaced too: a query may cost a thread, never the process. One that cannot even start is tried
 *        again after a while.
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

/** One thread, and its successors. The thread starts when it is first needed. */
class EvalSlot {
  readonly queries = new Map<number, (note: EvalNote) => void>();
  /** `EvalThreadOptions.current` of the thread. */
  current = new Int32Array(new SharedArrayBuffer(4));
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

  /** With the thread that has the fewest queries; of two, the one that has started. */
  enter(onNote: (json: string) => void = () => undefined): EvalPlace {
    const slot = this.#slots.reduce((a, b) => (b.queries.size < a.queries.size ? b : a));
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

  #startLink(slot: EvalSlot): EvalLink {
    const { clock, heapBytesMax, logger, warmUp = false } = this.#options;
    const link: EvalLink = new ThreadLink({
      module: siblingModule(import.meta.url, "./eval-thread"),
      workerData: { current: slot.current.buffer, warmUp },
      clock,
      heapBytesMax,
      onNote: (note) => slot.queries.get(note.query)?.(note),
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
      const message = "another query had to be stopped together with this one";
      void link.kill(new OperatingError("query_failed", "backoff", message));
    });
    this.#watches.add(timer);
  }
}
