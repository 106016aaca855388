/**
 * All work that one worker process holds, for every controller with a session. Events in, effects
 * out, in the order in which they must happen; no I/O, no clock. Rules: WC22 to WC27.
 *
 * The ledger does not execute, keep time (TTLs come as `expired`), or decide what the disk can
 * hold.
 */
import type { Admission } from "../../../cluster/core/index.ts";
import { assert, unreachable } from "../../../kernel/errors.ts";
import {
  acceptWork,
  type HeldEffect,
  type HeldEvent,
  type HeldId,
  type HeldState,
  type HeldWork,
  stepHeldWork,
} from "./held-work.ts";
import {
  keyOf,
  type RejectReason,
  type WorkCommand,
  type WorkKey,
  type WorkSpec,
  workKeyText,
} from "./messages.ts";

export interface LedgerLimits {
  /** The number of concurrent executions. */
  readonly slots: number;
  /** The limit of accepted items that wait for a slot. */
  readonly queueMax: number;
}

export type LedgerEvent =
  | (WorkCommand & { readonly session: string })
  | { readonly kind: "sessionLost"; readonly session: string }
  /** An execution ended, even if it was aborted meanwhile; or its artifact has to go. */
  | (Exclude<HeldEvent, { readonly kind: "start" | "assignedAgain" | "letGo" | "ack" }> & {
      readonly id: HeldId;
    })
  | { readonly kind: "setDraining"; readonly draining: boolean }
  /** False for a reason of the worker itself, such as a full disk. Initially true. */
  | { readonly kind: "setAccepting"; readonly accepting: boolean };

export type LedgerEffect =
  | HeldEffect
  /** Sent to every session, before any report that follows it. */
  | { readonly kind: "admissionChanged"; readonly admission: Admission }
  /** Draining is complete: nothing executes, and no artifact waits to be fetched. */
  | { readonly kind: "drained" };

export interface LedgerCounts {
  readonly queued: number;
  readonly executing: number;
  /** Executions that were told to stop and have not ended; they still hold their slots. */
  readonly aborting: number;
  readonly ready: number;
  readonly acked: number;
}

export interface HeldOnLedger {
  readonly id: HeldId;
  readonly session: string;
  readonly key: WorkKey;
  readonly attempt: number;
  readonly state: HeldState;
}

interface Item {
  held: HeldWork;
}

