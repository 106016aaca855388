/** Which tables are shown, and in which order. Pure. */
import type { DynamicTable, LakeTable } from "../../api/table-types.ts";
import {
  conditionOf,
  conditions,
  lagOf,
  lagRatioOf,
  reasonOf,
  severityOf,
  type TableCondition,
} from "./table-condition.ts";

/** A table of the lake, and what makes it dynamic if it is. */
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

type Value = string | number | null | undefined;

const sortValue: Readonly<Record<SortKey, (listed: ListedTable, nowMs: number) => Value>> = {
  name: ({ name }) => name,
  state: ({ dynamic }) => (dynamic === undefined ? conditions.length : severityOf(dynamic)),
  lag: ({ dynamic }, nowMs) => dynamic && (lagRatioOf(dynamic, nowMs) ?? lagOf(dynamic, nowMs)),
  target: ({ dynamic }) => dynamic?.effective_target_lag_ms,
  mode: ({ dynamic }) => dynamic?.mode,
  refreshed: ({ dynamic }) => dynamic?.last_refresh?.at_ms,
  rows: ({ table }) => table?.row_count,
  size: ({ table }) => table?.size_bytes,
};

/** Addresses are typed by people too. */
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
  return listed
    .filter((each) => matches(each, view))
    .toSorted((a, b) => order(a, b, view, nowMs) || collator.compare(a.name, b.name));
}

/** What is not known comes last, in either direction. */
function order(a: ListedTable, b: ListedTable, view: TablesView, nowMs: number): number {
  const left = sortValue[view.sort](a, nowMs) ?? undefined;
  const right = sortValue[view.sort](b, nowMs) ?? undefined;
  if (left === undefined || right === undefined) {
    return Number(left === undefined) - Number(right === undefined);
  }
  const ascending =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : collator.compare(String(left), String(right));
  return view.descending ? -ascending : ascending;
}

const collator = new Intl.Collator("en", { numeric: true });

/** Dynamic tables, and the plain ones that they read: what nobody reads has no place in a graph. */
export function graphTables(listed: readonly ListedTable[]): readonly ListedTable[] {
  return listed.filter(
    ({ table, dynamic }) => dynamic !== undefined || table?.readers.length !== 0,
  );
}
