/**
 * Reads the database itself after every transaction and checks I1, I6 and the first half of I7.
 * Subscribers are compared with `stateAt`.
 */
import type { LeaseGrant, WorkersTable } from "../../src/ground/store/index.ts";
import type { Counters } from "./counters.ts";
import type { Verdict } from "./verdict.ts";

export type WorkerRow = WorkersTable;

/** Access to the database without a `Store`. */
export interface RawDatabase {
  rows(text: string): Readonly<Record<string, unknown>>[];
}

export interface ChangeRow {
  readonly revision: number;
  readonly table_name: string;
  readonly row_key: string;
  readonly op: "CREATE" | "UPDATE" | "DROP";
  readonly row_json: string;
}

interface LeaseRow {
  readonly holder: string;
  readonly epoch: number;
  readonly expires_at_ms: number;
}

/** Rows by worker, as JSON, so that equal rows are equal text. */
export type TableState = ReadonlyMap<string, string>;

/** More than any transaction makes. A constant text, so that it is prepared once. */
const newestChanges = `
  SELECT * FROM (SELECT revision, table_name, row_key, op, row_json FROM catalog_changes ORDER BY revision DESC LIMIT 256)
  ORDER BY revision`;

export class StoreAudit {
  readonly #database: RawDatabase;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #nowMs: () => number;
  readonly #states: TableState[] = [new Map()];
  #rows = new Map<string, WorkerRow>();
  readonly #changedMs = new Map<string, number>();
  #lastChangeMs = 0;
  #claimed: LeaseGrant | undefined;
  #lease: LeaseRow | undefined;
  #newestWriteEpoch = 0;
  /** Called after every commit that changed a row. */
  onRows: () => void = () => undefined;
  /** Called with every change of another table. */
  onOther: (change: ChangeRow) => void = () => undefined;

  constructor(database: RawDatabase, verdict: Verdict, counters: Counters, nowMs: () => number) {
    this.#database = database;
    this.#verdict = verdict;
    this.#counters = counters;
    this.#nowMs = nowMs;
  }

  get rows(): ReadonlyMap<string, WorkerRow> {
    return this.#rows;
  }

  get revision(): number {
    return this.#states.length - 1;
  }

  get leaseEpoch(): number {
    return this.#lease?.epoch ?? 0;
  }

  /** When a row last changed. */
  changedMs(workerId: string): number {
    return this.#changedMs.get(workerId) ?? 0;
  }

  /** When any row last changed. */
  get lastChangeMs(): number {
    return this.#lastChangeMs;
  }

  /** The table after `revision`. */
  stateAt(revision: number): TableState | undefined {
    return this.#states[revision];
  }

  /** Whether no worker's row changed after `seen` and before `revision`. */
  isNextChange(seen: number, revision: number): boolean {
    return revision > seen && this.#states[revision - 1] === this.#states[seen];
  }

  begins(lease: LeaseGrant | undefined): void {
    this.#claimed = lease;
  }

  ended(isCatalog: boolean): void {
    this.#auditLease();
    if (!isCatalog) return;
    const found = this.#database.rows("SELECT revision FROM catalog_revision")[0];
    const revision = found?.revision as number;
    if (revision !== this.revision) this.#auditChanges(revision);
  }

