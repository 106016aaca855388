/** A catalog on any database, for the contract suite. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { openFresh, type StoreFixture } from "../../../ground/store/testing/store-fixture.ts";
import { checkLake } from "../core/check-lake.ts";
import type { Commit, NewColumn, NewDataFile, TableChange } from "../core/commit.ts";
import type { FileId, TableId } from "../core/model.ts";
import { LakeStore } from "../store/lake-store.ts";
import { readLakeRows } from "../store/read-lake-rows.ts";
import { statisticsOf } from "./model-lake.ts";

let names = 0;
export function newName(): string {
  names += 1;
  return `n${names}`;
}

export const idColumn: NewColumn = {
  name: "id",
  type: "BIGINT",
  nullable: true,
  defaultValue: undefined,
};

export function newFile(
  directory: string,
  values: readonly number[],
  rowIds: "fresh" | "inFile" = "fresh",
): NewDataFile {
  return {
    path: `${directory}${newName()}.parquet`,
    recordCount: values.length,
    sizeBytes: 100,
    footerSize: 10,
    columns: [statisticsOf(1, values)],
    rowIds,
  };
}

export function rowChange(
  tableId: TableId,
  change: Partial<Extract<TableChange, { readonly kind: "changeRows" }>>,
): TableChange {
  const empty = { added: [], deletes: [], ended: [], isCompaction: false };
  return { kind: "changeRows", tableId, ...empty, ...change };
}

export function create(
  name: string,
  more: Partial<Extract<TableChange, { kind: "createTable" }>> = {},
) {
  const empty = { schema: "main", columns: [idColumn], files: [], orReplace: false };
  return { kind: "createTable", name, ...empty, ...more } as const;
}

/** A reference to a current table. */
export function named(name: string, more = {}) {
  return { schema: undefined, name, moment: { kind: "current" }, ...more } as const;
}

/** A new catalog, with helpers for tests. */
export async function openCatalog(fixture: StoreFixture, t: TestContext) {
  const { store, place } = await openFresh(fixture, t);
  const catalog = new LakeStore({ store, prng: createPrng("contract") });
  await catalog.declareDataPath("/lake/");
  const commit = async (changes: readonly TableChange[], more: Partial<Commit> = {}) => {
    const readSnapshot = more.readSnapshot ?? (await catalog.current()).snapshot;
    const base = { readSnapshot, token: newName(), changes, author: "me", message: "" };
    return await catalog.commit({ ...base, ...more });
  };
  /** A table with two files of five rows. */
  const createOrders = async () => {
    const files = [
      newFile("main/orders/", [1, 2, 3, 4, 5]),
      newFile("main/orders/", [6, 7, 8, 9, 10]),
    ];
    const { tableIds, snapshot } = await commit([create("orders", { files })]);
    const tableId = tableIds[0] as TableId;
    const fileIds = (await catalog.version(tableId, snapshot)).files.map(({ fileId }) => fileId);
    return { tableId, snapshot, first: fileIds[0] as FileId, second: fileIds[1] as FileId };
  };
  const deletes = (dataFileId: FileId, deleteCount: number) => ({
    dataFileId,
    path: `main/orders/${newName()}-delete.parquet`,
    deleteCount,
    sizeBytes: 50,
    footerSize: 5,
  });
  const check = async (): Promise<void> => {
    assert.deepEqual(checkLake(await store.read(readLakeRows)), []);
  };
  return { store, place, catalog, commit, createOrders, deletes, check };
}
