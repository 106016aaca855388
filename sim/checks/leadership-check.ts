/**
 * I11, the controllers' side (the workers' side is in session-knowledge.ts). A coordinator keeps
 * sessions only under its newest lease. Without a lease it keeps them only until it steps down, or
 * while a store that it cannot write says that nobody else has the lease (CN5).
 */
import type { Life } from "../engine/life.ts";
import type { Verdict } from "./verdict.ts";

interface Standing {
  /** 0 when the process does not hold the lease. */
  readonly leaseEpoch: number;
  readonly sinceMs: number;
  /** When the store last answered a read of this process. */
  readMs: number;
  /** When another coordinator got the lease that this one lost. */
  takenMs: number;
}

/** `stepDownMs` of a controller, with some slack. */
const stepDownMsMax = 10_500;
/** From a new lease to the end of the sessions that were dialled under the old one. */
const redialMsMax = 500;
/** How often a controller whose lease cannot be renewed reads the store, with some slack. */
const standsMsMax = 1_500;

export class LeadershipCheck {
  readonly #verdict: Verdict;
  readonly #leaseMs: number;
  readonly #standings = new Map<Life, Standing>();

  constructor(verdict: Verdict, leaseMs: number) {
    this.#verdict = verdict;
    this.#leaseMs = leaseMs;
  }

  changed(life: Life, leaseEpoch: number, nowMs: number): void {
    if (leaseEpoch > 0) {
      for (const other of this.#standings.values()) {
        other.takenMs = Math.min(other.takenMs, nowMs);
      }
    }
    const [readMs, takenMs] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    this.#standings.set(life, { leaseEpoch, sinceMs: nowMs, readMs, takenMs });
  }

  readAnswered(life: Life, nowMs: number): void {
    const standing = this.#standings.get(life);
    if (standing !== undefined) standing.readMs = nowMs;
  }

  /** A coordinator sent a heartbeat on a session that it dialled under `leaseEpoch`. */
  heartbeatSent(life: Life, leaseEpoch: number, nowMs: number): void {
    const standing = this.#standings.get(life);
    if (standing === undefined) {
      this.#verdict.fail("I11", `${life.name} has sessions and never held the lease`);
      return;
    }
    const sinceMs = Math.max(standing.sinceMs, life.runningSinceMs);
    if (standing.leaseEpoch === 0) {
      const toldOursMs = Math.min(standing.readMs, standing.takenMs);
      const untilMs = Math.max(sinceMs + stepDownMsMax, toldOursMs + this.#leaseMs + standsMsMax);
      this.#verdict.require(nowMs <= untilMs, "I11", () => {
        return `${life.name} has sessions ${Math.round(nowMs - sinceMs)} ms after losing the lease`;
      });
    } else if (leaseEpoch !== standing.leaseEpoch) {
      this.#verdict.require(nowMs - sinceMs <= redialMsMax, "I11", () => {
        return `${life.name} leads with ${standing.leaseEpoch}, and has a session of ${leaseEpoch}`;
      });
    }
  }
}