  #auditLease(): void {
    const lease = this.#database.rows(
      "SELECT holder, epoch, expires_at_ms FROM coordinator_leases",
    )[0] as unknown as LeaseRow | undefined;
    const before = this.#lease;
    this.#lease = lease;
    if (lease === undefined || lease.epoch === before?.epoch) return;
    this.#counters.add("lease granted");
    if (before === undefined) return;
    this.#verdict.require(lease.epoch === before.epoch + 1, "I6", () => {
      return `the lease's epoch went from ${before.epoch} to ${lease.epoch}`;
    });
    if (lease.holder === before.holder) return;
    this.#counters.add("takeover");
    this.#verdict.require(before.expires_at_ms <= Math.trunc(this.#nowMs()), "I6", () => {
      return `${lease.holder} took the lease from ${before.holder}, whose lease had not expired`;
    });
  }

  #auditChanges(revision: number): void {
    const changes = this.#database.rows(newestChanges) as unknown as ChangeRow[];
    let isOfWorkers = false;
    for (const change of changes) {
      if (change.revision !== this.revision + 1) continue;
      if (change.table_name === "workers") {
        isOfWorkers = true;
        this.#apply(change);
      } else {
        this.#states.push(this.#states.at(-1) as TableState);
        this.onOther(change);
      }
    }
    if (isOfWorkers) this.#auditClaim(revision);
    this.#verdict.require(this.revision === revision, "I7", () => {
      return `the store is at revision ${revision}, its log ends with ${this.revision}`;
    });
    if (!isOfWorkers) return;
    const table = this.#database.rows("SELECT * FROM workers") as unknown as WorkerRow[];
    const logged = this.#states.at(-1) ?? new Map();
    const isSame =
      table.length === logged.size &&
      table.every((row) => logged.get(row.worker_id) === JSON.stringify(row));
    this.#verdict.require(
      isSame,
      "I7",
      () => `the log and the table differ at revision ${revision}`,
    );
    this.#rows = new Map(table.map((row) => [row.worker_id, row]));
    this.onRows();
  }

  #auditClaim(revision: number): void {
    const claimed = this.#claimed;
    if (claimed === undefined) {
      this.#verdict.fail("I6", `revision ${revision} was written without a lease`);
      return;
    }
    const newest = Math.max(this.#newestWriteEpoch, this.leaseEpoch);
    this.#verdict.require(claimed.epoch >= newest, "I6", () => {
      return `revision ${revision} was written under epoch ${claimed.epoch}, the newest is ${newest}`;
    });
    this.#newestWriteEpoch = Math.max(this.#newestWriteEpoch, claimed.epoch);
  }

  #apply({ revision, row_key: key, op, row_json: json }: ChangeRow): void {
    const state = new Map(this.#states.at(-1));
    const before = state.get(key);
    const row = JSON.parse(json) as WorkerRow;
    this.#counters.add(`row ${op}`);
    this.#lastChangeMs = this.#nowMs();
    this.#changedMs.set(key, this.#lastChangeMs);
    this.#verdict.require((op === "CREATE") === (before === undefined), "I1", () => {
      return `revision ${revision}: ${op} of ${key}, which ${before === undefined ? "did not exist" : "existed"}`;
    });
    if (op === "CREATE") this.#auditCreate(row);
    if (op === "UPDATE" && before !== undefined) this.#auditUpdate(JSON.parse(before), row);
    if (op === "DROP") {
      this.#verdict.require(before === json, "I1", () => `the DROP of ${key} shows another row`);
      state.delete(key);
    } else state.set(key, json);
    this.#states.push(state);
  }

  #auditCreate(row: WorkerRow): void {
    this.#verdict.require(row.state === "UNREACHABLE", "I1", () => {
      return `${row.worker_id} was registered as ${row.state}, before it answered`;
    });
  }

  #auditUpdate(before: WorkerRow, after: WorkerRow): void {
    const name = before.worker_id;
    if (before.state !== after.state) {
      this.#counters.add(`row ${before.state} to ${after.state}`);
      this.#verdict.require(after.state_changed_at_ms >= before.state_changed_at_ms, "I1", () => {
        return `${name} changed its state before its last change`;
      });
    }
    this.#verdict.require(before.registered_at_ms <= after.registered_at_ms, "I1", () => {
      return `${name} was registered earlier than it was`;
    });
    const isKnown = before.incarnation === after.incarnation || after.incarnation !== "";
    this.#verdict.require(isKnown, "I1", () => `${name} lost its incarnation`);
  }
}
