/**
 * People who use the lake and its dynamic tables, by way of a controller, as its statements do.
 * What they are refused is counted; what was promised to them is checked.
 */

import type {
  Commit,
  LakeStore,
  LakeTable,
  TableId,
  TableVersion,
} from "../../src/data/lake/index.ts";
import type { LakeWrite } from "../../src/data/lake/statements/lake-write.ts";
import { isInDoubt, runWrite, type WriteDeps } from "../../src/data/lake/statements/run-write.ts";
import { assert, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { QueryId } from "../../src/ground/kernel/ids.ts";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import type { Store } from "../../src/ground/store/index.ts";
import type { TableDefinition } from "../../src/kinds/refresh/index.ts";
import {
  createDynamicTable,
  dropDynamicTable,
  readDynamicTables,
  replaceDynamicTable,
  requestRefresh,
  setTargetLag,
} from "../../src/kinds/refresh/store/definitions.ts";
import { resumeTable, suspendTable } from "../../src/kinds/refresh/store/suspension.ts";
import type { ContentsCheck } from "../checks/contents-check.ts";
import type { Counters } from "../checks/counters.ts";
import type { Life } from "../engine/life.ts";
import { formatDefinition } from "./definition.ts";
import { dynamicCount, type PlannedTable, type TableAction } from "./plan-tables.ts";
import type { RowChoice } from "./sim-lake-writer.ts";
import type { ObjectLink } from "./sim-objects.ts";

/** What a controller's life offers to these clients. */
export interface TableService {
  readonly life: Life;
  readonly store: Store;
  readonly catalog: LakeStore;
  readonly objects: ObjectLink;
  readonly manager: WriteDeps["manager"];
}

const writeMsMax = 40_000;

export class TableClients {
  readonly #plainCount: number;
  readonly #contents: ContentsCheck;
  readonly #counters: Counters;
  #count = 0;
  #values = 0;

  constructor(plainCount: number, contents: ContentsCheck, counters: Counters) {
    this.#plainCount = plainCount;
    this.#contents = contents;
    this.#counters = counters;
  }

  /** `done` is told whether it succeeded. */
  act(
    service: TableService,
    action: TableAction,
    done: (code: string) => void = () => undefined,
  ): void {
    const { life } = service;
    this.#perform(life, action.kind, done, () => this.#act(service, action));
  }

  createPlain(service: TableService, index: number, done: (code: string) => void): void {
    const create = async (): Promise<void> => {
      await service.catalog.declareDataPath("/lake/");
      const { snapshot } = await service.catalog.current();
      await service.catalog.commit(this.#commit(snapshot, [createTable(`p${index}`, false)]));
    };
    this.#perform(service.life, "table_plain", done, create);
  }

  /** Resumes the tables that a person suspended. */
  async resumeHeld({ store }: TableService): Promise<void> {
    const tables = await store.read(({ db }) =>
      db
        .selectFrom("dynamic_tables")
        .select("table_id")
        .where("status", "=", "SUSPENDED")
        .where("failing_since_ms", "is", null)
        .where("suspended_by", "is", null)
        .execute(),
    );
    // What reads a suspended table is not resumed before that is; a replaced table may come after
    // its readers.
    for (const _ of tables) {
      for (const { table_id } of tables) {
        const tableId = table_id as TableId;
        await store.catalogTransaction((tx) => resumeTable(tx, tableId)).catch(ignoreRefusal);
      }
    }
  }

  /** Adds a row to every plain table. */
  async changeAll(service: TableService): Promise<void> {
    for (let table = 0; table < this.#plainCount; table += 1) {
      await this.#write(service, { kind: "table_insert", controller: 0, table, rows: 1 });
    }
  }

  /** Refreshes everything, as an operator does after an incident. */
  async reviveAll({ store }: TableService): Promise<void> {
    const tables = await store.read(readDynamicTables);
    for (const { tableId } of tables) {
      await store.catalogTransaction((tx) => requestRefresh(tx, tableId)).catch(ignoreRefusal);
    }
  }

  async suspendAll({ store }: TableService): Promise<void> {
    for (const { tableId } of await store.read(readDynamicTables)) {
      await store.catalogTransaction((tx) => suspendTable(tx, tableId, "the end"));
    }
  }

  #perform(life: Life, what: string, done: (code: string) => void, act: () => Promise<void>): void {
    const run = async (): Promise<void> => {
      try {
        await act();
        this.#counters.add(`${what}: done`);
        done("done");
      } catch (thrown) {
        if (!(thrown instanceof OperatingError)) throw thrown;
        this.#counters.add(`${what}: ${thrown.code}`);
        done(thrown.code);
      }
    };
    life.receive(() => void run());
  }

  async #act(service: TableService, action: TableAction): Promise<void> {
    const { store, catalog } = service;
    switch (action.kind) {
      case "table_insert":
      case "table_change":
        await this.#write(service, action);
        return;
      case "table_create":
      case "table_replace":
        await this.#create(service, action, action.kind === "table_replace");
        return;
      default:
    }
    const { tableId } = await this.#find(service, action.table);
    switch (action.kind) {
      case "table_request":
        await store.catalogTransaction((tx) => requestRefresh(tx, tableId));
        return;
      case "table_suspend":
        await store.catalogTransaction((tx) => suspendTable(tx, tableId, "by request"));
        return;
      case "table_resume":
        await store.catalogTransaction((tx) => resumeTable(tx, tableId));
        return;
      case "table_lag": {
        const { lagMs } = action;
        await store.catalogTransaction((tx) => setTargetLag(tx, tableId, lagOf(lagMs)));
        return;
      }
      case "table_drop": {
        const { snapshot } = await catalog.current();
        await store.catalogTransaction(async (tx) => {
          await dropDynamicTable(tx, tableId, catalog);
          await catalog.commitIn(tx, this.#commit(snapshot, [{ kind: "dropTable", tableId }]));
        });
      }
    }
  }

  async #create(service: TableService, planned: PlannedTable, orReplace: boolean): Promise<void> {
    const { store, catalog } = service;
    const { table, sources, salt, lagMs, mode, initialize } = planned;
    const name = `d${table}`;
    const names = new Set(sources.map((source) => this.#sourceName(source, table)));
    const [existing, ...versions] = await this.#resolve(catalog, [name, ...names]);
    if (existing !== undefined && !orReplace) {
      throw new OperatingError("already_exists", "never", `there is a table ${name}`);
    }
    const found = versions.filter((version) => version !== undefined);
    const [first] = found;
    if (first === undefined || found.length < names.size) {
      throw new OperatingError("not_found", "never", `${name} reads what is not there`);
    }
    await store.catalogTransaction(async (tx) => {
      const change = createTable(name, existing !== undefined);
      const { tableIds } = await catalog.commitIn(tx, this.#commit(first.snapshot, [change]));
      const [tableId] = tableIds;
      assert(tableId !== undefined, "a table that was created has an id");
      const definition: TableDefinition = {
        tableId,
        schema: "main",
        name,
        definition: formatDefinition({ salt }),
        targetLag: lagOf(lagMs),
        modeWish: mode,
        mode: "FULL",
        modeReason: "",
        isVolatile: false,
        sources: found.map((version) => version.table.tableId),
        initialize,
      };
      if (existing === undefined) await createDynamicTable(tx, definition);
      else {
        const before = existing.table;
        await replaceDynamicTable(tx, before.tableId, definition, undefined, catalog);
      }
    });
  }

  async #write(
    service: TableService,
    action: Extract<TableAction, { kind: "table_insert" | "table_change" }>,
  ): Promise<void> {
    const { life, catalog, objects, manager } = service;
    const name = `p${action.table % this.#plainCount}`;
    this.#count += 1;
    const rows = action.kind === "table_insert" ? action.rows : action.isUpdate ? 8 : 0;
    const values = Array.from({ length: rows }, () => this.#nextValue());
    let tableId: TableId | undefined;
    const attempt = async () => {
      const [version] = await this.#resolve(catalog, [name]);
      if (version === undefined) {
        throw new OperatingError("not_found", "never", `there is no table ${name}`);
      }
      const id = version.table.tableId;
      tableId = id;
      const write = writeOf(version, action, values, this.#count);
      return {
        write,
        readSnapshot: version.snapshot,
        changes: ({ added, deletes, ended }: Written): Commit["changes"] => [
          { kind: "changeRows", tableId: id, added, deletes, ended, isCompaction: false },
        ],
      };
    };
    const queryId = `w-${this.#count}` as QueryId;
    const request = { queryId, text: name, deadlineMs: writeMsMax, attempt };
    const prng = createPrng(queryId);
    const clock = life;
    const deps = { manager, catalog, objects, clock, prng, logger: silentLogger };
    try {
      const { written, committed } = await runWrite(deps, request, new AbortController().signal);
      if (committed === undefined || tableId === undefined) return;
      const there = values.slice(0, written.insertedCount);
      this.#contents.writeEnded(tableId, there, committed.snapshot);
    } catch (thrown) {
      const isKnown = thrown instanceof OperatingError && !isInDoubt(thrown);
      if (isKnown && tableId !== undefined) this.#contents.writeEnded(tableId, values, undefined);
      throw thrown;
    }
  }

  #nextValue(): number {
    this.#values += 1;
    return this.#values;
  }

  /** A plain table, or a dynamic one below `table`. */
  #sourceName(source: number, table: number): string {
    const index = source % (this.#plainCount + table);
    return index < this.#plainCount ? `p${index}` : `d${index - this.#plainCount}`;
  }

  async #find(service: TableService, table: number): Promise<LakeTable> {
    const name = `d${table % dynamicCount}`;
    const [found] = await this.#resolve(service.catalog, [name]);
    if (found === undefined) {
      throw new OperatingError("not_found", "never", `there is no dynamic table ${name}`);
    }
    return found.table;
  }

  /** All files of one snapshot; undefined when the table does not exist. */
  async #resolve(
    catalog: LakeStore,
    names: readonly string[],
  ): Promise<readonly (TableVersion | undefined)[]> {
    const tables = await catalog.tables();
    const known = names.filter((name) => tables.some((table) => table.name === name));
    const versions = await catalog.resolve(
      known.map((name) => ({ schema: "main", name, moment: { kind: "current" } })),
    );
    return names.map((name) => versions[known.indexOf(name)]);
  }

  #commit(readSnapshot: Commit["readSnapshot"], changes: Commit["changes"]): Commit {
    this.#count += 1;
    return { readSnapshot, token: `q-${this.#count}`, changes, author: "sim", message: "" };
  }
}

