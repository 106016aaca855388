/**
 * A PromQL thread and its successors. The thread writes the number of the request it computes into
 * a shared word.
 * A thread that keeps computing a cancelled request is ended and replaced. Its other requests fail
 * with `StoppedTogether` and can be retried. A thread that is busy with a wanted request is left
 * alone.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { LogFields, Logger } from "../../../ground/kernel/logger.ts";
import type { Peer, Silent } from "../../../ground/threads/index.ts";

/** Together with the time to end a thread this stays within a second of the cancellation. */
const patienceMsDefault = 700;

/** Fails a request whose thread had to be ended for another one. It can be retried. */
export class StoppedTogether extends OperatingError {
  constructor() {
    super("query_failed", "backoff", "another query had to be stopped together with this one");
  }
}

export interface WatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a thread may go on after a cancellation. */
  readonly patienceMs?: number | undefined;
}

/** The thread starts when it is first needed. */
export class WatchedThread<Link extends Pick<Peer<Silent>, "kill">> {
  /** One word: the number of the request that the thread computes; 0 when idle. */
  current = new Int32Array(new SharedArrayBuffer(4));
  /** False when the thread gets no successor. */
  readonly isLasting: boolean;
  readonly #start: (current: SharedArrayBuffer) => Link;
  readonly #options: WatchOptions;
  readonly #watches = new Set<Timer>();
  #link: Link | undefined;
  #isClosed: boolean = false;

  constructor(
    start: (current: SharedArrayBuffer) => Link,
    options: WatchOptions,
    isLasting: boolean = true,
  ) {
    this.#start = start;
    this.#options = options;
    this.isLasting = isLasting;
  }

  get isStarted(): boolean {
    return this.#link !== undefined;
  }

  get link(): Link {
    this.#link ??= this.#start(this.current.buffer);
    return this.#link;
  }

  replace(): void {
    this.current = new Int32Array(new SharedArrayBuffer(4));
    this.#link = this.#start(this.current.buffer);
  }

  /**
   * The request `number`, which `link` got, was cancelled: ends the thread if it keeps computing
   * it.
   */
  stopped(link: Link, number: number, fields: LogFields): void {
    const { clock, logger, patienceMs = patienceMsDefault } = this.#options;
    const isComputed = (): boolean =>
      !this.#isClosed && this.#link === link && Atomics.load(this.current, 0) === number;
    if (!isComputed()) return;
    const timer = clock.after(patienceMs, () => {
      this.#watches.delete(timer);
      if (!isComputed()) return;
      logger.warn(fields, "a cancelled query does not stop: its thread is replaced");
      if (this.isLasting) this.replace();
      void link.kill(new StoppedTogether());
    });
    this.#watches.add(timer);
  }

  /** Stops watching. Whoever started the link closes it. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#watches) timer.cancel();
  }
}
