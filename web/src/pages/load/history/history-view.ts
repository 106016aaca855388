/** Which runs are listed: the view in the address, and the API request for it. Pure. */

import type { LoadMode, RunStatus } from "../../../api/gen/types.ts";
import { isTerminal } from "../../../api/load.ts";

export type StatusGroup = "all" | "running" | "completed" | "failed" | "cancelled" | "prepared";
export type Since = "all" | "hour" | "day" | "week" | "month";

export interface HistoryView {
  readonly text: string;
  readonly status: StatusGroup;
  /** A template's id or kind; empty for any. */
  readonly template: string;
  readonly mode: LoadMode | "";
  readonly kind: string;
  readonly since: Since;
}

export const statusesOf: Readonly<Record<StatusGroup, readonly RunStatus[]>> = {
  all: [],
  running: ["RUNNING", "STOPPING", "CANCELLING"],
  completed: ["COMPLETED"],
  failed: ["FAILED"],
  cancelled: ["CANCELLED"],
  prepared: ["PREPARED"],
};

export const modeNames: Readonly<Record<LoadMode, string>> = {
  CONCURRENCY: "Connections",
  QPS: "Rate",
  FIND_MAX_CONCURRENCY: "Find maximum",
};

export const targetKinds: readonly string[] = [
  "postgres",
  "mysql",
  "sqlite",
  "duckdb",
  "snowflake",
  "http",
];

const hourMs = 3_600_000;
const sinceMs: Readonly<Record<Exclude<Since, "all">, number>> = {
  hour: hourMs,
  day: 24 * hourMs,
  week: 7 * 24 * hourMs,
  month: 30 * 24 * hourMs,
};

export const everything: HistoryView = {
  text: "",
  status: "all",
  template: "",
  mode: "",
  kind: "",
  since: "all",
};

export function isFiltered(view: HistoryView): boolean {
  return Object.keys(searchOf(view)).length > 0;
}

/** People type addresses, too: invalid values are ignored. */
export function viewOf(search: URLSearchParams): HistoryView {
  const known = <T extends string>(name: string, values: object, usual: T): T => {
    const value = search.get(name);
    return value !== null && Object.hasOwn(values, value) ? (value as T) : usual;
  };
  const kind = search.get("kind") ?? "";
  return {
    text: search.get("q") ?? "",
    status: known<StatusGroup>("status", statusesOf, "all"),
    template: search.get("template") ?? "",
    mode: known<LoadMode | "">("mode", modeNames, ""),
    kind: targetKinds.includes(kind) ? kind : "",
    since: known<Since>("since", sinceMs, "all"),
  };
}

/** The address parameters that differ from the default view. */
export function searchOf(view: HistoryView): Readonly<Record<string, string>> {
  return {
    ...(view.text.trim() !== "" && { q: view.text }),
    ...(view.status !== "all" && { status: view.status }),
    ...(view.template !== "" && { template: view.template }),
    ...(view.mode !== "" && { mode: view.mode }),
    ...(view.kind !== "" && { kind: view.kind }),
    ...(view.since !== "all" && { since: view.since }),
  };
}

/** The request for a page. `nowMs` is needed only for a time filter. */
export function requestOf(
  view: HistoryView,
  page: { readonly limit: number; readonly after: string },
  nowMs: number,
): string {
  const query = new URLSearchParams({ limit: String(page.limit) });
  if (page.after !== "") query.set("page_token", page.after);
  if (view.text.trim() !== "") query.set("search", view.text.trim().slice(0, 200));
  if (view.status !== "all") query.set("status", statusesOf[view.status].join(","));
  if (view.template !== "") query.set("template_id", view.template);
  if (view.mode !== "") query.set("load_mode", view.mode);
  if (view.kind !== "") query.set("target_kind", view.kind);
  if (view.since !== "all") query.set("from_ms", String(nowMs - sinceMs[view.since]));
  return `/api/tests?${query}`;
}

export const comparedMax = 10;

/** Whether the run has measurements that can be compared. */
export function isComparable(run: {
  readonly status: RunStatus;
  readonly total_operations: number;
}): boolean {
  return isTerminal(run.status) && run.total_operations > 0;
}

/** The oldest run is the base. */
export function comparePath(
  runs: readonly { readonly test_id: string; readonly created_at_ms: number }[],
): string {
  const ids = runs
    .toSorted((a, b) => a.created_at_ms - b.created_at_ms)
    .map(({ test_id: id }) => encodeURIComponent(id));
  return `/load/compare?ids=${ids.join(",")}`;
}
