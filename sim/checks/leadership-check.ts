/**
 * I11, the controllers' side: a coordinator keeps its sessions up under its newest lease, and without a lease only
 * for as long as it takes to step down. (The workers' side is in session-knowledge.ts.)
 */
import type { Life } from "../engine/life.ts";
import type { Verdict } from "./verdict.ts";

interface Standing {
  /** 0: it does not hold the lease. */
  leaseEpoch: number;
  sinceMs: number;
}

/** `stepDownMs` of a controller, and some slack. */
const stepDownMsMax = 10_500;
/** From a new lease to the end of the sessions that were dialled under the old one. */
const redialMsMax = 500;

export class LeadershipCheck {
  readonly #verdict: Verdict;
  readonly #standings = new Map<Life, Standing>();

  constructor(verdict: Verdict) {
    this.#verdict = verdict;
  }

  changed(life: Life, leaseEpoch: number, nowMs: number): void {
    this.#standings.set(life, { leaseEpoch, sinceMs: nowMs });
  }

  /** A coordinator keeps a session alive that it dialled under `leaseEpoch`. */
  heartbeatSent(life: Life, leaseEpoch: number, nowMs: number): void {
    const standing = this.#standings.get(life);
    if (standing === undefined) {
      this.#verdict.fail("I11", `${life.name} has sessions and never held the lease`);
      return;
    }
    const sinceMs = Math.max(standing.sinceMs, life.runningSinceMs);
    if (standing.leaseEpoch === 0) {
      this.#verdict.require(nowMs - sinceMs <= stepDownMsMax, "I11", () => {
        return `${life.name} has sessions ${Math.round(nowMs - sinceMs)} ms after losing the lease`;
      });
    } else if (leaseEpoch !== standing.leaseEpoch) {
      this.#verdict.require(nowMs - sinceMs <= redialMsMax, "I11", () => {
        return `${life.name} leads with ${standing.leaseEpoch}, and has a session of ${leaseEpoch}`;
      });
    }
  }
}
