/**
 * An operation on a connection, and one execution of it. Executions are used again, so that the hot
 * path allocates none.
 */
import { isRead, type Operation, type ParameterValue } from "../../core/operation.ts";
import type { Done, OperationFailure } from "../../core/target.ts";
import type { SendBuffer } from "./send-buffer.ts";
import type { Statement } from "./statement.ts";

/** What goes out in one write and is answered by one ReadyForQuery. */
export type Round = readonly Statement[];

export class OperationPlan {
  readonly rounds: readonly Round[];
  readonly parameterCount: number;
  /** Nothing else may be in flight: its rounds wait for each other's answers. */
  readonly isExclusive: boolean;
  /** One statement that changes nothing: in a pipeline it may share a Sync with its like. */
  readonly isPlainRead: boolean;

  constructor(operation: Operation, rounds: readonly Round[]) {
    this.rounds = rounds;
    this.parameterCount = operation.parameters.length;
    this.isExclusive = rounds.length > 1;
    this.isPlainRead = isPlainRead(operation);
  }
}

/** Also by its text: the kind is only what a person said. */
function isPlainRead({ kind, isTransaction, statements }: Operation): boolean {
  const [statement] = statements;
  if (!isRead(kind) || isTransaction || statement === undefined || statements.length > 1) {
    return false;
  }
  const sql = statement.texts.join(" ");
  return /^\s*select\b/i.test(sql) && !/\b(for|into)\b|\(\s*select/i.test(sql);
}

/** After the last round, when a failure left a transaction open. */
export const rollbackRound = -1;

const noPlan = new OperationPlan(
  { name: "", kind: "CUSTOM", parameters: [], statements: [], isTransaction: false },
  [],
);
const ignored: Done = () => undefined;

export class Execution {
  next: Execution | undefined;
  round = 0;
  rowCount = 0;
  failure: OperationFailure | undefined;
  /** Its last frame is a Sync; otherwise it shares that of a later one. */
  hasSync = true;
  isAnswered = false;
  plan: OperationPlan = noPlan;
  done: Done = ignored;
  readonly values: ParameterValue[] = [];

  begin(plan: OperationPlan, values: readonly ParameterValue[], done: Done): void {
    this.next = undefined;
    this.round = 0;
    this.rowCount = 0;
    this.failure = undefined;
    this.hasSync = true;
    this.isAnswered = false;
    this.plan = plan;
    this.done = done;
    for (let index = 0; index < plan.parameterCount; index += 1) {
      this.values[index] = values[index] ?? null;
    }
  }

  /** Sync is the caller's. */
  writeRound(send: SendBuffer): void {
    const statements = this.plan.rounds[this.round] as Round;
    for (let index = 0; index < statements.length; index += 1) {
      (statements[index] as Statement).writeExecution(send, this.values);
    }
  }
}

/** First in, first out, linked through `next`. */
export class ExecutionList {
  head: Execution | undefined;
  tail: Execution | undefined;
  length = 0;

  push(execution: Execution): void {
    execution.next = undefined;
    if (this.tail === undefined) this.head = execution;
    else this.tail.next = execution;
    this.tail = execution;
    this.length += 1;
  }

  shift(): Execution | undefined {
    const execution = this.head;
    if (execution === undefined) return undefined;
    this.head = execution.next;
    if (this.head === undefined) this.tail = undefined;
    execution.next = undefined;
    this.length -= 1;
    return execution;
  }
}
