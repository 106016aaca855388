/**
 * A connection under load. What it does for an execution is all that a load generator spends on it,
 * so: no promise, no closure and no new object for each; one write for each round; the answer is
 * read where it lies.
 *
 *   1  The heads of `#sent` and of what the server answers belong together: each execution has one
 *      round in flight.
 *   2  Preparing has the wire to itself: it waits for what was sent, and what comes meanwhile waits
 *      for it.
 *   3  Once `#failure` is set nothing is sent, and everything fails with it.
 */
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type {
  Done,
  OperationFailure,
  PreparedOperation,
  TargetConnection,
} from "../../core/target.ts";
import { Execution, ExecutionList, type OperationPlan, rollbackRound } from "./execution.ts";
import { copyFailFrame, syncFrame, terminateFrame } from "./frames.ts";
import { MalformedStream } from "./message-scanner.ts";
import { requestCancel, type Session } from "./open-session.ts";
import { OperationPreparer } from "./operation-preparer.ts";
import { type PostgresAddress, postgresPlace } from "./parse-postgres-url.ts";
import { type Described, DescribeReceiver, prepareFrames } from "./prepare-statement.ts";
import { SendBuffer } from "./send-buffer.ts";
import { failureOf, parseServerError, type ServerError } from "./server-error.ts";
import type { Statement } from "./statement.ts";
import type { WireReceiver } from "./wire.ts";

const idle = 0x49; // `I` of ReadyForQuery: in no transaction.

export class PostgresConnection implements TargetConnection, WireReceiver {
  readonly #session: Session;
  readonly #address: PostgresAddress;
  readonly #depth: number;
  readonly #onOver: () => void;
  readonly #send = new SendBuffer();
  readonly #sent = new ExecutionList();
  readonly #waiting = new ExecutionList();
  readonly #unused: Execution[] = [];
  readonly #preparer: OperationPreparer;
  readonly #brokenListeners: ((failure: OperationFailure) => void)[] = [];
  /** Waiting for the wire, the first of them using it if `#isPreparing`. */
  readonly #preparations: (() => void)[] = [];
  #isPreparing = false;
  #isFlushDue = false;
  /** The last execution in `#send` is a plain read, whose Sync may come after its like. */
  #isSyncDue = false;
  /** Whom the next message answers, where it is not the head of `#sent`. */
  #answering: Execution | undefined;
  #rollback: Statement | undefined;
  #failure: OperationFailure | undefined;
  #closed: Promise<void> | undefined;
  /** What the server said last when it is about to hang up. */
  #lastWords: OperationFailure | undefined;
  readonly #flushLater = (): void => this.#flush();

