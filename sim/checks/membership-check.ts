/**
 * I2: while a coordinator holds the lease, runs and reaches the store, every worker that the table shows as
 * ACTIVE has answered that coordinator within the detection bound, plus the time of a write.
 */
import type { Life } from "../engine/life.ts";
import { clockSlackMs, detectionMsMax, type SessionKnowledge } from "./session-knowledge.ts";
import type { StoreAudit } from "./store-audit.ts";
import type { Verdict } from "./verdict.ts";

/** A few round trips to the store, one after the other. */
const writeMsMax = 1_000;
/** After trouble with the store: the longest pause of the reconciler (5 s), and a call that fails late. */
const storeTroubleMs = 8_000;

/** The coordinator that holds the lease, as far as it knows itself. */
export type FindLeader = () => Life | undefined;

export class MembershipCheck {
  readonly #audit: StoreAudit;
  readonly #knowledge: SessionKnowledge;
  readonly #findLeader: FindLeader;
  readonly #verdict: Verdict;
  readonly #troubledMs = new Map<Life, number>();
  readonly #leadsSinceMs = new Map<Life, number>();
  #nextMs = 0;

  constructor(
    audit: StoreAudit,
    knowledge: SessionKnowledge,
    findLeader: FindLeader,
    verdict: Verdict,
  ) {
    this.#audit = audit;
    this.#knowledge = knowledge;
    this.#findLeader = findLeader;
    this.#verdict = verdict;
  }

  /** Something is wrong between this process and the store, until then at least. */
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
    if (leader === undefined || !leader.isUp) return;
    const leadsSinceMs = this.#leadsSinceMs.get(leader);
    if (leadsSinceMs === undefined) return;
    const troubledMs = (this.#troubledMs.get(leader) ?? -storeTroubleMs) + storeTroubleMs;
    const excusedMs = Math.max(leader.runningSinceMs, leadsSinceMs, troubledMs);
    let nextMs = nowMs + 60_000;
    for (const row of this.#audit.rows.values()) {
      if (row.state !== "ACTIVE") continue;
      const known = this.#knowledge.of(leader, row.worker_id);
      const answeredMs = known?.lastAnswerMs ?? Number.NEGATIVE_INFINITY;
      const dueMs = Math.max(answeredMs, excusedMs) + detectionMsMax + writeMsMax + clockSlackMs;
      this.#verdict.require(nowMs <= dueMs, "I2", () => {
        const silent = known === undefined ? "ever" : `for ${Math.round(nowMs - answeredMs)} ms`;
        return `${row.worker_id} is ACTIVE and has not answered ${leader.name} ${silent}`;
      });
      nextMs = Math.min(nextMs, dueMs + 0.001);
    }
    this.#nextMs = nextMs;
  }
}
