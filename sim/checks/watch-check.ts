/**
 * I7, its second half: after every event, a subscriber to `watch` has exactly the rows of that
 * revision, and has skipped no revision.
 */
import type { Revision } from "../../src/ground/kernel/ids.ts";
import type { WatchEvent } from "../../src/ground/store/index.ts";
import type { Counters } from "./counters.ts";
import type { StoreAudit, TableState } from "./store-audit.ts";
import type { Verdict } from "./verdict.ts";

/** Whether a row, as JSON, belongs to the subscription. */
export type RowFilter = (json: string) => boolean;

export class Subscriber {
  readonly #name: string;
  readonly #filter: RowFilter | undefined;
  readonly #audit: StoreAudit;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #rows = new Map<string, string>();
  #revision: Revision | undefined;
  /** A revision at which it was caught up, so that this is computed once for each. */
  #caughtUpTo = -1;

  constructor(
    name: string,
    filter: RowFilter | undefined,
    audit: StoreAudit,
    verdict: Verdict,
    counters: Counters,
  ) {
    this.#name = name;
    this.#filter = filter;
    this.#audit = audit;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  /** Where to resume; undefined when it has seen nothing yet. */
  get revision(): Revision | undefined {
    return this.#revision;
  }

  apply(event: WatchEvent): void {
    if (event.type === "SNAPSHOT") {
      if (this.#revision !== undefined) this.#counters.add("watch: new snapshot");
      this.#rows.clear();
      for (const row of event.data) this.#rows.set(String(row.worker_id), JSON.stringify(row));
    } else {
      this.#counters.add("watch: event");
      this.#checkOrder(event.revision);
      this.#checkOp(event.op, event.key);
      if (event.op === "DROP") this.#rows.delete(event.key);
      else this.#rows.set(event.key, JSON.stringify(event.data));
    }
    this.#revision = event.revision;
    this.#compare(event.revision);
  }

  /** Whether it has seen everything that concerns it. */
  isCaughtUp(): boolean {
    const { revision } = this.#audit;
    if (revision === this.#caughtUpTo) return true;
    const state = this.#audit.stateAt(revision);
    if (state === undefined || this.#revision === undefined || !this.#isSame(state)) return false;
    this.#caughtUpTo = revision;
    return true;
  }

  #checkOrder(revision: number): void {
    const seen = this.#revision ?? 0;
    // With a filter, changes between two events may not concern the subscriber.
    const isNext =
      this.#filter === undefined ? this.#audit.isNextChange(seen, revision) : revision > seen;
    this.#verdict.require(isNext, "I7", () => {
      return `${this.#name} saw revision ${revision} after ${seen}`;
    });
  }

  #checkOp(op: "CREATE" | "UPDATE" | "DROP", key: string): void {
    const isKnown = this.#rows.has(key);
    this.#verdict.require((op === "CREATE") !== isKnown, "I7", () => {
      return `${this.#name} saw ${op} of ${key}, which it ${isKnown ? "has" : "does not have"}`;
    });
  }

  #compare(revision: number): void {
    const state = this.#audit.stateAt(revision);
    const isSame = state !== undefined && this.#isSame(state);
    this.#verdict.require(
      isSame,
      "I7",
      () => `${this.#name} differs from the table at ${revision}`,
    );
  }

  #isSame(state: TableState): boolean {
    let count = 0;
    for (const [key, json] of state) {
      if (this.#filter !== undefined && !this.#filter(json)) continue;
      count += 1;
      if (this.#rows.get(key) !== json) return false;
    }
    return count === this.#rows.size;
  }
}
