/** The answer of `SHOW QUERY name`: what the catalog says of one query, a line for each thing. */
import type { FragmentBody, QueryDetailBody, StateChangeBody } from "../core/bodies.ts";

type Line = readonly [what: string, value: string];

/** The newest changes of its state that are shown; the API has all of them. */
const changesShown = 10;

export const queryColumns = ["what", "value"];

export function queryLines(query: QueryDetailBody): readonly Line[] {
  const { name, query_id, state, detail, state_reason, error, superseded_by } = query;
  return [
    ["query", name === null ? query_id : `${name} (id ${query_id})`],
    ["state", `${detail === null ? state : `${state} (${detail})`}: ${state_reason}`],
    ...(error === null ? [] : [["error", errorText(error)] as const]),
    ...(superseded_by === null ? [] : [["replaced by", superseded_by] as const]),
    ["wanted", wantedOf(query)],
    ["guarantee", query.guarantee],
    ["epoch", `${query.epoch}`],
    ["reads", readsOf(query)],
    ["writes", query.sinks.join(", ")],
    ...query.deployed.map((each): Line => [`fragment ${each.fragment}`, fragmentText(each)]),
    ...query.history
      .slice(-changesShown)
      .map((each): Line => [timeOf(each.at_ms), changeText(each)]),
    ...query.statement.split("\n").map((line, at): Line => [at === 0 ? "statement" : "", line]),
  ];
}

/** A statement as one short line, for lists. */
export function shortStatement(statement: string): string {
  const line = statement.replace(/\s+/g, " ").trim();
  return line.length <= shortMax ? line : `${line.slice(0, shortMax - 1)}…`;
}

const shortMax = 80;

function wantedOf({ desired_state, stop_mode }: QueryDetailBody): string {
  return stop_mode === null ? desired_state : `${desired_state} (${stop_mode})`;
}

function readsOf({ logical_sources, physical_sources }: QueryDetailBody): string {
  const which = physical_sources.length === 1 ? "physical source" : "physical sources";
  const read = physical_sources.length === 0 ? "" : ` (${which} ${physical_sources.join(", ")})`;
  return `${logical_sources.join(", ")}${read}`;
}

function errorText({ code, number, worker_id }: NonNullable<QueryDetailBody["error"]>): string {
  const what = number === null ? code : `${code}, number ${number}`;
  return worker_id === null ? what : `${what}, on ${worker_id}`;
}

function fragmentText({ state, worker_id, is_pinned, state_reason }: FragmentBody): string {
  const where = is_pinned ? `${worker_id}, where it has to stay` : worker_id;
  return `${state} on ${where}${state === "FAILED" ? `: ${state_reason}` : ""}`;
}

function changeText({ from_state, to_state, reason }: StateChangeBody): string {
  const from = from_state === "NONE" ? "" : `${from_state} → `;
  return `${from}${to_state ?? "removed"}: ${reason}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
