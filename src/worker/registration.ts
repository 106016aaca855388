/**
 * Decides which refusals of a registration end the worker. Most are temporary: a coordinator is
 * starting, or has not yet noticed that the last process of this name is gone.
 */
import type { Clock } from "../ground/kernel/clock.ts";
import { OperatingError } from "../ground/kernel/errors.ts";

/** Well above the 3.5 s after which a coordinator notices that a worker is gone. */
const nameTakenMsMax = 6_000;

export class Registration {
  readonly #clock: Clock;
  readonly #tryOnce: () => Promise<void>;
  readonly #onHopeless: (error: OperatingError) => void;
  #takenSinceMs: number | undefined;

  constructor(
    clock: Clock,
    tryOnce: () => Promise<void>,
    onHopeless: (error: OperatingError) => void,
  ) {
    this.#clock = clock;
    this.#tryOnce = tryOnce;
    this.#onHopeless = onHopeless;
  }

  /** One attempt, for `WorkerNode`, which repeats it. */
  async attempt(): Promise<void> {
    try {
      await this.#tryOnce();
      this.#takenSinceMs = undefined;
    } catch (thrown) {
      if (thrown instanceof OperatingError && this.#isHopeless(thrown)) this.#onHopeless(thrown);
      throw thrown;
    }
  }

  #isHopeless({ code }: OperatingError): boolean {
    if (code === "worker_name_taken") {
      this.#takenSinceMs ??= this.#clock.nowMs();
      return this.#clock.nowMs() - this.#takenSinceMs >= nameTakenMsMax;
    }
    this.#takenSinceMs = undefined;
    return code === "unauthenticated" || code === "forbidden" || code === "bad_request";
  }
}
