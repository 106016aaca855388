/**
 * The connections of one worker: as many as are wanted, each with `depth` slots; broken ones are
 * opened again.
 */
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { Operation, ParameterValue } from "../core/operation.ts";
import type {
  Done,
  OperationFailure,
  PreparedOperation,
  Target,
  TargetConnection,
} from "../core/target.ts";
import type { Unanswered } from "./stall-watch.ts";

export interface ConnectionSetOptions {
  readonly target: Target;
  readonly depth: number;
  readonly operations: readonly Operation[];
  readonly clock: Clock;
  readonly prng: Prng;
  /** Called when a slot can take an operation: a new slot, or after `onDone`. */
  readonly onSlot: (slot: Slot) => void;
  readonly onDone: SlotDone;
  /** With `isAttempt` a connection could not be opened; otherwise one broke. */
  readonly onTrouble: (failure: OperationFailure, isAttempt: boolean) => void;
}

type SlotDone = (
  slot: Slot,
  failure: OperationFailure | undefined,
  rowCount: number,
  resent: number,
) => void;

/** After the target returns, it may seem absent for up to `maxMs` longer. */
const pause = { minMs: 100, maxMs: 1_000 };

/**
 * Room for one operation on a connection. Its fields describe the current or the last operation.
 */
export class Slot {
  readonly connection: number;
  readonly #prepared: readonly PreparedOperation[];
  readonly #onDone: SlotDone;
  /** One callback for all operations, so that the hot path allocates nothing. */
  readonly #done: Done;
  #isBusy = false;
  #isUsable = true;
  operation = 0;
  startMs = 0;
  /** Set by the caller. */
  intendedMs = 0;
  endMs = 0;
  token = 0;
  ended = 0;
  /** Since when it has waited for a connection. Undefined when it did not wait. */
  waitingSinceMs: number | undefined;
  /** When the last attempt to connect failed: the next failure counts from then. */
  readonly failedMs: number | undefined;
  /**
   * Set by the caller: since when it has waited for an answer. Undefined when it waits for none
   * (SI5).
   */
  unansweredMs: number | undefined;

