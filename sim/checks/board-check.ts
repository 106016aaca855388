/**
 * Follows one controller's `WorkBoard` by its events and effects, with a model of its own. Checks
 * I1, I4 and I12 (README.md) for work: every assignment is sent in the same event, unless the
 * session has just ended.
 */
import {
  type BoardEffect,
  type BoardEvent,
  type WorkBoard,
  type WorkKey,
  workKeyText,
} from "../../src/ground/work/core/index.ts";
import type { Counters } from "./counters.ts";
import type { Verdict } from "./verdict.ts";

interface ModelWork {
  state: "queued" | "assigned" | "running" | "ready" | "committed";
  attempt: number;
  workerId: string;
  /** The newest attempt whose bytes arrived. */
  fetchedAttempt: number;
}

type ReportEvent = Extract<BoardEvent, { readonly kind: "report" }>;

interface Assignment {
  readonly keyText: string;
  readonly attempt: number;
  readonly workerId: string;
}

/** The states in which an answer commits a work at once. */
const holding: readonly ModelWork["state"][] = ["assigned", "running"];

export class BoardCheck {
  readonly #name: string;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #works = new Map<string, ModelWork>();
  readonly #queries = new Map<string, string[]>();
  #unsent: Assignment[] = [];

  constructor(name: string, verdict: Verdict, counters: Counters) {
    this.#name = name;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  get workCount(): number {
    return this.#works.size;
  }

  /** Undefined when nobody holds it, or there is no such work. */
  holderOf(keyText: string): string | undefined {
    const work = this.#works.get(keyText);
    return work?.state === "assigned" || work?.state === "running" ? work.workerId : undefined;
  }

  /** Work that the board believes to be with a worker. */
  *held(): Generator<{ readonly keyText: string; readonly workerId: string }> {
    for (const [keyText, { state, workerId }] of this.#works) {
      if (state !== "queued" && state !== "committed") yield { keyText, workerId };
    }
  }

  observe(event: BoardEvent, effects: readonly BoardEffect[]): void {
    if (event.kind === "submit") this.#submitted(event.queryId, event.works);
    if (event.kind === "fetched") {
      const work = this.#works.get(workKeyText(event.key));
      if (work !== undefined) work.fetchedAttempt = event.attempt;
    }
    if (event.kind === "report" && !this.#isCurrent(event)) this.#checkIgnored(event, effects);
    for (const effect of effects) this.#follow(effect);
  }

  /** Whether a report is about the attempt that its worker holds. */
  #isCurrent({ workerId, report }: ReportEvent): boolean {
    const work = this.#works.get(workKeyText(report.key));
    if (work === undefined || work.state === "queued" || work.state === "committed") return false;
    return work.attempt === report.attempt && work.workerId === workerId;
  }

