/** Which queries are shown, and in which order. Pure. */
import type { StreamQuery } from "../../api/gen/types.ts";
import { compareNames, compareValues, type SortValue } from "../../components/sort-order.ts";
import { conditionOf, type QueryCondition, reasonOf, severityOf } from "./query-condition.ts";

export type SortKey = "name" | "state" | "changed" | "created" | "fragments";

export interface QueriesView {
  readonly text: string;
  readonly condition: QueryCondition | "all";
  readonly sort: SortKey;
  readonly descending: boolean;
}

const sortValue: Readonly<Record<SortKey, (query: StreamQuery) => SortValue>> = {
  name: ({ name, query_id }) => name ?? query_id,
  state: severityOf,
  changed: ({ state_changed_at_ms }) => state_changed_at_ms,
  created: ({ created_at_ms }) => created_at_ms,
  fragments: fragmentCount,
};

/** People type addresses, too. */
export function parseSortKey(text: string): SortKey | undefined {
  return Object.hasOwn(sortValue, text) ? (text as SortKey) : undefined;
}

export function fragmentCount({ fragments }: Pick<StreamQuery, "fragments">): number {
  return Object.values(fragments).reduce((sum, count) => sum + count, 0);
}

export function nameOf({ name, query_id }: Pick<StreamQuery, "name" | "query_id">): string {
  return name ?? query_id;
}

function matches(query: StreamQuery, { text, condition }: QueriesView): boolean {
  if (condition !== "all" && conditionOf(query) !== condition) return false;
  const wanted = text.trim().toLowerCase();
  const words = [nameOf(query), query.query_id, reasonOf(query), query.statement];
  return words.some((word) => word.toLowerCase().includes(wanted));
}

export function listQueries(
  queries: readonly StreamQuery[],
  view: QueriesView,
): readonly StreamQuery[] {
  const value = sortValue[view.sort];
  return queries
    .filter((query) => matches(query, view))
    .toSorted(
      (a, b) =>
        compareValues(value(a), value(b), view.descending) || compareNames(nameOf(a), nameOf(b)),
    );
}
