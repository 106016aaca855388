/**
 * DuckDB or SQLite under test, in a process whose memory is bounded like that of workers' SQL: for whoever must outlive what a
 * person's statement does, as the coordinator at Prepare. Load itself is not made through it, since a message costs as much as a
 * small statement.
 *
 *   BT1  A statement that takes more memory than the process may take is `statement_too_large`, and costs that process alone; the next
 *        session has a new one.
 *   BT2  A statement that does not stop within 2 s after its session was closed costs the process.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
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
        const { id } = await used.ask({ kind: "open" });
        assert(id !== undefined, "a session has an id");
        return new BoundedSession(used, id);
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
    this.#lost = process.ask({ kind: "untilLost", session: id }).then(
      ({ failure }) => failure,
      (thrown: unknown) => ({
        kind: "connection",
        code: codeOf(thrown),
        message: messageOf(thrown),
      }),
    );
  }

  async prepare(operation: Operation): Promise<number> {
    const request = { kind: "prepare", session: this.#id, operation } as const;
    const { id } = await this.#process.ask(request, this.#over.signal);
    assert(id !== undefined, "a plan has an id");
    return id;
  }

  start(plan: number, values: readonly ParameterValue[], answer: Done): void {
    const request = { kind: "start", session: this.#id, plan, values } as const;
    this.#process.ask(request, this.#over.signal).then(
      ({ failure, rowCount }) => rowCount !== undefined && answer(failure, rowCount),
      () => undefined, // It is lost, or closed: see `onLost`.
    );
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    const request = { kind: "run", session: this.#id, sql, values } as const;
    const { rows = [] } = await this.#process.ask(request, this.#over.signal);
    return rows;
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

  /** BT2: the process knows how to stop what is under way; who does not, in two seconds after it was aborted, ends it. */
  async #close(): Promise<void> {
    const closing = this.#process.ask({ kind: "close", session: this.#id }, this.#over.signal);
    this.#over.abort();
    await closing.catch(() => undefined);
  }
}

function codeOf(thrown: unknown): string {
  return thrown instanceof OperatingError ? thrown.code : "lost";
}
