/**
 * What a worker has to say about a run: to its own log at once, and to the run's (`test_logs`) with
 * the next tick. Bounded.
 */
import type { Logger } from "../../../ground/kernel/logger.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import type { LogLine, WorkerControl, WorkerIdentity } from "../core/worker-control.ts";

const linesMax = 200;
/** Trouble of one kind is said once in so long: a target that is gone would fill the log. */
const repeatMs = 10_000;
const messageCharsMax = 1_000;
const saidMax = 100;

export class WorkerLog {
  readonly #identity: WorkerIdentity;
  readonly #logger: Logger;
  readonly #storeNowMs: () => number;
  readonly #prng: Prng;
  readonly #said = new Map<string, number>();
  #lines: LogLine[] = [];
  #dropped = 0;

  constructor(identity: WorkerIdentity, logger: Logger, storeNowMs: () => number, prng: Prng) {
    this.#identity = identity;
    this.#logger = logger;
    this.#storeNowMs = storeNowMs;
    this.#prng = prng;
  }

  info(message: string): void {
    this.#logger.info({}, message);
    this.#add("INFO", message);
  }

  /** `topic`: what is one trouble, where its words differ each time. */
  trouble(message: string, topic = message): void {
    const nowMs = this.#storeNowMs();
    if (nowMs - (this.#said.get(topic) ?? -Infinity) < repeatMs) return;
    if (this.#said.size >= saidMax) this.#said.clear();
    this.#said.set(topic, nowMs);
    this.#logger.warn({}, message);
    this.#add("WARNING", message);
  }

  /** Lines that could not be sent are sent again, and stored once by their ids. */
  async flush(control: Pick<WorkerControl, "log">): Promise<void> {
    if (this.#dropped > 0) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      this.#lines.push(this.#lineOf("WARNING", `${dropped} log lines were dropped`));
    }
    if (this.#lines.length === 0) return;
    const lines = [...this.#lines];
    await control.log(this.#identity.runId, lines);
    this.#lines = this.#lines.slice(lines.length);
  }

  #add(level: LogLine["level"], message: string): void {
    if (this.#lines.length >= linesMax) this.#dropped += 1;
    else this.#lines.push(this.#lineOf(level, message));
  }

  #lineOf(level: LogLine["level"], message: string): LogLine {
    return {
      logId: randomText(this.#prng, 24),
      testId: this.#identity.testId,
      workerId: this.#identity.workerId,
      level,
      message: message.slice(0, messageCharsMax),
      details: null,
      timestampMs: Math.round(this.#storeNowMs()),
    };
  }
}
