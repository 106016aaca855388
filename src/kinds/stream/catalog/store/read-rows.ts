/**
 * What requests read: rows as people see them, by the filters of the request table. A name that is
 * asked for and does not exist is `DoesNotExist`; any other filter that matches nothing gives an
 * empty list (SC12). A superseded row is read by its id only.
 */

import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Tx } from "../../../../ground/store/index.ts";
import { sinkDescriptors, sourceDescriptors } from "../../language/core/index.ts";
import type {
  CatalogBody,
  CatalogObject,
  FragmentBody,
  LogicalSourceBody,
  PhysicalSourceBody,
  QueryBody,
  QueryDetailBody,
  SinkBody,
  StreamWorkerBody,
} from "../core/bodies.ts";
import type { ShowFilter } from "../core/changes.ts";
import { findWorker } from "../core/find-worker.ts";
import { detailOf, type FragmentCount } from "../core/query-detail.ts";
import type {
  FragmentRow,
  LogicalSourceRow,
  PhysicalSourceRow,
  QueryRow,
  SinkRow,
} from "../core/tables.ts";
import { whyNoWorker } from "../core/why-no-worker.ts";
import { readWorkerNames, readWorkers } from "./read-workers.ts";

export async function readObjects(
  tx: Tx,
  object: CatalogObject,
  filter: ShowFilter,
): Promise<readonly CatalogBody[]> {
  switch (object) {
    case "logical source":
      return await readLogicalSources(tx, filter, ["LOGICAL", "DERIVED"]);
    case "view":
      return await readLogicalSources(tx, filter, ["VIEW"]);
    case "physical source":
      return await readPhysicalSources(tx, filter);
    case "sink":
      return await readSinks(tx, filter);
    case "query":
      return await readQueries(tx, filter);
    case "worker":
      return await readStreamWorkers(tx, filter);
  }
}

export async function readLogicalSources(
  { db }: Tx,
  { byName, byId }: ShowFilter,
  kinds: readonly LogicalSourceRow["kind"][],
): Promise<readonly LogicalSourceBody[]> {
  let query = db
    .selectFrom("logical_sources")
    .selectAll()
    .where("kind", "in", kinds)
    .where("superseded_by", "is", null);
  if (byName !== undefined) query = query.where("name_key", "=", byName.toUpperCase());
  if (byId !== undefined) query = query.where("source_id", "=", byId);
  const rows = await query.orderBy("name_key").execute();
  const what = kinds.includes("LOGICAL") ? "logical source" : "view";
  requireNamed(rows, what, byName ?? byId);
  return rows.map(logicalSourceBody);
}

export async function readPhysicalSources(
  tx: Tx,
  filter: ShowFilter,
): Promise<readonly PhysicalSourceBody[]> {
  const { byId, forLogical, onWorker, byType } = filter;
  let query = tx.db
    .selectFrom("physical_sources")
    .innerJoin("logical_sources", "logical_sources.source_id", "physical_sources.source_id")
    .selectAll("physical_sources")
    .select(["logical_sources.name", "logical_sources.name_key"])
    .where("physical_sources.superseded_by", "is", null);
  if (byId !== undefined) query = query.where("physical_source_id", "=", byId);
  if (forLogical !== undefined) {
    await readLogicalSources(tx, { byName: forLogical }, ["LOGICAL", "DERIVED", "VIEW"]);
    query = query.where("name_key", "=", forLogical.toUpperCase());
  }
  const workerId = onWorker === undefined ? undefined : await workerNamed(tx, onWorker);
  if (workerId !== undefined) query = query.where("worker_id", "=", workerId);
  if (byType !== undefined) query = query.where("source_type", "=", byType.toUpperCase());
  const rows = await query.orderBy("name_key").orderBy("physical_sources.created_at_ms").execute();
  requireNamed(rows, "physical source", byId);
  return rows
    .sort(byNumber(({ physical_source_id }) => physical_source_id))
    .map((row) => physicalSourceBody(row, row.name));
}

export async function readSinks(tx: Tx, filter: ShowFilter): Promise<readonly SinkBody[]> {
  const { byName, byId, onWorker, byType } = filter;
  let query = tx.db.selectFrom("sinks").selectAll().where("superseded_by", "is", null);
  if (byName !== undefined) query = query.where("name_key", "=", byName.toUpperCase());
  if (byId !== undefined) query = query.where("sink_id", "=", byId);
  const workerId = onWorker === undefined ? undefined : await workerNamed(tx, onWorker);
  if (workerId !== undefined) query = query.where("worker_id", "=", workerId);
  if (byType !== undefined) query = query.where("sink_type", "=", byType.toUpperCase());
  const rows = await query.orderBy("name_key").execute();
  requireNamed(rows, "sink", byName ?? byId);
  return rows.map(sinkBody);
}

