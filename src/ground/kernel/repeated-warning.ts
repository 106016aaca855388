/**
 * Logs a failure that repeats: a warning when it begins or changes its kind, then at most one every
 * `everyMs`. The others are logged at debug level.
 */
import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./logger.ts";

const everyMsDefault = 60_000;

export class RepeatedWarning {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #everyMs: number;
  #last: { readonly kind: string; readonly atMs: number } | undefined;
  #unsaid = 0;

  constructor(options: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly everyMs?: number;
  }) {
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#everyMs = options.everyMs ?? everyMsDefault;
  }

  /** Failures of the same `kind` count as repetitions. */
  warn(kind: string, fields: LogFields, message: string): void {
    const nowMs = this.#clock.nowMs();
    const isNew = this.#last?.kind !== kind;
    if (!isNew && nowMs - (this.#last?.atMs ?? 0) < this.#everyMs) {
      this.#unsaid += 1;
      this.#logger.debug(fields, message);
      return;
    }
    const repeated = isNew || this.#unsaid === 0 ? {} : { repeated: this.#unsaid };
    this.#logger.warn({ ...fields, ...repeated }, message);
    this.#last = { kind, atMs: nowMs };
    this.#unsaid = 0;
  }

  /** Called when it works again: the next failure is logged as a new one. */
  over(): void {
    this.#last = undefined;
    this.#unsaid = 0;
  }
}
