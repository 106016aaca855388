/**
 * I48: a subscriber to `queries` gets a snapshot, and then every change of the table in its order,
 * each as the change log has it.
 */
import type { WatchEvent } from "../../src/ground/store/index.ts";
import type { Counters } from "./counters.ts";
import type { ChangeRow } from "./store-audit.ts";
import type { Verdict } from "./verdict.ts";

/** All changes of a table since the beginning, also those that the store has forgotten. */
export class TableLog {
  readonly changes: ChangeRow[] = [];

  /** The rows after a revision. */
  rowsAt(revision: number): ReadonlyMap<string, string> {
    const rows = new Map<string, string>();
    for (const change of this.changes) {
      if (change.revision > revision) break;
      if (change.op === "DROP") rows.delete(change.row_key);
      else rows.set(change.row_key, change.row_json);
    }
    return rows;
  }

  next(revision: number): ChangeRow | undefined {
    return this.changes.find((change) => change.revision > revision);
  }
}

export class CatalogSubscriber {
  readonly #name: string;
  readonly #log: TableLog;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  revision: WatchEvent["revision"] | undefined;

  constructor(name: string, log: TableLog, verdict: Verdict, counters: Counters) {
    this.#name = name;
    this.#log = log;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  apply(event: WatchEvent): void {
    if (event.type === "SNAPSHOT") {
      this.#counters.add("streams: watch snapshot");
      const rows = this.#log.rowsAt(event.revision);
      const isSame =
        rows.size === event.data.length &&
        event.data.every((row) => rows.get(String(row.query_id)) === JSON.stringify(row));
      this.#verdict.require(isSame, "I48", () => {
        return `${this.#name} got another snapshot than the table of revision ${event.revision}`;
      });
    } else {
      this.#counters.add("streams: watch event");
      const next = this.#log.next(this.revision ?? 0);
      const isNext =
        next?.revision === event.revision && next.op === event.op && next.row_key === event.key;
      this.#verdict.require(isNext, "I48", () => {
        return `${this.#name} got revision ${event.revision}, and ${next?.revision} follows ${this.revision}`;
      });
      const isSame = event.op === "DROP" || next?.row_json === JSON.stringify(event.data);
      this.#verdict.require(isSame, "I48", () => {
        return `${this.#name} got another row than the log has at revision ${event.revision}`;
      });
    }
    this.revision = event.revision;
  }

  isCaughtUp(): boolean {
    return this.#log.next(this.revision ?? 0) === undefined;
  }
}
