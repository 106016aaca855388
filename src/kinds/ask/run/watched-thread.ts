/**
 * A PromQL thread and its successors. The thread says in a shared word what it computes for.
 *
 *   WT1  A thread that goes on computing what nobody wants any more is ended and replaced; whatever
 *        else it had fails with `StoppedTogether`, and may be asked again. One that is busy with
 *        something that is wanted is left alone.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { LogFields, Logger } from "../../../ground/kernel/logger.ts";
import type { Peer, Silent } from "../../../ground/threads/index.ts";

/** With what a thread needs to end: within a second of the cancellation. */
const patienceMsDefault = 700;

/** Whatever was computed beside a query that had to be stopped: nothing is wrong with it, and it may be asked again. */
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
  /** One word: the number of what the thread computes for; 0: nothing. */
  current = new Int32Array(new SharedArrayBuffer(4));
  /** False: it has no successor. */
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

  /** Nobody wants `number` any more, which `link` was asked for. WT1. */
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

  /** Nobody is watched any more. The link is closed by whoever started it. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#watches) timer.cancel();
  }
}
