/**
 * I2: while a coordinator holds the lease, runs and reaches the store, every ACTIVE worker has
 * answered it within the detection bound, plus the time of a write. A worker that answers and
 * reports nothing new is shown as it is, and drains if it was asked to.
 */
import type { Life } from "../engine/life.ts";
import { clockSlackMs, detectionMsMaxOf, type SessionKnowledge } from "./session-knowledge.ts";
import type { StoreAudit } from "./store-audit.ts";
import type { Verdict } from "./verdict.ts";

/** A few round trips to the store, one after the other. */
const writeMsMax = 1_000;
/** After store trouble: the reconciler's longest pause (5 s), and a call that fails late. */
const storeTroubleMs = 8_000;

/** With a healthy session, an answer is at most a heartbeat and this old. */
const answerMsMax = 500;
/** Admission is written once a second at most. */
const settledMsMin = 3_000;

/** The coordinator that holds the lease, as far as it knows itself. */
export type FindLeader = () => Life | undefined;

/** The longest round trip between the two on the network as it is now. */
export type RoundTripMsMax = (leader: Life, workerId: string) => number;

export class MembershipCheck {
  readonly #audit: StoreAudit;
  readonly #knowledge: SessionKnowledge;
  readonly #findLeader: FindLeader;
  readonly #verdict: Verdict;
  readonly #heartbeatMs: number;
  readonly #roundTripMsMax: RoundTripMsMax;
  readonly #troubledMs = new Map<Life, number>();
  readonly #leadsSinceMs = new Map<Life, number>();
  #nextMs = 0;

  constructor(
    audit: StoreAudit,
    knowledge: SessionKnowledge,
    findLeader: FindLeader,
    verdict: Verdict,
    heartbeatMs: number,
    roundTripMsMax: RoundTripMsMax,
  ) {
    this.#roundTripMsMax = roundTripMsMax;
    this.#heartbeatMs = heartbeatMs;
    this.#audit = audit;
    this.#knowledge = knowledge;
    this.#findLeader = findLeader;
    this.#verdict = verdict;
  }

  /** The process has trouble with the store until `untilMs` at least. */
  storeTrouble(life: Life, untilMs: number): void {
    const knownMs = this.#troubledMs.get(life) ?? 0;
    this.#troubledMs.set(life, Math.max(knownMs, untilMs));
  }

  leadershipChanged(life: Life, leads: boolean, nowMs: number): void {
    if (leads) this.#leadsSinceMs.set(life, nowMs);
    else this.#leadsSinceMs.delete(life);
    this.#nextMs = 0;
  }

  rowsChanged(): void {
    this.#nextMs = 0;
  }

  eventEnded(nowMs: number): void {
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + 250;
    const leader = this.#findLeader();
    const excusedMs = this.#excusedMs(leader);
    if (leader === undefined || excusedMs === undefined) return;
    let nextMs = nowMs + 60_000;
    for (const row of this.#audit.rows.values()) {
      if (row.state !== "ACTIVE") continue;
      const known = this.#knowledge.of(leader, row.worker_id);
      const answeredMs = known?.lastAnswerMs ?? Number.NEGATIVE_INFINITY;
      const detectMs = known === undefined ? 0 : detectionMsMaxOf(this.#heartbeatMs);
      const dueMs = Math.max(answeredMs, excusedMs) + detectMs + writeMsMax + clockSlackMs;
      this.#verdict.require(nowMs <= dueMs, "I2", () => {
        const silent = known === undefined ? "ever" : `for ${Math.round(nowMs - answeredMs)} ms`;
        return `${row.worker_id} is ACTIVE and has not answered ${leader.name} ${silent}`;
      });
      nextMs = Math.min(nextMs, dueMs + 0.001);
    }
    this.#nextMs = nextMs;
  }

  /** Called every 250 ms of virtual time. */
  sweep(nowMs: number): void {
    const leader = this.#findLeader();
    const excusedMs = this.#excusedMs(leader);
    if (leader === undefined || excusedMs === undefined) return;
    for (const row of this.#audit.rows.values()) {
      const known = this.#knowledge.of(leader, row.worker_id);
      const freshMs = this.#heartbeatMs + answerMsMax;
      if (known === undefined || nowMs - known.lastAnswerMs > freshMs) continue;
      const rowMs = this.#audit.changedMs(row.worker_id);
      const newsMs = Math.max(known.sinceMs, known.admissionMs, rowMs, excusedMs);
      if (nowMs - newsMs < settledMsMin) continue;
      const { accepting, draining } = known.admission;
      const isShown =
        row.state === "ACTIVE" &&
        row.incarnation === known.incarnation &&
        row.accepting_work === (accepting ? 1 : 0) &&
        row.draining === (draining ? 1 : 0);
      this.#verdict.require(isShown, "I2", () => {
        return `${row.worker_id} answers ${leader.name} as ${known.incarnation} (${accepting}, ${draining}), and is shown as ${JSON.stringify(row)}`;
      });
      // The wish travels to the worker and its answer back, which may take seconds on a slow link.
      const isDue = nowMs - newsMs >= settledMsMin + this.#roundTripMsMax(leader, row.worker_id);
      this.#verdict.require(row.drain_requested === 0 || draining || !isDue, "I2", () => {
        return `${row.worker_id} was asked to drain and does not`;
      });
    }
  }

  /** Whether this process has been well, and connected to the store, for a while. */
  isStoreTroubled(life: Life, nowMs: number): boolean {
    return nowMs < (this.#troubledMs.get(life) ?? -storeTroubleMs) + storeTroubleMs;
  }

  /** Until when the leader could not do better; undefined when nobody leads. */
  #excusedMs(leader: Life | undefined): number | undefined {
    if (leader === undefined || !leader.isUp) return undefined;
    const leadsSinceMs = this.#leadsSinceMs.get(leader);
    if (leadsSinceMs === undefined) return undefined;
    const troubledMs = (this.#troubledMs.get(leader) ?? -storeTroubleMs) + storeTroubleMs;
    return Math.max(leader.runningSinceMs, leadsSinceMs, troubledMs);
  }
}
