/**
 * A connection under load over a `DriverSession`: the line before it, and what the port promises
 * when it ends.
 *
 *   1  `#running` has at most `depth` executions, in the order given; nothing waits while there is
 *      room.
 *   2  Once `#failure` is set nothing is started, and everything fails with it. Late answers of the
 *      driver go nowhere.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type {
  Done,
  OperationFailure,
  PreparedOperation,
  TargetConnection,
} from "../../core/target.ts";
import type { DriverSession } from "./driver-session.ts";

interface QueuedExecution<Plan> {
  readonly plan: Plan;
  readonly values: readonly ParameterValue[];
  readonly done: Done;
}

export class QueuedConnection<Plan> implements TargetConnection {
  readonly #session: DriverSession<Plan>;
  readonly #depth: number;
  readonly #onOver: () => void;
  readonly #running = new Set<QueuedExecution<Plan>>();
  readonly #waiting: QueuedExecution<Plan>[] = [];
  readonly #brokenListeners: ((failure: OperationFailure) => void)[] = [];
  #failure: OperationFailure | undefined;
  #closed: Promise<void> | undefined;

  /** `onOver` is called once, when it was closed or broke. */
  constructor(session: DriverSession<Plan>, depth: number, onOver: () => void) {
    this.#session = session;
    this.#depth = depth;
    this.#onOver = onOver;
    session.onLost((failure) => this.#broken(failure));
  }

  get inFlight(): number {
    return this.#running.size + this.#waiting.length;
  }

  async prepare(operation: Operation): Promise<PreparedOperation> {
    this.#throwIfOver();
    const plan = await this.#session.prepare(operation).catch((error: unknown) => {
      this.#throwIfOver();
      throw error;
    });
    const count = operation.parameters.length;
    return {
      execute: (values, done) => this.#execute(plan, values.slice(0, count), done),
    };
  }

  onBroken(listener: (failure: OperationFailure) => void): void {
    this.#brokenListeners.push(listener);
    const failure = this.#failure;
    if (failure !== undefined && this.#closed === undefined) {
      queueMicrotask(() => listener(failure));
    }
  }

  close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = this.#session.close();
      this.#fail({ kind: "connection", code: "closed", message: "the connection was closed" });
    }
    return this.#closed;
  }

  #execute(plan: Plan, values: readonly ParameterValue[], done: Done): void {
    const failure = this.#failure;
    if (failure !== undefined) {
      queueMicrotask(() => done(failure, 0));
      return;
    }
    const execution = { plan, values, done };
    if (this.#running.size < this.#depth) this.#start(execution);
    else this.#waiting.push(execution);
  }

  #start(execution: QueuedExecution<Plan>): void {
    this.#running.add(execution);
    this.#session.start(execution.plan, execution.values, (failure, rowCount, resent) => {
      if (!this.#running.delete(execution)) return;
      const next = this.#waiting.shift();
      if (next !== undefined) this.#start(next);
      execution.done(failure, failure === undefined ? rowCount : 0, resent);
    });
  }

  #broken(failure: OperationFailure): void {
    if (this.#failure !== undefined) return;
    this.#fail(failure);
    for (const listener of this.#brokenListeners) listener(failure);
    void this.#session.close();
  }

  #fail(failure: OperationFailure): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#onOver();
    const unanswered = [...this.#running, ...this.#waiting.splice(0)];
    this.#running.clear();
    for (const { done } of unanswered) done(failure, 0);
  }

  #throwIfOver(): void {
    if (this.#failure === undefined) return;
    throw new OperatingError(
      "target_unreachable",
      "backoff",
      `the connection is lost: ${this.#failure.message}`,
    );
  }
}
