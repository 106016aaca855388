/**
 * One work item, as the worker that holds it sees it.
 *
 *            start            executed           ack
 *   queued ─────────▶ executing ─────────▶ ready ─────────▶ acked ─────────▶ gone
 *      │                  │                  │    (expired, evicted, let go) ▲
 *      │               let go                └──────────────────────────────▶│
 *      │                  ▼      the execution ended                         │
 *      │               aborting ────────────────────────────────────────────▶│
 *      └────────────────────────────────────────────────────────────────────▶│
 *
 * WC28 to WC30 and QU54 hold here.
 */
import { AssertionError, detailsOf, type ErrorCode, unreachable } from "../../../kernel/errors.ts";
import {
  type Artifact,
  keyOf,
  type WorkFailure,
  type WorkReport,
  type WorkSpec,
} from "./messages.ts";

/** Identifies a held item, its execution and its artifact within one worker's process. */
export type HeldId = number;

interface Held {
  readonly id: HeldId;
  /** The session that assigned and owns the item: opaque. */
  readonly session: string;
  readonly work: WorkSpec;
  readonly attempt: number;
}

interface HeldWithoutArtifact extends Held {
  readonly state: "queued" | "executing" | "aborting" | "gone";
}
interface HeldWithArtifact extends Held {
  readonly state: "ready" | "acked";
  readonly artifact: Artifact;
}
export type HeldWork = HeldWithoutArtifact | HeldWithArtifact;
export type HeldState = HeldWork["state"];

export type HeldEvent =
  /** A slot is free. Only for queued items. */
  | { readonly kind: "start" }
  | { readonly kind: "executed"; readonly artifact: Artifact }
  /** The execution ended with an answer, which the report carries: nothing is held any more. */
  | { readonly kind: "answered"; readonly answer: Uint8Array }
  | ({ readonly kind: "executionFailed" } & WorkFailure)
  /** The same assignment arrived again: its answer is repeated. */
  | { readonly kind: "assignedAgain" }
  /** The owner no longer wants the item, or is gone. */
  | { readonly kind: "letGo" }
  | { readonly kind: "ack" }
  | { readonly kind: "expired" }
  /** The disk budget needs its bytes. */
  | { readonly kind: "evicted" };

export type HeldEffect =
  | { readonly kind: "report"; readonly session: string; readonly report: WorkReport }
  | {
      readonly kind: "startExecution";
      readonly id: HeldId;
      readonly session: string;
      readonly work: WorkSpec;
      readonly attempt: number;
    }
  | { readonly kind: "abortExecution"; readonly id: HeldId }
  /** The artifact is kept: its time to live starts, or restarts when `acked`. */
  | { readonly kind: "keepArtifact"; readonly id: HeldId; readonly acked: boolean }
  | { readonly kind: "deleteArtifact"; readonly id: HeldId };

type Step = readonly [next: HeldWork, effects: readonly HeldEffect[]];

const untouched: readonly HeldEffect[] = [];

/** The worker accepts the item. */
export function acceptWork(
  id: HeldId,
  session: string,
  work: WorkSpec,
  attempt: number,
): readonly [HeldWork, readonly HeldEffect[]] {
  const held: HeldWork = { state: "queued", id, session, work, attempt };
  return [held, [accepted(held)]];
}

export function stepHeldWork(held: HeldWork, event: HeldEvent): Step {
  switch (held.state) {
    case "queued":
      return stepQueued(held, event);
    case "executing":
      return stepExecuting(held, event);
    case "aborting":
      return stepAborting(held, event);
    case "ready":
    case "acked":
      return stepProduced(held, event);
    case "gone":
      return [held, untouched]; // Gone is final.
  }
}

function stepQueued(held: HeldWithoutArtifact, event: HeldEvent): Step {
  switch (event.kind) {
    case "start": {
      const { id, session, work, attempt } = held;
      return [
        { ...held, state: "executing" },
        [{ kind: "startExecution", id, session, work, attempt }],
      ];
    }
    case "assignedAgain":
      return [held, [accepted(held)]];
    case "letGo":
      return [gone(held), untouched];
    case "executed":
    case "answered":
    case "executionFailed":
      return outOfTurn(held, event);
    case "ack":
    case "expired":
    case "evicted":
      return [held, untouched]; // There is no artifact yet.
    default:
      return unreachable(event);
  }
}