export async function readQueries(tx: Tx, filter: ShowFilter): Promise<readonly QueryBody[]> {
  const { byName, byId, onWorker, withState } = filter;
  let query = tx.db
    .selectFrom("queries")
    .innerJoin("query_plans", "query_plans.query_id", "queries.query_id")
    .selectAll("queries")
    .select("statement");
  if (byName !== undefined) {
    const found = await findQuery(tx, byName);
    query = query.where("queries.query_id", "=", found?.query_id ?? "");
  }
  if (byId !== undefined) query = query.where("queries.query_id", "=", byId);
  if (withState !== undefined) {
    query = query.where("state", "=", withState.toUpperCase() as QueryRow["state"]);
  }
  const workerId = onWorker === undefined ? undefined : await workerNamed(tx, onWorker);
  if (workerId !== undefined) {
    query = query.where("queries.query_id", "in", (expressions) =>
      expressions
        .selectFrom("query_fragments")
        .select("query_id")
        .where("worker_id", "=", workerId),
    );
  }
  const rows = await query.execute();
  requireNamed(rows, "query", byName ?? byId);
  const counts = await countFragments(
    tx,
    rows.map(({ query_id }) => query_id),
  );
  return rows
    .sort(byNumber(({ query_id }) => query_id))
    .map((row) => queryBody(row, row.statement, counts.get(row.query_id) ?? []));
}

/** `undefined`: it is gone. */
export async function readQueryById(tx: Tx, byId: string): Promise<QueryBody | undefined> {
  const row = await tx.db
    .selectFrom("queries")
    .select("query_id")
    .where("query_id", "=", byId)
    .executeTakeFirst();
  return row && (await readQueries(tx, { byId }))[0];
}

/** A query by its name, or else by its id. */
export async function findQuery({ db }: Tx, name: string): Promise<QueryRow | undefined> {
  const named = await db
    .selectFrom("queries")
    .selectAll()
    .where("name_key", "=", name.toUpperCase())
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (named !== undefined) return named;
  return await db.selectFrom("queries").selectAll().where("query_id", "=", name).executeTakeFirst();
}

/** With fragments and history. Throws `DoesNotExist`. */
export async function readQueryDetail(tx: Tx, name: string): Promise<QueryDetailBody> {
  const { db } = tx;
  const [body] = await readQueries(tx, { byName: name });
  const { query_id } = body as QueryBody;
  const fragments = await db
    .selectFrom("query_fragments")
    .selectAll()
    .where("query_id", "=", query_id)
    .execute();
  const history = await db
    .selectFrom("query_history")
    .selectAll()
    .where("query_id", "=", query_id)
    .orderBy("number")
    .execute();
  const logical = await db
    .selectFrom("query_logical_sources")
    .innerJoin("logical_sources", "logical_sources.source_id", "query_logical_sources.source_id")
    .select("name")
    .where("query_id", "=", query_id)
    .orderBy("name_key")
    .execute();
  const physical = await db
    .selectFrom("query_physical_sources")
    .select("physical_source_id")
    .where("query_id", "=", query_id)
    .execute();
  const sinks = await db
    .selectFrom("query_sinks")
    .innerJoin("sinks", "sinks.sink_id", "query_sinks.sink_id")
    .select("name")
    .where("query_id", "=", query_id)
    .orderBy("name_key")
    .execute();
  return {
    ...(body as QueryBody),
    logical_sources: logical.map(({ name: shown }) => shown),
    physical_sources: physical.map(({ physical_source_id }) => physical_source_id),
    sinks: sinks.map(({ name: shown }) => shown),
    deployed: fragments.map(fragmentBody).sort((a, b) => (a.fragment < b.fragment ? -1 : 1)),
    history: history.map(({ number, epoch, from_state, to_state, reason, at_ms }) => ({
      number,
      epoch,
      from_state,
      to_state: to_state as QueryRow["state"] | null,
      reason,
      at_ms,
    })),
  };
}

async function readStreamWorkers(tx: Tx, filter: ShowFilter): Promise<readonly StreamWorkerBody[]> {
  const { byName, byId, onWorker, withState, withCapacity } = filter;
  const written = byName ?? onWorker ?? byId;
  const workerId = written === undefined ? undefined : await workerNamed(tx, written);
  const workers = await readWorkers(tx);
  return workers.filter(
    ({ worker_id, state, slots, slots_used }) =>
      (workerId === undefined || worker_id === workerId) &&
      (withState === undefined || state === withState.toUpperCase()) &&
      (withCapacity === undefined || slots - slots_used >= withCapacity),
  );
}

async function workerNamed(tx: Tx, written: string): Promise<string> {
  const workers = await readWorkerNames(tx);
  const found = findWorker(workers, written);
  if (found !== undefined) return found.workerId;
  const { message, hint } = whyNoWorker(workers, written);
  throw new OperatingError("DoesNotExist", "never", message, { hint });
}

