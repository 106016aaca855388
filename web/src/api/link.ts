/**
 * Keeps one connection to the coordinator open while it is wanted, over any transport.
 * There is at most one connection at a time, and `stop` ends it for good. A connection that ends,
 * fails or is silent for `silenceMsMax` is dialled again, with a backoff that grows to
 * `backoffMsMax` and resets once the server has sent something. A refused token is not retried:
 * `onUnauthenticated` is called, and the link rests until `wake`.
 */
import { ApiError } from "./http.ts";

export type LinkStatus =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  /** This process does not offer the stream; it is dialled again, slowly. */
  | { readonly kind: "absent" }
  | { readonly kind: "lost"; readonly message: string; readonly attempt: number };

export interface Dialled {
  /** Aborted when the connection is not wanted any more, or was silent for too long. */
  readonly signal: AbortSignal;
  readonly opened: () => void;
  /** Call it whenever the server has sent something. */
  readonly heard: () => void;
}

export interface LinkOptions {
  /**
   * Resolves when nothing more will come, which ends the link; rejects when the connection is lost.
   */
  readonly dial: (dialled: Dialled) => Promise<void>;
  readonly silenceMsMax: number;
  readonly onStatus: (status: LinkStatus) => void;
  readonly onUnauthenticated: () => void;
}

const backoffMsMin = 300;
const backoffMsMax = 8_000;
const absentMs = 30_000;

export class Link {
  readonly #options: LinkOptions;
  #stopped = new AbortController();
  #attempt = 0;
  #wake: (() => void) | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Runs until `stop`, or until nothing more will come; never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stopped;
    this.#options.onStatus({ kind: "connecting" });
    while (!signal.aborted) {
      const restMs = await this.#connect(signal);
      if (!signal.aborted) await this.#rest(restMs);
    }
  }

  /** Dials now instead of when the backoff ends. */
  wake(): void {
    this.#wake?.();
  }

  stop(): void {
    this.#stopped.abort();
    this.wake();
  }

  /** Resolves when the connection has ended, with the delay before the next one. */
  async #connect(stopped: AbortSignal): Promise<number> {
    const silence = new AbortController();
    const { silenceMsMax, dial, onStatus } = this.#options;
    let timer = setTimeout(() => silence.abort(), silenceMsMax);
    try {
      await dial({
        signal: AbortSignal.any([stopped, silence.signal]),
        opened: () => onStatus({ kind: "open" }),
        heard: () => {
          clearTimeout(timer);
          timer = setTimeout(() => silence.abort(), silenceMsMax);
          this.#attempt = 0;
        },
      });
      this.stop();
      return 0;
    } catch (error) {
      return this.#failed(error, stopped, silence.signal.aborted);
    } finally {
      clearTimeout(timer);
    }
  }

  #failed(error: unknown, stopped: AbortSignal, silent: boolean): number {
    if (stopped.aborted) return 0;
    if (error instanceof ApiError && error.status === 401) {
      this.#options.onUnauthenticated();
      return Number.POSITIVE_INFINITY;
    }
    if (error instanceof ApiError && (error.status === 404 || error.status === 501)) {
      this.#options.onStatus({ kind: "absent" });
      return absentMs;
    }
    this.#attempt += 1;
    const message = silent
      ? "The coordinator went silent."
      : error instanceof ApiError
        ? error.message
        : "The connection to the coordinator was lost.";
    this.#options.onStatus({ kind: "lost", message, attempt: this.#attempt });
    const capMs = Math.min(backoffMsMax, backoffMsMin * 2 ** (this.#attempt - 1));
    return capMs * (0.5 + Math.random() / 2);
  }

  #rest(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(delayMs) ? setTimeout(resolve, delayMs) : undefined;
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