  /** `onOver` is called once, when it was closed or broke. */
  constructor(session: Session, address: PostgresAddress, depth: number, onOver: () => void) {
    this.#onOver = onOver;
    this.#session = session;
    this.#address = address;
    this.#depth = depth;
    this.#preparer = new OperationPreparer(
      postgresPlace(address),
      { isPipelined: depth > 1 },
      (name, sql, types) => this.#describe(name, sql, types),
    );
    session.wire.receiver = this;
  }

  get inFlight(): number {
    return this.#sent.length + this.#waiting.length;
  }

  async prepare(operation: Operation): Promise<PreparedOperation> {
    this.#rollback ??= await this.#preparer.prepareWord("ROLLBACK");
    const plan = await this.#preparer.prepare(operation);
    return { execute: (values, done) => this.#execute(plan, values, done) };
  }

  onBroken(listener: (failure: OperationFailure) => void): void {
    this.#brokenListeners.push(listener);
    const failure = this.#failure;
    if (failure !== undefined && this.#closed === undefined) {
      queueMicrotask(() => listener(failure));
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { wire, cancelKey } = this.#session;
    const isBusy = this.#sent.head !== undefined || this.#isPreparing;
    if (isBusy && cancelKey !== undefined && this.#failure === undefined) {
      requestCancel(this.#address, cancelKey);
    }
    const ended = wire.end(terminateFrame);
    this.#fail({ kind: "connection", code: "closed", message: "the connection was closed" });
    await ended;
  }

  // The hot path.

  #execute(plan: OperationPlan, values: readonly ParameterValue[], done: Done): void {
    const failure = this.#failure;
    if (failure !== undefined) {
      queueMicrotask(() => done(failure, 0));
      return;
    }
    const execution = this.#unused.pop() ?? new Execution();
    execution.begin(plan, values, done);
    if (this.#waiting.head === undefined && this.#mayStart(plan)) {
      this.#start(execution);
    } else {
      this.#waiting.push(execution);
    }
  }

  #mayStart(plan: OperationPlan): boolean {
    const { head, length } = this.#sent;
    if (head === undefined) return this.#preparations.length === 0;
    if (length >= this.#depth || this.#preparations.length > 0) return false;
    return !plan.isExclusive && !head.plan.isExclusive;
  }

  #start(execution: Execution): void {
    const { tail } = this.#sent;
    this.#sent.push(execution);
    if (this.#isSyncDue && !execution.plan.isPlainRead) this.#sync();
    if (this.#isSyncDue && tail !== undefined) tail.hasSync = false;
    execution.writeRound(this.#send);
    this.#isSyncDue = true;
    if (!execution.plan.isPlainRead) this.#sync();
    this.#sendSoon();
  }

  #sync(): void {
    this.#isSyncDue = false;
    this.#send.append(syncFrame);
  }

  /** At depth 1 at once; otherwise together with what is started in the same tick. */
  #sendSoon(): void {
    if (this.#depth === 1) this.#flush();
    else if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      if (!this.#session.wire.isReceiving) queueMicrotask(this.#flushLater);
    }
  }

  #flush(): void {
    this.#isFlushDue = false;
    if (this.#isSyncDue) this.#sync();
    if (this.#send.length === 0) return;
    const { wire } = this.#session;
    wire.write(this.#send.take());
    if (!wire.isDrained) this.#send.abandon();
  }

  message(type: number, bytes: Buffer, start: number, end: number): void {
    const execution = this.#answering ?? this.#sent.head;
    switch (type) {
      case 0x32: // BindComplete
      case 0x4e: // NoticeResponse
      case 0x53: // ParameterStatus
      case 0x41: // NotificationResponse
      case 0x48: // CopyOutResponse
      case 0x64: // CopyData
      case 0x63: // CopyDone
        return;
      case 0x43: // CommandComplete
      case 0x49: // EmptyQueryResponse
        if (execution === undefined) throw new MalformedStream("an answer without a question");
        if (type === 0x43) execution.rowCount += rowCountOf(bytes, start, end);
        execution.isAnswered = true;
        if (!execution.hasSync) this.#answering = execution.next;
        return;
      case 0x5a: // ReadyForQuery
        this.#answering = undefined;
        this.#synced(bytes[start] as number);
        return;
      case 0x45: // ErrorResponse
        this.#refused(execution, parseServerError(bytes, start, end));
        return;
      case 0x47: // CopyInResponse
        this.#session.wire.write(Buffer.concat([copyFailFrame, syncFrame]));
        return;
      default:
        throw new MalformedStream("a message that does not belong to an execution");
    }
  }

  pieceEnded(): void {
    if (this.#isFlushDue) this.#flush();
  }

  #synced(status: number): void {
    const { head } = this.#sent;
    if (head === undefined) throw new MalformedStream("an answer without a question");
    if (head.hasSync) this.#roundEnded(head, status);
    else this.#groupEnded();
  }

  /**
   * Executions up to the first with a Sync. The server has skipped what came after a failure; it is
   * sent again.
   */
  #groupEnded(): void {
    let skipped: Execution[] | undefined;
    for (let isOver = false; !isOver && this.#sent.head !== undefined; ) {
      const execution = this.#sent.head;
      isOver = execution.hasSync;
      if (execution.isAnswered) {
        this.#finish(execution);
      } else {
        this.#sent.shift();
        skipped ??= [];
        skipped.push(execution);
      }
    }
    for (const execution of skipped ?? []) {
      execution.hasSync = true;
      this.#start(execution);
    }
  }

  #roundEnded(execution: Execution, status: number): void {
    if (execution.round === rollbackRound) {
      this.#finish(execution);
    } else if (execution.failure !== undefined) {
      const rollback = this.#rollback;
      // Others in flight meet the same failed transaction; the last of them ends it.
      const isLast = execution.next === undefined;
      if (status === idle || !isLast || rollback === undefined) {
        this.#finish(execution);
        return;
      }
      execution.round = rollbackRound;
      if (this.#isSyncDue) this.#sync();
      rollback.writeExecution(this.#send, []);
      this.#sync();
      this.#sendSoon();
    } else if (execution.round + 1 < execution.plan.rounds.length) {
      execution.round += 1;
      execution.writeRound(this.#send);
      this.#sync();
      this.#sendSoon();
    } else {
      this.#finish(execution);
    }
  }

  #finish(execution: Execution): void {
    const { done, failure, rowCount } = execution;
    this.#sent.shift();
    this.#unused.push(execution);
    if (this.#preparations.length > 0 || this.#waiting.head !== undefined) this.#pump();
    done(failure, failure === undefined ? rowCount : 0);
  }

  /** What waited, as far as it may go now. */
  #pump(): void {
    if (this.#preparations.length > 0) {
      if (this.#sent.head === undefined && !this.#isPreparing) {
        this.#isPreparing = true;
        this.#preparations[0]?.();
      }
      return;
    }
    while (this.#waiting.head !== undefined && this.#mayStart(this.#waiting.head.plan)) {
      this.#start(this.#waiting.shift() as Execution);
    }
  }

  // Failures.

  #refused(execution: Execution | undefined, error: ServerError): void {
    const failure = failureOf(error);
    if (error.severity === "FATAL" || error.severity === "PANIC") {
      this.#lastWords = { ...failure, kind: "connection" };
    }
    if (execution === undefined) return;
    execution.failure ??= failure;
    execution.isAnswered = true;
  }

  broken(why: string): void {
    const isHeard = this.#closed === undefined && this.#failure === undefined;
    this.#fail(this.#lastWords ?? { kind: "connection", code: "lost", message: why });
    const failure = this.#failure;
    if (!isHeard || failure === undefined) return;
    for (const listener of this.#brokenListeners) listener(failure);
  }

  #fail(failure: OperationFailure): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#onOver();
    for (const list of [this.#sent, this.#waiting]) {
      for (let execution = list.shift(); execution !== undefined; execution = list.shift()) {
        execution.done(failure, 0);
      }
    }
    const { receiver } = this.#session.wire;
    if (receiver !== this) receiver.broken(failure.message);
    for (const prepare of this.#preparations.splice(0)) prepare();
  }

  // Preparing.

  #describe(name: string, sql: string, types: readonly number[]): Promise<Described> {
    return new Promise((resolve) => {
      this.#preparations.push(() => {
        if (this.#failure !== undefined) {
          resolve({ broken: this.#failure.message });
          return;
        }
        const { wire } = this.#session;
        wire.receiver = new DescribeReceiver((described) => {
          this.#preparations.shift();
          this.#isPreparing = false;
          wire.receiver = this;
          if ("broken" in described) this.broken(described.broken);
          else this.#pump();
          resolve(described);
        });
        wire.write(prepareFrames(name, sql, types));
      });
      if (this.#failure === undefined) this.#pump();
      else this.#preparations.pop()?.();
    });
  }
}

/**
 * The number at the end of a command's tag, `INSERT 0 5`; 0 if there is none. Its last byte is a
 * zero.
 */
function rowCountOf(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  let unit = 1;
  for (let at = end - 2; at >= start; at -= 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return count;
    count += digit * unit;
    unit *= 10;
  }
  return count;
}