type Written = Parameters<
  Awaited<ReturnType<Parameters<typeof runWrite>[1]["attempt"]>>["changes"]
>[0];

function createTable(name: string, orReplace: boolean): Commit["changes"][number] {
  const column = { name: "value", type: "BIGINT", nullable: true, defaultValue: undefined };
  return { kind: "createTable", schema: "main", name, columns: [column], files: [], orReplace };
}

function lagOf(ms: number): TableDefinition["targetLag"] {
  return ms === 0 ? { kind: "downstream" } : { kind: "time", ms };
}

function writeOf(
  version: TableVersion,
  action: Extract<TableAction, { kind: "table_insert" | "table_change" }>,
  values: readonly number[],
  turn: number,
): LakeWrite {
  const { table } = version;
  if (action.kind === "table_insert") {
    const query = { sql: JSON.stringify(values), tables: [] };
    return { op: "insert", table, columns: ["value"], query };
  }
  const { divisor, isUpdate } = action;
  const choice: RowChoice = { divisor, rest: turn % divisor, values };
  const bound = { schema: table.schema, name: table.name, version };
  return {
    op: isUpdate ? "update" : "delete",
    query: { sql: JSON.stringify(choice), tables: [bound] },
  };
}

function ignoreRefusal(thrown: unknown): void {
  if (!(thrown instanceof OperatingError) || thrown.retry !== "never") throw thrown;
}
