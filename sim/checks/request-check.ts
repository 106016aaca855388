/**
 * I21: after a request, the table reaches a snapshot that was chosen later and has everything
 * committed before. Until then the store owes it. Suspending, dropping or replacing a table ends
 * its requests.
 */
import type { Counters } from "./counters.ts";
import { isRunning, type TableRow, type TablesState } from "./tables-state.ts";
import type { Verdict } from "./verdict.ts";

interface Request {
  readonly atMs: number;
  /** The lake's newest snapshot at the request. */
  readonly snapshot: number;
}

export class RequestCheck {
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #open = new Map<string, Request[]>();

  constructor(verdict: Verdict, counters: Counters) {
    this.#verdict = verdict;
    this.#counters = counters;
  }

  changed(before: TablesState, after: TablesState): void {
    for (const name of this.#open.keys()) {
      if (!after.tables.has(name)) this.#open.delete(name);
    }
    for (const row of after.tables.values()) this.#follow(before, after, row);
  }

  #follow(before: TablesState, after: TablesState, row: TableRow): void {
    const { dynamic_table: name, table_id } = row;
    const isSame = before.tables.get(name)?.table_id === table_id;
    if (!isSame || !isRunning(row)) this.#open.delete(name);
    if (!isRunning(row)) return;
    const pending = after.pendings.get(name);
    const asked = pending?.request_seq ?? 0;
    const askedBefore = isSame ? (before.pendings.get(name)?.request_seq ?? 0) : 0;
    let open = this.#open.get(name) ?? [];
    if (asked > askedBefore) {
      this.#counters.add("tables: request");
      open = [...open, { atMs: Math.trunc(after.nowMs), snapshot: before.snapshot }];
    }
    const left = open.filter(({ atMs, snapshot }) => {
      return atMs >= (row.data_time_ms ?? -1) || snapshot > (row.data_snapshot ?? -1);
    });
    this.#counters.add("tables: request satisfied", open.length - left.length);
    this.#open.set(name, left);
    const isOwed = pending !== undefined && pending.request_seq > pending.done_seq;
    const [first] = left;
    this.#verdict.require(first === undefined || isOwed, "I21", () => {
      const data = `as of ${row.data_snapshot}, ${row.data_time_ms} ms`;
      return `${name}, ${data}, owes nothing, and was asked for at ${first?.snapshot}, ${first?.atMs} ms`;
    });
  }
}
