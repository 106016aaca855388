/**
 * A target of known behaviour: `servers` of them take a fixed time each, first come, first served,
 * and all stand still now and then.
 */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Done, OperationFailure, Target, TargetConnection } from "../core/target.ts";

export interface QueueTargetOptions {
  readonly clock: Clock;
  readonly servers: number;
  readonly serviceMs: number;
  /** What an operation's time is multiplied with; 1 unless given. */
  readonly jitter?: () => number;
  /** From the clock's zero: the first `lengthMs` of each period nothing begins. */
  readonly stall?: { readonly everyMs: number; readonly lengthMs: number; readonly fromMs: number };
  readonly depthMax?: number;
}

export class QueueTarget implements Target {
  readonly kind = "queue";
  readonly capabilities;
  readonly #options: QueueTargetOptions;
  readonly #freeAtMs: number[];
  readonly #connections = new Set<QueueConnection>();
  #refusal: string | undefined;
  connected = 0;

  constructor(options: QueueTargetOptions) {
    this.#options = options;
    this.#freeAtMs = new Array<number>(options.servers).fill(-Infinity);
    this.capabilities = {
      depthMax: options.depthMax ?? 1,
      pollsServer: false,
      enrichment: "none",
      transactions: true,
    } as const;
  }

  /** When an operation that comes at `atMs` will be done: the queue's recursion. */
  admit(atMs: number): number {
    const server = this.#freeAtMs.indexOf(Math.min(...this.#freeAtMs));
    const beginMs = this.#afterStall(Math.max(atMs, this.#freeAtMs[server] ?? 0));
    const { serviceMs, jitter } = this.#options;
    const endMs = beginMs + serviceMs * (jitter?.() ?? 1);
    this.#freeAtMs[server] = endMs;
    return endMs;
  }

  async connect(_depth: number, _signal: AbortSignal): Promise<TargetConnection> {
    if (this.#refusal !== undefined) {
      throw new OperatingError("target_refused", "backoff", this.#refusal);
    }
    this.connected += 1;
    const connection = new QueueConnection(this, this.#options.clock, () =>
      this.#connections.delete(connection),
    );
    this.#connections.add(connection);
    return connection;
  }

  refuse(message: string | undefined): void {
    this.#refusal = message;
  }

  breakAll(): void {
    for (const connection of [...this.#connections]) connection.break();
  }

  async run(): Promise<never> {
    throw new OperatingError("unsupported", "never", "a queue runs no SQL");
  }

  pollServer = this.run;
  statementFigures = this.run;

  async close(): Promise<void> {}

  #afterStall(ms: number): number {
    const { stall } = this.#options;
    if (stall === undefined || ms < stall.fromMs) return ms;
    const intoMs = (ms - stall.fromMs) % stall.everyMs;
    return intoMs < stall.lengthMs ? ms - intoMs + stall.lengthMs : ms;
  }
}

class QueueConnection implements TargetConnection {
  readonly #target: QueueTarget;
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  readonly #open = new Map<number, Done>();
  #next = 0;
  #broken: ((failure: OperationFailure) => void) | undefined;

  constructor(target: QueueTarget, clock: Clock, onEnd: () => void) {
    this.#target = target;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  async prepare(): Promise<{ execute(values: readonly unknown[], done: Done): void }> {
    return {
      execute: (_values, done) => {
        const id = this.#next;
        this.#next += 1;
        this.#open.set(id, done);
        const endMs = this.#target.admit(this.#clock.nowMs());
        this.#clock.after(endMs - this.#clock.nowMs(), () => {
          if (this.#open.delete(id)) done(undefined, 1);
        });
      },
    };
  }

  onBroken(listener: (failure: OperationFailure) => void): void {
    this.#broken = listener;
  }

  break(): void {
    const failure: OperationFailure = { kind: "connection", code: "", message: "it broke" };
    this.#fail(failure);
    this.#onEnd();
    this.#broken?.(failure);
  }

  async close(): Promise<void> {
    this.#broken = undefined;
    this.#onEnd();
    this.#fail({ kind: "connection", code: "", message: "it was closed" });
  }

  #fail(failure: OperationFailure): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const done of open) done(failure, 0);
  }
}