  constructor(
    connection: number,
    prepared: readonly PreparedOperation[],
    { waitingSinceMs, failedMs, unanswered }: Member,
    onDone: SlotDone,
  ) {
    this.connection = connection;
    this.waitingSinceMs = waitingSinceMs;
    this.failedMs = failedMs;
    this.unansweredMs = unanswered?.sinceMs;
    this.#prepared = prepared;
    this.#onDone = onDone;
    this.#done = (failure, rowCount, resent) => this.end(failure, rowCount, resent);
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  begin(operation: number, values: readonly ParameterValue[], nowMs: number): void {
    this.operation = operation;
    this.startMs = nowMs;
    this.#isBusy = true;
    this.#prepared[operation]?.execute(values, this.#done);
  }

  /** Ignores an answer that comes after the operation was given up. */
  end(failure: OperationFailure | undefined, rowCount: number, resent = 0): void {
    if (!this.#isBusy) return;
    this.#isBusy = false;
    this.ended += 1;
    if (failure === undefined) this.waitingSinceMs = undefined;
    this.#onDone(this, failure, rowCount, resent);
  }

  retire(): void {
    this.#isUsable = false;
  }
}

interface Member {
  readonly id: number;
  state: "opening" | "live" | "closing";
  connection: TargetConnection | undefined;
  slots: Slot[];
  failures: number;
  retry: Timer | undefined;
  /** When the connection was lost, or could not be opened. */
  waitingSinceMs: number | undefined;
  /** When that last happened. */
  failedMs: number | undefined;
  /** The answer that it waited for when it was lost, or could not be opened. */
  unanswered: Unanswered | undefined;
}

export class ConnectionSet {
  readonly #options: ConnectionSetOptions;
  readonly #members = new Map<number, Member>();
  readonly #closing = new Set<Promise<void>>();
  readonly #aborter = new AbortController();
  #nextId = 1;
  #wanted = 0;

  constructor(options: ConnectionSetOptions) {
    this.#options = options;
  }

  get wanted(): number {
    return this.#wanted;
  }

  get live(): number {
    let live = 0;
    for (const { state } of this.#members.values()) if (state === "live") live += 1;
    return live;
  }

  /** The number of wanted connections that were lost or could not be opened. */
  get waiting(): number {
    let waiting = 0;
    for (const { waitingSinceMs: since } of this.#members.values())
      if (since !== undefined) waiting += 1;
    return waiting;
  }

  *busySlots(): Iterable<Slot> {
    for (const { slots } of this.#members.values())
      for (const slot of slots) if (slot.isBusy) yield slot;
  }

  /** Connections that wait for an answer, including those that are not open. */
  *unanswered(): Iterable<Unanswered> {
    for (const { slots, unanswered } of this.#members.values()) {
      if (slots.length === 0 && unanswered !== undefined) yield unanswered;
      for (const { unansweredMs: sinceMs, operation } of slots)
        if (sinceMs !== undefined) yield { sinceMs, operation };
    }
  }

  /** Excludes the time in which the generator slept and could take no answer (SI3). */
  slept(fromMs: number, toMs: number): void {
    const after = (sinceMs: number): number =>
      sinceMs <= fromMs ? sinceMs + (toMs - fromMs) : Math.max(sinceMs, toMs);
    for (const member of this.#members.values()) {
      const { unanswered } = member;
      if (unanswered) member.unanswered = { ...unanswered, sinceMs: after(unanswered.sinceMs) };
      for (const slot of member.slots)
        if (slot.unansweredMs !== undefined) slot.unansweredMs = after(slot.unansweredMs);
    }
  }

  /** Opens `count` connections at once. Rejects with the first failure. */
  async openAll(count: number, signal: AbortSignal): Promise<void> {
    const abort = (): void => this.#aborter.abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#wanted = Math.max(this.#wanted, count);
    const members: Member[] = [];
    while (this.#staying().length < count) members.push(this.#add());
    try {
      await Promise.all(members.map((member) => this.#connect(member)));
    } finally {
      signal.removeEventListener("abort", abort);
    }
    for (const member of members) this.#offer(member);
  }

  resize(wanted: number): void {
    this.#wanted = wanted;
    const staying = this.#staying();
    for (const member of staying.slice(wanted)) this.#leave(member);
    for (let count = staying.length; count < wanted; count += 1) void this.#open(this.#add());
  }

  /** Operations that began before `beforeMs` end with `failure`; their connections are replaced. */
  expire(beforeMs: number, failure: OperationFailure): void {
    for (const member of [...this.#members.values()]) {
      if (!member.slots.some((slot) => slot.isBusy && slot.startMs < beforeMs)) continue;
      const waitingSinceMs = this.#waitingSince(member);
      const unanswered = this.#unansweredOf(member);
      for (const slot of member.slots) slot.retire();
      for (const slot of member.slots) slot.end(failure, 0);
      this.#remove(member);
      if (this.#staying().length >= this.#wanted) continue;
      const next = this.#add();
      next.waitingSinceMs = waitingSinceMs;
      next.failedMs = this.#options.clock.nowMs();
      next.unanswered = unanswered;
      void this.#open(next);
    }
  }

  async close(): Promise<void> {
    this.#wanted = 0;
    this.#aborter.abort();
    for (const member of [...this.#members.values()]) this.#remove(member);
    await Promise.all(this.#closing);
  }

  #staying(): readonly Member[] {
    return [...this.#members.values()].filter(({ state }) => state !== "closing");
  }

  #add(): Member {
    const member: Member = {
      id: this.#nextId,
      state: "opening",
      connection: undefined,
      slots: [],
      failures: 0,
      retry: undefined,
      waitingSinceMs: undefined,
      failedMs: undefined,
      unanswered: undefined,
    };
    this.#nextId += 1;
    this.#members.set(member.id, member);
    return member;
  }

  async #open(member: Member): Promise<void> {
    try {
      await this.#connect(member);
    } catch (thrown) {
      this.#retryLater(member, failureOf(thrown));
      return;
    }
    this.#offer(member);
  }

  async #connect(member: Member): Promise<void> {
    const { target, depth, operations } = this.#options;
    const connection = await target.connect(depth, this.#aborter.signal);
    if (!this.#members.has(member.id)) {
      this.#end(connection);
      return;
    }
    try {
      const prepared: PreparedOperation[] = [];
      for (const operation of operations) prepared.push(await connection.prepare(operation));
      member.connection = connection;
      member.slots = Array.from(
        { length: depth },
        () =>
          new Slot(member.id, prepared, member, (slot, failure, rows, resent) =>
            this.#done(member, slot, failure, rows, resent),
          ),
      );
    } catch (thrown) {
      this.#end(connection);
      throw thrown;
    }
    connection.onBroken((failure) => this.#broken(member, failure));
  }

  /** Offers the connection's slots to the caller. */
  #offer(member: Member): void {
    if (!this.#members.has(member.id) || member.connection === undefined) return;
    member.state = "live";
    member.failures = 0;
    member.waitingSinceMs = undefined;
    for (const slot of member.slots) if (slot.isUsable) this.#options.onSlot(slot);
  }

  #done(
    member: Member,
    slot: Slot,
    failure: OperationFailure | undefined,
    rowCount: number,
    resent: number,
  ): void {
    // The connection is broken and will report it.
    if (failure?.kind === "connection") slot.retire();
    this.#options.onDone(slot, failure, rowCount, resent);
    if (member.state === "live" && slot.isUsable) {
      this.#options.onSlot(slot);
    } else if (member.state === "closing" && !member.slots.some(({ isBusy }) => isBusy)) {
      this.#remove(member);
    }
  }

  #broken(member: Member, failure: OperationFailure): void {
    if (!this.#members.has(member.id)) return;
    if (member.state !== "closing") {
      member.waitingSinceMs = this.#waitingSince(member);
      member.unanswered = this.#unansweredOf(member);
    }
    member.failedMs = this.#options.clock.nowMs();
    this.#options.onTrouble(failure, false);
    for (const slot of member.slots) slot.retire();
    for (const slot of member.slots) slot.end(failure, 0);
    if (!this.#members.has(member.id)) return;
    if (member.state === "closing") {
      this.#remove(member);
      return;
    }
    member.state = "opening";
    member.connection = undefined;
    member.slots = [];
    void this.#open(member);
  }

  #retryLater(member: Member, failure: OperationFailure): void {
    if (!this.#members.has(member.id)) return;
    member.waitingSinceMs = this.#waitingSince(member);
    member.failedMs = this.#options.clock.nowMs();
    member.unanswered = this.#unansweredOf(member);
    this.#options.onTrouble(failure, true);
    member.failures += 1;
    const delayMs = backoffMs(pause, member.failures, this.#options.prng.next());
    member.retry = this.#options.clock.after(delayMs, () => void this.#open(member));
  }

  /** The wait ends only with a success on the connection. */
  #waitingSince({ waitingSinceMs, slots }: Member): number {
    const waiting = slots.flatMap((slot) => slot.waitingSinceMs ?? []);
    return waitingSinceMs ?? waiting[0] ?? this.#options.clock.nowMs();
  }

  #unansweredOf({ slots, unanswered }: Member): Unanswered {
    const [slot] = slots.filter(({ unansweredMs }) => unansweredMs !== undefined);
    if (slots.length === 0 && unanswered !== undefined) return unanswered;
    const { unansweredMs: sinceMs = this.#options.clock.nowMs(), operation = 0 } = slot ?? {};
    return { sinceMs, operation };
  }

  /** Closes the connection after its last operation. */
  #leave(member: Member): void {
    for (const slot of member.slots) slot.retire();
    if (member.slots.some(({ isBusy }) => isBusy)) {
      member.state = "closing";
    } else {
      this.#remove(member);
    }
  }

  #remove(member: Member): void {
    if (!this.#members.delete(member.id)) return;
    member.retry?.cancel();
    for (const slot of member.slots) slot.retire();
    if (member.connection !== undefined) this.#end(member.connection);
  }

  #end(connection: TargetConnection): void {
    const ending = connection.close().catch(() => undefined);
    this.#closing.add(ending);
    void ending.then(() => this.#closing.delete(ending));
  }
}

/** The failure of an attempt to connect, with the target's message. */
function failureOf(thrown: unknown): OperationFailure {
  const code = thrown instanceof OperatingError ? thrown.code : "";
  return { kind: "connection", code, message: messageOf(thrown) };
}