export class WorkLedger {
  readonly #limits: LedgerLimits;
  /** All items that are not gone. */
  readonly #items = new Map<HeldId, Item>();
  /** By session and `workKeyText`: the newest attempt that is not gone. */
  readonly #owned = new Map<string, Map<string, Item>>();
  /** In order of acceptance; at most `queueMax`, and one that is about to start. */
  readonly #queue = new Set<Item>();
  readonly #counts: Record<HeldState, number> = {
    queued: 0,
    executing: 0,
    aborting: 0,
    ready: 0,
    acked: 0,
    gone: 0,
  };
  #idNext: HeldId = 1;
  #draining = false;
  #drainedSaid = false;
  #willing = true;
  #full = false;
  /** The admission that was last sent. */
  #admission: Admission = { accepting: true, draining: false };
  #effects: LedgerEffect[] = [];

  constructor(limits: LedgerLimits) {
    assert(Number.isInteger(limits.slots) && limits.slots > 0, "a worker has a slot");
    assert(Number.isInteger(limits.queueMax) && limits.queueMax >= 0, "a queue has a bound");
    this.#limits = limits;
  }

  step(event: LedgerEvent): readonly LedgerEffect[] {
    this.#effects = [];
    this.#handle(event);
    this.#startQueued();
    this.#tellAdmission();
    this.#tellDrained();
    return this.#effects;
  }

  admission(): Admission {
    return this.#admission;
  }

  counts(): LedgerCounts {
    const { queued, executing, aborting, ready, acked } = this.#counts;
    return { queued, executing, aborting, ready, acked };
  }

  /** The item that has waited longest for a slot. */
  firstQueued(): WorkSpec | undefined {
    const [first] = this.#queue;
    return first?.held.work;
  }

  /** Everything, for tests and the simulator's checkers. */
  snapshot(): readonly HeldOnLedger[] {
    return Array.from(this.#items.values(), ({ held }) => {
      const { id, session, work, attempt, state } = held;
      return { id, session, key: keyOf(work), attempt, state };
    });
  }

  #handle(event: LedgerEvent): void {
    switch (event.kind) {
      case "assignWork":
        this.#assign(event.session, event.work, event.attempt);
        break;
      case "cancelWork":
      case "ackArtifact": {
        const item = this.#owned.get(event.session)?.get(workKeyText(event.key));
        if (item === undefined || item.held.attempt !== event.attempt) return;
        this.#advance(item, { kind: event.kind === "ackArtifact" ? "ack" : "letGo" });
        break;
      }
      case "sessionLost": // WC23
        for (const item of [...(this.#owned.get(event.session)?.values() ?? [])]) {
          this.#advance(item, { kind: "letGo" });
        }
        break;
      case "executed":
      case "answered":
      case "executionFailed":
      case "expired":
      case "evicted": {
        const item = this.#items.get(event.id);
        if (item !== undefined) this.#advance(item, event);
        break;
      }
      case "setDraining":
        if (!event.draining) this.#drainedSaid = false;
        this.#draining = event.draining;
        break;
      case "setAccepting":
        this.#willing = event.accepting;
        break;
      default:
        unreachable(event);
    }
  }

  #assign(session: string, work: WorkSpec, attempt: number): void {
    const keyText = workKeyText(work);
    const older = this.#owned.get(session)?.get(keyText);
    if (older !== undefined) {
      if (attempt < older.held.attempt) return; // WC24
      const isSame = attempt === older.held.attempt;
      this.#advance(older, { kind: isSame ? "assignedAgain" : "letGo" });
      if (isSame) return;
    }
    const reason = this.#refusal();
    if (reason !== undefined) {
      const report = { kind: "workRejected", key: keyOf(work), attempt, reason } as const;
      this.#effects.push({ kind: "report", session, report });
      return;
    }
    const [held, effects] = acceptWork(this.#idNext, session, work, attempt);
    this.#idNext += 1;
    const item: Item = { held };
    this.#queue.add(item);
    this.#counts.queued += 1;
    this.#items.set(held.id, item);
    const owned = this.#owned.get(session);
    if (owned === undefined) this.#owned.set(session, new Map([[keyText, item]]));
    else owned.set(keyText, item);
    for (const effect of effects) this.#effects.push(effect);
  }

  /** Undefined when the worker takes the item. */
  #refusal(): RejectReason | undefined {
    if (this.#draining) return "draining";
    if (!this.#willing) return "not_accepting";
    return this.#hasRoom() ? undefined : "queue_full"; // WC22
  }

  #hasRoom(): boolean {
    return this.#slotsFree() > 0 || this.#counts.queued < this.#limits.queueMax;
  }

  #slotsFree(): number {
    return this.#limits.slots - this.#counts.executing - this.#counts.aborting;
  }

  #startQueued(): void {
    while (this.#slotsFree() > 0) {
      const [item] = this.#queue;
      if (item === undefined) return;
      this.#advance(item, { kind: "start" });
    }
  }

  /** Moves one item, and updates every index. */
  #advance(item: Item, event: HeldEvent): void {
    const before = item.held;
    const [after, effects] = stepHeldWork(before, event);
    for (const effect of effects) this.#effects.push(effect);
    if (after.state === before.state) return;
    item.held = after;
    this.#counts[before.state] -= 1;
    this.#counts[after.state] += 1;
    this.#queue.delete(item);
    if (after.state !== "gone") return;
    this.#counts.gone -= 1;
    this.#items.delete(after.id);
    this.#disown(item);
  }

  #disown(item: Item): void {
    const { session, work } = item.held;
    const owned = this.#owned.get(session);
    const keyText = workKeyText(work);
    if (owned?.get(keyText) !== item) return; // A newer attempt has its place.
    owned.delete(keyText);
    if (owned.size === 0) this.#owned.delete(session);
  }

  #tellAdmission(): void {
    if (!this.#hasRoom()) this.#full = true;
    else if (this.#counts.queued <= this.#limits.queueMax / 2) this.#full = false; // WC26
    const accepting = !this.#draining && this.#willing && !this.#full;
    const { accepting: toldAccepting, draining: toldDraining } = this.#admission;
    if (accepting === toldAccepting && this.#draining === toldDraining) return;
    this.#admission = { accepting, draining: this.#draining };
    this.#effects.push({ kind: "admissionChanged", admission: this.#admission });
  }

  #tellDrained(): void {
    const { queued, executing, aborting, ready } = this.#counts;
    if (!this.#draining || this.#drainedSaid || queued + executing + aborting + ready > 0) return;
    this.#drainedSaid = true;
    this.#effects.push({ kind: "drained" });
  }
}
