/**
 * The memory of a load worker that has a database in it, DuckDB or SQLite. The kernel bounds what
 * it allocates (WP5), so that an enormous value fails by itself; what many statements take together
 * is seen here. Rules: MG1.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";

export interface MemoryGuardOptions {
  readonly bytesMax: number;
  /** The private memory of this process. Undefined where the system does not report it. */
  readonly privateBytes: () => number | undefined;
  /** Called once. */
  readonly exceeded: (message: string) => void;
  /** Ends the process at once. */
  readonly end: () => void;
  readonly clock: Clock;
}

const lookMs = 50;
const endMsMax = 2_000;
const excessMax = 1.5;

export class MemoryGuard {
  readonly #options: MemoryGuardOptions;
  #timer: Timer | undefined;
  #toldMs: number | undefined;

  constructor(options: MemoryGuardOptions) {
    this.#options = options;
  }

  /** Idempotent. */
  start(): void {
    if (this.#timer === undefined) this.#lookLater();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #lookLater(): void {
    this.#timer = this.#options.clock.after(lookMs, () => this.#look());
  }

  #look(): void {
    const { bytesMax, privateBytes, exceeded, end, clock } = this.#options;
    const bytes = privateBytes();
    if (bytes === undefined) return; // It will not become known later.
    this.#lookLater();
    if (this.#toldMs === undefined && bytes > bytesMax) {
      this.#toldMs = clock.nowMs();
      const [taken, most] = [bytes, bytesMax].map((each) => Math.round(each / 1024 ** 2));
      exceeded(
        `statement_too_large: its statements take ${taken} MiB of memory, and a load worker may take ${most} MiB (--load-memory-limit)`,
      );
    }
    const isOverdue = this.#toldMs !== undefined && clock.nowMs() - this.#toldMs >= endMsMax;
    if (isOverdue || bytes > excessMax * bytesMax) end();
  }
}
