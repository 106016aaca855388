/** Which tables are shown, and in which order. Pure. */
import type { DynamicTable, LakeTable } from "../../api/gen/types.ts";
import { compareNames, compareValues, type SortValue } from "../../components/sort-order.ts";
import {
  conditionOf,
  conditions,
  lagOf,
  lagRatioOf,
  reasonOf,
  severityOf,
  type TableCondition,
} from "./table-condition.ts";

/** A table of the lake, with its dynamic part if it is dynamic. */
export interface ListedTable {
  readonly name: string;
  readonly table: LakeTable | undefined;
  readonly dynamic: DynamicTable | undefined;
}

export type SortKey = "name" | "state" | "lag" | "target" | "mode" | "refreshed" | "rows" | "size";

export interface TablesView {
  readonly as: "graph" | "list";
  readonly text: string;
  readonly condition: TableCondition | "all";
  readonly sort: SortKey;
  readonly descending: boolean;
}

const sortValue: Readonly<Record<SortKey, (listed: ListedTable, nowMs: number) => SortValue>> = {
  name: ({ name }) => name,
  state: ({ dynamic }) => (dynamic === undefined ? conditions.length : severityOf(dynamic)),
  lag: ({ dynamic }, nowMs) => dynamic && (lagRatioOf(dynamic, nowMs) ?? lagOf(dynamic, nowMs)),
  target: ({ dynamic }) => dynamic?.effective_target_lag_ms,
  mode: ({ dynamic }) => dynamic?.mode,
  refreshed: ({ dynamic }) => dynamic?.last_refresh?.at_ms,
  rows: ({ table }) => table?.row_count,
  size: ({ table }) => table?.size_bytes,
};

/** People type addresses, too. */
export function parseSortKey(text: string): SortKey | undefined {
  return Object.hasOwn(sortValue, text) ? (text as SortKey) : undefined;
}

export function joinTables(
  tables: readonly LakeTable[],
  dynamicTables: readonly DynamicTable[],
): readonly ListedTable[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const dynamic = dynamicTables.map((each) => ({
    name: each.name,
    table: byName.get(each.name),
    dynamic: each,
  }));
  const names = new Set(dynamicTables.map(({ name }) => name));
  const plain = tables
    .filter(({ name }) => !names.has(name))
    .map((table) => ({ name: table.name, table, dynamic: undefined }));
  return [...dynamic, ...plain];
}

export function matches(listed: ListedTable, { text, condition }: TablesView): boolean {
  const { name, table, dynamic } = listed;
  if (condition !== "all" && (dynamic === undefined || conditionOf(dynamic) !== condition)) {
    return false;
  }
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return true;
  const words = [
    name,
    ...(table?.columns.map((column) => column.name) ?? []),
    ...(dynamic === undefined ? [] : [reasonOf(dynamic), dynamic.mode]),
  ];
  return words.some((word) => word.toLowerCase().includes(wanted));
}

export function listTables(
  listed: readonly ListedTable[],
  view: TablesView,
  nowMs: number,
): readonly ListedTable[] {
  const value = sortValue[view.sort];
  return listed
    .filter((each) => matches(each, view))
    .toSorted(
      (a, b) =>
        compareValues(value(a, nowMs), value(b, nowMs), view.descending) ||
        compareNames(a.name, b.name),
    );
}

/** Dynamic tables, and the plain tables that they read. Other tables are not in the graph. */
export function graphTables(listed: readonly ListedTable[]): readonly ListedTable[] {
  return listed.filter(
    ({ table, dynamic }) => dynamic !== undefined || table?.readers.length !== 0,
  );
}
