/**
 * Checks I18 and I19, by the database's clock. A claim ends by its holder, with its session, or
 * when its time is over, and not before.
 */
import type { Counters } from "./counters.ts";
import {
  type ClaimRow,
  isRunning,
  type TableRow,
  type TablesReader,
  type TablesState,
} from "./tables-state.ts";
import type { Verdict } from "./verdict.ts";

export class PublishCheck {
  readonly #reader: TablesReader;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #tokens = new Set<number>();
  readonly #targets = new Set<string>();

  constructor(reader: TablesReader, verdict: Verdict, counters: Counters) {
    this.#reader = reader;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  /** The tables that the transaction between the two states refreshed. */
  changed(before: TablesState, after: TablesState): readonly TableRow[] {
    this.#checkTokens(before, after);
    const moved: TableRow[] = [];
    for (const row of after.tables.values()) {
      const old = before.tables.get(row.dynamic_table);
      const isSame = old?.table_id === row.table_id;
      if (isSame && row.data_time_ms === old.data_time_ms) continue;
      if (row.data_snapshot === null) continue;
      if (isSame) this.#checkForward(old, row);
      moved.push(row);
      this.#checkPublication(before, row, after.nowMs);
    }
    for (const claim of before.claims.values()) this.#checkEnd(claim, after);
    return moved;
  }

  /** The holder, who asked at `sentMs`, is told that its claim holds for another lease. */
  extended(state: TablesState, token: number, sentMs: number, leaseMs: number): void {
    const claim = state.claims.values().find((each) => each.token === token);
    if (claim === undefined) return;
    this.#counters.add("tables: claim extended");
    this.#verdict.require(claim.expires_at_ms >= Math.trunc(sentMs) + leaseMs, "I18", () => {
      return `${claim.dynamic_table}'s claim ${token} was extended, and ends at ${claim.expires_at_ms} ms`;
    });
  }

  #checkTokens(before: TablesState, after: TablesState): void {
    this.#verdict.require(after.fence >= before.fence, "I19", () => {
      return `the fence went from ${before.fence} to ${after.fence}`;
    });
    for (const { dynamic_table, token } of after.claims.values()) {
      if (before.claims.get(dynamic_table)?.token === token) continue;
      this.#counters.add("tables: claim");
      this.#verdict.require(token > before.fence && token <= after.fence, "I19", () => {
        return `${dynamic_table} was claimed with ${token}, the fence was ${before.fence}`;
      });
    }
  }

  #checkForward(old: TableRow, row: TableRow): void {
    for (const column of ["data_snapshot", "data_time_ms", "published_snapshot"] as const) {
      const [was, is] = [old[column] ?? 0, row[column] ?? 0];
      this.#verdict.require(is >= was, "I19", () => {
        return `${column} of ${row.dynamic_table} went from ${was} to ${is}`;
      });
    }
  }

  #checkPublication(before: TablesState, row: TableRow, nowMs: number): void {
    const { dynamic_table: name, table_id, data_snapshot } = row;
    const ended = this.#reader.readLastEnd(name);
    if (ended === undefined || ended.token === 0) {
      this.#counters.add("tables: unchanged");
      return;
    }
    const { token, action } = ended;
    this.#counters.add(`tables: ${action}`);
    const claim = before.claims.get(name);
    this.#verdict.require(claim?.token === token, "I18", () => {
      return `${name} was published with ${token}, the claim's token was ${claim?.token}`;
    });
    const leftMs = (claim?.expires_at_ms ?? 0) - Math.trunc(nowMs);
    this.#verdict.require(leftMs > 0, "I18", () => {
      return `${name} was published ${-leftMs} ms after the claim ${token} had expired`;
    });
    this.#verdict.require(!this.#tokens.has(token), "I18", () => {
      return `${name} was published twice with ${token}`;
    });
    this.#tokens.add(token);
    const target = `${table_id}@${data_snapshot}`;
    this.#verdict.require(action === "NO_DATA" || !this.#targets.has(target), "I18", () => {
      return `${name} was published twice as of ${data_snapshot}`;
    });
    this.#targets.add(target);
  }

  /** Whoever takes a claim away before its time, but for the worker's own sake. */
  #checkEnd({ dynamic_table: name, token, expires_at_ms }: ClaimRow, after: TablesState): void {
    if (after.claims.get(name)?.token === token) return;
    const row = after.tables.get(name);
    if (row === undefined || !isRunning(row)) return;
    const ended = this.#reader.readLastEnd(name);
    if (ended?.token !== token) return; // Replaced, or a source of it was.
    if (ended.state !== "SUCCEEDED") {
      this.#counters.add(`tables: ${ended.state}, ${ended.error_code}`);
    }
    if (ended.error_code !== "worker_lost") return;
    if (ended.error_message?.startsWith("the session with") === true) {
      this.#counters.add("tables: claim freed with its session");
      return;
    }
    this.#counters.add("tables: claim expired");
    const leftMs = expires_at_ms - Math.trunc(after.nowMs);
    this.#verdict.require(leftMs <= 0, "I18", () => {
      return `the claim ${token} of ${name} was taken away ${leftMs} ms before its end`;
    });
  }
}
