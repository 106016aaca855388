/** Who refers to what a request would drop (SC6). Each refusal lists them, and says what to do. */
import { type ErrorCode, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Tx } from "../../../../ground/store/index.ts";

const listedMax = 10;

/** A source, view or sink that a request drops. */
export interface Referred {
  readonly table: "sinks" | "physical_sources" | "logical_sources";
  readonly id: string;
  /** For people: `the sink hot`. */
  readonly label: string;
}

/**
 * Throws when something refers to it, but for queries in `going` and those that others have taken
 * the place of: these go by themselves, and then it goes with them (SC34).
 */
export async function refuseUsed(
  tx: Tx,
  { table, id, label }: Referred,
  going: ReadonlySet<string> = new Set(),
): Promise<void> {
  if (table === "logical_sources") await refuseUsedByDefinitions(tx, id, label);
  const queries = await queriesOf(tx, table, id);
  refuseQueries(
    label,
    queries.filter((query) => query.superseded_by === null && !going.has(query.query_id)),
  );
}

async function refuseUsedByDefinitions({ db }: Tx, id: string, label: string): Promise<void> {
  const physical = await db
    .selectFrom("physical_sources")
    .select(["physical_source_id", "source_type"])
    .where("source_id", "=", id)
    .where("superseded_by", "is", null)
    .orderBy("physical_source_id")
    .execute();
  refuse("ReferencedPhysicalSourceExists", label, physical, (row) => ({
    shown: `the physical source ${row.physical_source_id} (${row.source_type})`,
    drop: `DROP PHYSICAL SOURCE ${row.physical_source_id}`,
  }));
  const users = await db
    .selectFrom("logical_source_uses")
    .innerJoin("logical_sources", "logical_sources.source_id", "logical_source_uses.source_id")
    .select(["name", "kind"])
    .where("used_source_id", "=", id)
    .where("superseded_by", "is", null)
    .orderBy("name_key")
    .execute();
  refuse("ReferencedSourceExists", label, users, ({ name, kind }) => ({
    shown: `the ${kind === "VIEW" ? "view" : "source"} ${name}`,
    drop: `DROP ${kind === "VIEW" ? "VIEW" : "LOGICAL SOURCE"} ${name}`,
  }));
}

type UsingQuery = NamedQuery & { readonly superseded_by: string | null };

async function queriesOf(
  { db }: Tx,
  table: Referred["table"],
  id: string,
): Promise<readonly UsingQuery[]> {
  const columns = [
    ...["queries.query_id", "name", "state", "is_preview", "desired_state", "superseded_by"],
  ] as const;
  switch (table) {
    case "sinks":
      return await db
        .selectFrom("query_sinks")
        .innerJoin("queries", "queries.query_id", "query_sinks.query_id")
        .select(columns)
        .where("sink_id", "=", id)
        .execute();
    case "physical_sources":
      return await db
        .selectFrom("query_physical_sources")
        .innerJoin("queries", "queries.query_id", "query_physical_sources.query_id")
        .select(columns)
        .where("physical_source_id", "=", id)
        .execute();
    case "logical_sources":
      return await db
        .selectFrom("query_logical_sources")
        .innerJoin("queries", "queries.query_id", "query_logical_sources.query_id")
        .select(columns)
        .where("source_id", "=", id)
        .execute();
  }
}

/** A worker that something names, or whose fragments are not confirmed gone (SC16). */
export async function refuseUsedWorker({ db }: Tx, id: string, label: string): Promise<void> {
  const sources = await db
    .selectFrom("physical_sources")
    .select(["physical_source_id", "source_type"])
    .where("worker_id", "=", id)
    .where("superseded_by", "is", null)
    .execute();
  refuse("ReferencedSourceExists", label, sources, (row) => ({
    shown: `the physical source ${row.physical_source_id} (${row.source_type})`,
    drop: `DROP PHYSICAL SOURCE ${row.physical_source_id}`,
  }));
  const sinks = await db
    .selectFrom("sinks")
    .select("name")
    .where("worker_id", "=", id)
    .where("superseded_by", "is", null)
    .orderBy("name_key")
    .execute();
  refuse("ReferencedSinkExists", label, sinks, ({ name }) => ({
    shown: `the sink ${name}`,
    drop: `DROP SINK ${name}`,
  }));
  const queries = await db
    .selectFrom("queries")
    .select(["query_id", "name", "state", "is_preview", "desired_state"])
    .where("query_id", "in", (expressions) =>
      expressions.selectFrom("query_fragments").select("query_id").where("worker_id", "=", id),
    )
    .execute();
  refuseQueries(
    label,
    queries.filter(({ desired_state }) => desired_state !== "STOPPED"),
  );
  const owed = await db
    .selectFrom("queries")
    .innerJoin("query_cleanups", "query_cleanups.query_id", "queries.query_id")
    .select(["queries.query_id", "name", "state", "is_preview", "desired_state"])
    .where("worker_id", "=", id)
    .execute();
  const [first] = [...queries, ...owed];
  if (first === undefined) return;
  throw new OperatingError(
    "WorkerBusy",
    "backoff",
    `fragments of ${nameOf(first)}, which is ${first.state}, are not confirmed gone from ${label}`,
    { hint: "Try again when the query is gone: WATCH SELECT name, state FROM queries." },
  );
}

interface NamedQuery {
  readonly query_id: string;
  readonly name: string | null;
  readonly state: string;
  readonly desired_state: string;
  readonly is_preview: number;
}

function refuseQueries(label: string, queries: readonly NamedQuery[]): void {
  // Queries that are being dropped go by themselves, so the message names the others first.
  const inOrder = queries.toSorted((one, other) => isGoing(one) - isGoing(other));
  refuse("ReferencedQueryExists", label, inOrder, (query) => ({
    shown: `${nameOf(query)}, which is ${query.state}`,
    drop: isGoing(query) === 1 ? undefined : `DROP QUERY ${query.name ?? query.query_id}`,
  }));
}

function isGoing({ desired_state }: NamedQuery): 0 | 1 {
  return desired_state === "STOPPED" ? 1 : 0;
}

function nameOf({ query_id, name, is_preview }: NamedQuery): string {
  return is_preview === 1 ? `the preview ${query_id}` : `the query ${name ?? query_id}`;
}

function refuse<Row>(
  code: ErrorCode,
  label: string,
  rows: readonly Row[],
  describe: (row: Row) => { readonly shown: string; readonly drop: string | undefined },
): void {
  const [first] = rows;
  if (first === undefined) return;
  const shown = rows.slice(0, listedMax).map((row) => describe(row).shown);
  const more = rows.length - shown.length;
  const list = [...shown, ...(more > 0 ? [`${more} more`] : [])].join("; ");
  const others = rows.length === 1 ? "" : ", and the others";
  const { drop } = describe(first);
  const hint =
    drop === undefined
      ? "Try again when the query is gone: WATCH SELECT name, state FROM queries."
      : `Drop what uses it first: ${drop}${others}.`;
  throw new OperatingError(code, "never", `${label} is used by ${list}`, { hint });
}