function requireNamed(rows: readonly unknown[], what: string, name: string | undefined): void {
  if (name !== undefined && rows.length === 0) throw doesNotExist(what, name);
}

export function doesNotExist(what: string, name: string): OperatingError {
  const plural = what === "query" ? "QUERIES" : `${what.toUpperCase()}S`;
  return new OperatingError("DoesNotExist", "never", `there is no ${what} ${name}`, {
    hint: `SHOW ${plural} lists what there is.`,
  });
}

/** Each of more queries is counted with all others: a list of ids has its bound. */
const countedAloneMax = 100;

async function countFragments(
  { db }: Tx,
  queryIds: readonly string[],
): Promise<ReadonlyMap<string, readonly FragmentCount[]>> {
  let query = db
    .selectFrom("query_fragments")
    .leftJoin("workers", "workers.worker_id", "query_fragments.worker_id")
    .select(({ fn }) => [
      "query_id",
      "query_fragments.state",
      "workers.state as worker_state",
      fn.countAll<number>().as("count"),
    ])
    .groupBy(["query_id", "query_fragments.state", "workers.state"]);
  if (queryIds.length <= countedAloneMax) query = query.where("query_id", "in", queryIds);
  const rows = queryIds.length === 0 ? [] : await query.execute();
  return Map.groupBy(
    rows.map(({ query_id, state, worker_state, count }) => ({
      query_id,
      state,
      isReachable: worker_state === "ACTIVE",
      count: Number(count),
    })),
    ({ query_id }) => query_id,
  );
}

/** How many fragments are in each state. */
function countsByState(fragments: readonly FragmentCount[]): QueryBody["fragments"] {
  const counts: Partial<Record<FragmentRow["state"], number>> = {};
  for (const { state, count } of fragments) counts[state] = (counts[state] ?? 0) + count;
  return counts;
}

export function logicalSourceBody(row: LogicalSourceRow): LogicalSourceBody {
  return {
    source_id: row.source_id,
    name: row.name,
    kind: row.kind,
    schema: JSON.parse(row.source_schema),
    watermark: row.watermark === null ? null : JSON.parse(row.watermark),
    definition: row.definition,
    created_at_ms: row.created_at_ms,
  };
}

export function physicalSourceBody(row: PhysicalSourceRow, logical: string): PhysicalSourceBody {
  return {
    physical_source_id: row.physical_source_id,
    logical_source: logical,
    type: spelled(sourceDescriptors, row.source_type),
    config: JSON.parse(row.source_config),
    parser: JSON.parse(row.parser_config),
    worker_id: row.worker_id,
    created_at_ms: row.created_at_ms,
  };
}

export function sinkBody(row: SinkRow): SinkBody {
  return {
    sink_id: row.sink_id,
    name: row.name,
    schema: row.sink_schema === null ? null : JSON.parse(row.sink_schema),
    type: spelled(sinkDescriptors, row.sink_type),
    config: JSON.parse(row.sink_config),
    formatter: JSON.parse(row.formatter_config),
    worker_id: row.worker_id,
    created_at_ms: row.created_at_ms,
  };
}

export function queryBody(
  row: QueryRow,
  statement: string,
  fragments: readonly FragmentCount[],
): QueryBody {
  return {
    query_id: row.query_id,
    name: row.name,
    state: row.state,
    detail: detailOf(row.state, fragments),
    state_reason: row.state_reason,
    desired_state: row.desired_state,
    stop_mode: row.stop_mode,
    epoch: row.epoch,
    superseded_by: row.superseded_by,
    guarantee: row.guarantee,
    is_preview: row.is_preview === 1,
    error:
      row.error_code === null
        ? null
        : { code: row.error_code, number: row.error_number, worker_id: row.error_worker_id },
    fragments: countsByState(fragments),
    statement,
    created_at_ms: row.created_at_ms,
    state_changed_at_ms: row.state_changed_at_ms,
  };
}

function fragmentBody(row: FragmentRow): FragmentBody {
  return {
    fragment: row.fragment,
    worker_id: row.worker_id,
    is_pinned: row.is_pinned === 1,
    epoch: row.epoch,
    state: row.state,
    state_reason: row.state_reason,
    state_changed_at_ms: row.state_changed_at_ms,
  };
}

function spelled(descriptors: readonly { readonly type: string }[], type: string): string {
  return descriptors.find((each) => each.type.toUpperCase() === type)?.type ?? type;
}

/** Ids are numbers as text, given in turn (SC5). */
function byNumber<Row>(idOf: (row: Row) => string): (left: Row, right: Row) => number {
  return (left, right) => Number(idOf(left)) - Number(idOf(right));
}
