/**
 * I11, the controllers' side. A coordinator keeps its sessions up under its newest lease. Without a
 * lease it keeps them only for as long as it takes to step down, or as the store, which it can read
 * and not write, says that nobody else has the lease (C5 in controller-node.ts). The workers' side
 * is in session-knowledge.ts.
 */
import type { Life } from "../engine/life.ts";
import type { Verdict } from "./verdict.ts";

interface Standing {
  /** 0: it does not hold the lease. */
  readonly leaseEpoch: number;
  readonly sinceMs: number;
  /** When the store last answered a read of this process. */
  readMs: number;
  /** When another coordinator got the lease that this one lost. */
  takenMs: number;
}

/** `stepDownMs` of a controller, and some slack. */
const stepDownMsMax = 10_500;
/** From a new lease to the end of the sessions that were dialled under the old one. */
const redialMsMax = 500;
/** How often a controller that only the store's word keeps in office looks again, and some slack. */
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

  /** A coordinator keeps a session alive that it dialled under `leaseEpoch`. */
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
