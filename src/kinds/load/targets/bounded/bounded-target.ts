/**
 * DuckDB or SQLite under test, in a process whose memory is bounded like that of workers' SQL: for
 * whoever must outlive what a person's statement does, as the coordinator at Prepare. Load itself
 * is not made through it, since a message costs as much as a small statement. Rules: BT1 and BT2.
 */
import "../../core/error-codes.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { Done, OperationFailure, Target } from "../../core/target.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import { SessionTarget, type TargetKind } from "../session/session-target.ts";
import type { StartTargetProcess, TargetOpen, TargetProcess } from "./messages.ts";

/** `kind`: what the same target would be in this process; nothing of it is opened here. */
export function createBoundedTarget(
  kind: Omit<TargetKind<unknown>, "open" | "close">,
  open: TargetOpen,
  start: StartTargetProcess,
  clock: Clock,
): Target {
  const module = siblingModule(import.meta.url, "./target-process");
  let process: TargetProcess | undefined;
  return new SessionTarget<number>(
    {
      ...kind,
      open: async () => {
        if (process === undefined || process.lost) process = start(module, open);
        const used = process;
        return new BoundedSession(used, await used.ask("open", undefined));
      },
      close: async () => await process?.end(),
    },
    clock,
  );
}

class BoundedSession implements DriverSession<number> {
  readonly #process: TargetProcess;
  readonly #id: number;
  readonly #lost: Promise<OperationFailure | undefined>;
  readonly #over = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(process: TargetProcess, id: number) {
    this.#process = process;
    this.#id = id;
    this.#lost = process.ask("untilLost", id).catch((thrown: unknown) => ({
      kind: "connection",
      code: codeOf(thrown),
      message: messageOf(thrown),
    }));
  }

  async prepare(operation: Operation): Promise<number> {
    return await this.#process.ask("prepare", { session: this.#id, operation }, this.#over.signal);
  }

  start(plan: number, values: readonly ParameterValue[], answer: Done): void {
    const request = { session: this.#id, plan, values };
    this.#process.ask("start", request, this.#over.signal).then(
      (outcome) => outcome !== undefined && answer(outcome.failure, outcome.rowCount),
      () => undefined, // It is lost, or closed: see `onLost`.
    );
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    return await this.#process.ask("run", { session: this.#id, sql, values }, this.#over.signal);
  }

  onLost(listener: (failure: OperationFailure) => void): void {
    void this.#lost.then((failure) => {
      if (failure !== undefined && this.#closed === undefined) listener(failure);
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /**
   * Asks the process to stop its statements, and ends a process that does not stop within 2 s
   * (BT2).
   */
  async #close(): Promise<void> {
    const closing = this.#process.ask("close", this.#id, this.#over.signal);
    this.#over.abort();
    await closing.catch(() => undefined);
  }
}

function codeOf(thrown: unknown): string {
  return thrown instanceof OperatingError ? thrown.code : "lost";
}