function stepExecuting(held: HeldWithoutArtifact, event: HeldEvent): Step {
  switch (event.kind) {
    case "executed": {
      // The spool bounds what it keeps in memory, and this would keep the bytes beside it.
      const { content: _, ...artifact } = event.artifact;
      const ready: HeldWork = { ...held, state: "ready", artifact };
      return [
        ready,
        [{ kind: "keepArtifact", id: held.id, acked: false }, offered(held, event.artifact)],
      ];
    }
    case "answered": {
      const { session, work, attempt } = held;
      const { answer } = event;
      const report: WorkReport = { kind: "workAnswered", key: keyOf(work), attempt, answer };
      return [gone(held), [{ kind: "report", session, report }]];
    }
    case "executionFailed": {
      const { code, message, retryable } = event;
      return [gone(held), [failed(held, { code, message, retryable, ...detailsOf(event) })]];
    }
    case "assignedAgain":
      return [held, [accepted(held)]];
    case "letGo":
      return [{ ...held, state: "aborting" }, [{ kind: "abortExecution", id: held.id }]];
    case "start":
      return outOfTurn(held, event);
    case "ack":
    case "expired":
    case "evicted":
      return [held, untouched]; // There is no artifact yet.
    default:
      return unreachable(event);
  }
}

function stepAborting(held: HeldWithoutArtifact, event: HeldEvent): Step {
  switch (event.kind) {
    case "executed": // It was done before the abort reached it.
      return [gone(held), [{ kind: "deleteArtifact", id: held.id }]]; // WC30
    case "answered":
    case "executionFailed":
      return [gone(held), untouched]; // WC29
    case "start":
      return outOfTurn(held, event);
    case "assignedAgain":
    case "letGo":
    case "ack":
    case "expired":
    case "evicted":
      return [held, untouched]; // WC29: only the end of the execution frees the slot.
    default:
      return unreachable(event);
  }
}

function stepProduced(held: HeldWithArtifact, event: HeldEvent): Step {
  const { id } = held;
  const deleteArtifact: HeldEffect = { kind: "deleteArtifact", id };
  switch (event.kind) {
    case "ack":
      if (held.state === "acked") return [held, untouched];
      return [{ ...held, state: "acked" }, [{ kind: "keepArtifact", id, acked: true }]];
    case "assignedAgain":
      return [held, [accepted(held), offered(held, held.artifact)]];
    case "letGo":
      return [gone(held), [deleteArtifact]];
    case "expired": {
      if (held.state === "acked") return [gone(held), [deleteArtifact]];
      const message = "the artifact expired before it was fetched";
      return [gone(held), [deleteArtifact, lost(held, message)]]; // WC30
    }
    case "evicted": {
      if (held.state === "acked") return [gone(held), [deleteArtifact]];
      const message = "the artifact was evicted before it was fetched: the worker's disk is full";
      return [gone(held), [deleteArtifact, lost(held, message)]]; // WC30
    }
    case "start":
    case "executed":
    case "answered":
    case "executionFailed":
      return outOfTurn(held, event);
    default:
      return unreachable(event);
  }
}

/** Only the shell around the ledger starts and ends executions; this event is its bug. */
function outOfTurn(held: HeldWork, event: HeldEvent): never {
  throw new AssertionError(`held work ${held.id} is ${held.state}: no ${event.kind} is due`);
}

function gone({ id, session, work, attempt }: HeldWork): HeldWork {
  return { state: "gone", id, session, work, attempt };
}

function accepted({ session, work, attempt }: Held): HeldEffect {
  const report: WorkReport = { kind: "workAccepted", key: keyOf(work), attempt };
  return { kind: "report", session, report };
}

function offered({ session, work, attempt }: Held, artifact: Artifact): HeldEffect {
  const report: WorkReport = { kind: "workReady", key: keyOf(work), attempt, artifact };
  return { kind: "report", session, report };
}

function lost(held: Held, message: string): HeldEffect {
  const code: ErrorCode = "artifact_lost";
  return failed(held, { code, message, retryable: true });
}

function failed(held: Held, failure: WorkFailure): HeldEffect {
  const { session, work, attempt } = held;
  const key = keyOf(work);
  const report: WorkReport = { kind: "workFailed", key, attempt, ...failure };
  return { kind: "report", session, report };
}