  /** A report of another attempt moves nothing; at most its artifact is acknowledged. */
  #checkIgnored({ report }: ReportEvent, effects: readonly BoardEffect[]): void {
    if (report.kind === "workReady") this.#counters.add("completion ignored");
    const keyText = workKeyText(report.key);
    const moved = effects.find(
      (effect) =>
        (effect.kind === "accepted" || effect.kind === "fetch" || effect.kind === "reassigned") &&
        workKeyText(effect.key) === keyText,
    );
    this.#verdict.require(moved === undefined, "I1", () => {
      return `${this.#name}: a ${report.kind} of attempt ${report.attempt} moved ${keyText}`;
    });
  }

  /** After the loss of a worker, `count` works wait until it is known whether it died of them. */
  heldBack(count: number): void {
    if (count > 0) this.#counters.add("work held back", count);
  }

  /** A frame with this assignment left the process. */
  sent(keyText: string, attempt: number, workerName: string): void {
    this.#unsent = this.#unsent.filter(
      (assignment) =>
        assignment.keyText !== keyText ||
        assignment.attempt !== attempt ||
        assignment.workerId !== workerName,
    );
  }

  /** `isLive` tells whether this controller still has a session with a worker. */
  eventEnded(isLive: (workerId: string) => boolean): void {
    if (this.#unsent.length === 0) return;
    for (const { keyText, attempt, workerId } of this.#unsent) {
      if (this.#works.get(keyText)?.attempt !== attempt) continue; // It has moved on.
      this.#verdict.require(!isLive(workerId), "I12", () => {
        return `${this.#name} assigned ${keyText} #${attempt} to ${workerId} and sent nothing`;
      });
    }
    this.#unsent = [];
  }

  #submitted(queryId: string, works: readonly WorkKey[]): void {
    const keys = works.map(workKeyText);
    this.#queries.set(queryId, keys);
    for (const key of keys) {
      this.#works.set(key, { state: "queued", attempt: 0, workerId: "", fetchedAttempt: 0 });
    }
  }

  #follow(effect: BoardEffect): void {
    switch (effect.kind) {
      case "assigned": {
        const { attempt, workerId } = effect;
        this.#move(effect.key, ["queued"], "assigned", (work) => {
          this.#expect(attempt === work.attempt + 1, effect.key, `attempt ${attempt}`);
          work.attempt = attempt;
          work.workerId = workerId;
        });
        this.#unsent.push({ keyText: workKeyText(effect.key), attempt, workerId });
        break;
      }
      case "accepted":
        this.#move(effect.key, ["assigned"], "running", (work) => {
          this.#expect(effect.attempt === work.attempt, effect.key, "an old attempt accepted");
        });
        break;
      case "fetch":
        this.#move(effect.key, ["assigned", "running"], "ready", (work) => {
          this.#expect(effect.attempt === work.attempt, effect.key, "an old attempt fetched");
        });
        break;
      case "reassigned":
        this.#counters.add(`reassigned ${effect.reason}`);
        this.#move(effect.key, ["assigned", "running", "ready"], "queued", (work) => {
          this.#expect(effect.attempt === work.attempt, effect.key, "an old attempt requeued");
        });
        break;
      case "workCommitted": {
        const keyText = workKeyText(effect.key);
        const work = this.#works.get(keyText);
        this.#verdict.require(work?.state !== "committed", "I4", () => {
          return `${this.#name} committed ${keyText} twice`;
        });
        const from = effect.answer === undefined ? ["ready" as const] : holding;
        this.#move(effect.key, from, "committed", ({ attempt, fetchedAttempt }) => {
          const isThere = effect.answer !== undefined || fetchedAttempt === attempt;
          const isCurrent = effect.attempt === attempt;
          this.#expect(isCurrent && isThere, effect.key, "an attempt committed without its result");
        });
        break;
      }
      case "queryDone":
        this.#ended(effect.queryId, true);
        break;
      case "queryFailed":
      case "queryCancelled":
        this.#ended(effect.queryId, false);
        break;
      default:
    }
  }

  #move(
    key: WorkKey,
    from: readonly ModelWork["state"][],
    to: ModelWork["state"],
    change: (work: ModelWork) => void,
  ): void {
    const work = this.#works.get(workKeyText(key));
    if (work === undefined) {
      this.#verdict.fail("I1", `${this.#name}: ${workKeyText(key)} became ${to} after its end`);
      return;
    }
    this.#expect(from.includes(work.state), key, `from ${work.state} to ${to}`);
    change(work);
    work.state = to;
  }

  #expect(holds: boolean, key: WorkKey, what: string): void {
    this.#verdict.require(
      holds,
      "I1",
      () => `${this.#name}: ${workKeyText(key)} moved wrongly: ${what}`,
    );
  }

  #ended(queryId: string, isDone: boolean): void {
    const keys = this.#queries.get(queryId);
    if (keys === undefined) {
      this.#verdict.fail("I1", `${this.#name}: query ${queryId} ended twice`);
      return;
    }
    this.#queries.delete(queryId);
    for (const key of keys) {
      const isCommitted = this.#works.get(key)?.state === "committed";
      this.#verdict.require(!isDone || isCommitted, "I1", () => {
        return `${this.#name}: query ${queryId} is done without ${key}`;
      });
      this.#works.delete(key);
    }
  }
}

/** A subclass of `Board` that shows `check` its events and effects. */
export function auditedBoard(Board: typeof WorkBoard, check: BoardCheck): typeof WorkBoard {
  return class extends Board {
    override step(event: BoardEvent): readonly BoardEffect[] {
      const effects = super.step(event);
      check.observe(event, effects);
      if (event.kind === "workerDown") {
        check.heldBack(super.snapshot().works.filter(({ heldBack }) => heldBack).length);
      }
      return effects;
    }
  };
}
