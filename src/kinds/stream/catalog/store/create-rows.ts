/** CREATE of sources, sinks, views and queries, as rows: SC4 to SC9. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import type { Plan } from "../../language/core/index.ts";
import type { ChangeAnswer } from "../core/bodies.ts";
import type {
  CreateLogicalSource,
  CreatePhysicalSource,
  CreateQuery,
  CreateSink,
} from "../core/changes.ts";
import { describeSource } from "../core/describe-source.ts";
import { hideSecrets, hideSecretsOfPlan, withoutSecrets } from "../core/secrets.ts";
import type { QueryRow } from "../core/tables.ts";
import { type Applying, alreadyExists, idOf, nextId, PlanOutdated } from "./applying.ts";
import { insertFragment, insertHeir, insertQuery, moveQuery } from "./move-rows.ts";
import { requireOwnFiles } from "./own-files.ts";
import { slotsHeld } from "./read-held-slots.ts";
import { resolveWorker } from "./read-workers.ts";
import { findStartState, insertStartState } from "./start-state.ts";
import { insertSecrets } from "./stored-plans.ts";
import { succeed } from "./supersede.ts";

type Created = Extract<ChangeAnswer, { readonly kind: "created" }>;

export async function createLogicalSource(
  applying: Applying,
  change: CreateLogicalSource,
): Promise<Created> {
  const { tx, nowMs } = applying;
  const { name, sourceKind } = change;
  const object = sourceKind === "VIEW" ? "view" : "logical source";
  const existing = await tx.db
    .selectFrom("logical_sources")
    .select(["source_id", "name", "kind"])
    .where("name_key", "=", name.toUpperCase())
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (existing !== undefined) {
    if (change.ifNotExists) return found(object, existing.source_id, existing.name);
    const what = existing.kind === "VIEW" ? "view" : "logical source";
    throw alreadyExists(
      `the ${what} ${existing.name}`,
      `Sources and views share their names. DROP ${what.toUpperCase()} ${existing.name} makes room.`,
    );
  }
  const id = await nextId(tx);
  await tx.insert("logical_sources", {
    source_id: id,
    name,
    name_key: name.toUpperCase(),
    kind: sourceKind,
    source_schema: JSON.stringify(change.schema),
    watermark: change.watermark === undefined ? null : JSON.stringify(change.watermark),
    definition: change.definition ?? null,
    superseded_by: null,
    created_at_ms: nowMs,
  });
  const used = [...new Set(change.uses.map((use) => idOf(applying, use)))];
  if (used.length > 0) {
    const rows = used.map((used_source_id) => ({ source_id: id, used_source_id }));
    await tx.db.insertInto("logical_source_uses").values(rows).execute();
  }
  await succeed(applying, "logical_sources", name.toUpperCase(), id);
  return created(object, id, name);
}

export async function createPhysicalSource(
  applying: Applying,
  change: CreatePhysicalSource,
): Promise<Created> {
  const { tx, nowMs } = applying;
  const { logicalName, placement, parser } = change;
  const type = change.type.toUpperCase();
  const source = await tx.db
    .selectFrom("logical_sources")
    .select(["source_id", "superseded_by"])
    .where("source_id", "=", idOf(applying, change.sourceId))
    .executeTakeFirst();
  if (source === undefined || source.superseded_by !== null) throw new PlanOutdated();
  const known = await tx.db
    .selectFrom("source_types")
    .select("type")
    .where("type", "=", type)
    .executeTakeFirst();
  if (known === undefined) {
    const message = `there is no source type ${change.type}`;
    throw new OperatingError("SourceTypeDoesNotExist", "never", message);
  }
  const workerId =
    placement === undefined
      ? null
      : await resolveWorker(tx, placement, "WorkerDoesNotExistForPhysical");
  const { source_id } = source;
  const { config } = change;
  const described = { sourceId: source_id, workerId, type, config, parser };
  const description_key = describeSource(described);
  const existing = await tx.db
    .selectFrom("physical_sources")
    .select("physical_source_id")
    .where("description_key", "=", description_key)
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (existing !== undefined) {
    const { physical_source_id } = existing;
    if (change.ifNotExists) return found("physical source", physical_source_id, null);
    throw alreadyExists(
      `a physical source of ${logicalName} with this placement, type and configuration`,
      `It is the physical source ${physical_source_id}.`,
    );
  }
  const id = await nextId(tx);
  const { shown, secrets } = hideSecrets("source", type, change.config, { id });
  await insertSecrets(tx, secrets);
  await tx.insert("physical_sources", {
    physical_source_id: id,
    source_id,
    worker_id: workerId,
    source_type: type,
    source_config: JSON.stringify(shown),
    parser_config: JSON.stringify(parser),
    description_key,
    superseded_by: null,
    created_at_ms: nowMs,
  });
  return created("physical source", id, null);
}

export async function createSink(applying: Applying, change: CreateSink): Promise<Created> {
  const { tx, nowMs } = applying;
  const { name, placement } = change;
  const type = change.type.toUpperCase();
  const existing = await tx.db
    .selectFrom("sinks")
    .select(["sink_id", "name"])
    .where("name_key", "=", name.toUpperCase())
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (existing !== undefined) {
    if (change.ifNotExists) return found("sink", existing.sink_id, existing.name);
    throw alreadyExists(`the sink ${existing.name}`, `DROP SINK ${existing.name} makes room.`);
  }
  const known = await tx.db
    .selectFrom("sink_types")
    .select("type")
    .where("type", "=", type)
    .executeTakeFirst();
  if (known === undefined) {
    const message = `there is no sink type ${change.type}`;
    throw new OperatingError("SinkTypeDoesNotExist", "never", message);
  }
  const workerId =
    placement === undefined
      ? null
      : await resolveWorker(tx, placement, "WorkerDoesNotExistForSink");
  const id = await nextId(tx);
  const { shown, secrets } = hideSecrets("sink", type, change.config, { id });
  await insertSecrets(tx, secrets);
  await tx.insert("sinks", {
    sink_id: id,
    name,
    name_key: name.toUpperCase(),
    sink_schema: change.schema === undefined ? null : JSON.stringify(change.schema),
    worker_id: workerId,
    sink_type: type,
    sink_config: JSON.stringify(shown),
    formatter_config: JSON.stringify(change.formatter),
    superseded_by: null,
    created_at_ms: nowMs,
  });
  await succeed(applying, "sinks", name.toUpperCase(), id);
  return created("sink", id, name);
}

export async function createQuery(applying: Applying, change: CreateQuery): Promise<Created> {
  const { tx } = applying;
  const name = change.name ?? null;
  const existing = name === null ? undefined : await queryNamed(applying, name);
  if (existing !== undefined) {
    const isDropped = existing.desired_state === "STOPPED";
    if (change.ifNotExists && !isDropped) return found("query", existing.query_id, existing.name);
    const replaces = change.replaces || applying.bundle.queries.has(existing.query_id);
    if (!replaces) throw nameIsTaken(existing);
  }
  await requireActive(applying, change);
  await requireTables(applying, change);
  await requireOwnFiles(tx, change);
  const start =
    change.from && (await findStartState(applying, change.from, change.plan, existing?.query_id));
  const id = await nextId(tx);
  const name_key = name?.toUpperCase() ?? null;
  const is_preview = change.isPreview ? 1 : 0;
  const query = { query_id: id, name, name_key, guarantee: change.guarantee, is_preview };
  if (existing === undefined) await insertQuery(tx, query);
  else await replaceQuery(applying, existing, query);
  const { shown: plan, secrets } = hideSecretsOfPlan(change.plan.plan, id, usedBy(change));
  await insertSecrets(tx, secrets);
  const { db } = tx;
  const row = {
    query_id: id,
    statement: withoutSecrets(change.statement, secrets),
    plan_version: change.plan.version,
    state_family: start?.family ?? null,
    plan: JSON.stringify({ ...change.plan, plan }),
  };
  await db.insertInto("query_plans").values(row).execute();
  const held = existing === undefined ? new Map() : await slotsHeld(tx, name ?? "");
  for (const { fragment, workerId, isPinned } of change.placement) {
    const is_pinned = isPinned ? 1 : 0;
    const place = { query_id: id, fragment, worker_id: workerId, is_pinned, epoch: 1 };
    const left = held.get(workerId) ?? 0;
    held.set(workerId, left - 1);
    await (left > 0 ? insertHeir(tx, place) : insertFragment(tx, place));
  }
  await insertReferences(applying, change, id);
  await insertLakeSinks(tx, change.plan.plan, id);
  if (start !== undefined) await insertStartState(tx, id, change.plan, start);
  const { query_id, state } = existing ?? {};
  return {
    ...created("query", id, name),
    ...(query_id === undefined || state === undefined ? {} : { replaced: { query_id, state } }),
    ...(start && { from: { query_id: start.origin.query_id, checkpoint: start.checkpoint } }),
  };
}

/** Sources and sinks that have rows of their own. */
function usedBy({ physicalSources, sinks }: CreateQuery): ReadonlySet<string> {
  return new Set([...physicalSources, ...sinks]);
}

/**
 * The older query is stopped, as a drop would stop it, and keeps its row until it is confirmed
 * gone; the new one has the name at once, and begins then (SC33).
 */
async function replaceQuery(
  { tx, bundle }: Applying,
  older: QueryRow,
  query: Parameters<typeof insertQuery>[1],
): Promise<void> {
  const { query_id } = older;
  const stop_mode = older.stop_mode ?? "HARD";
  // For a moment it is its own successor, which frees the name for the new row.
  const patch = { desired_state: "STOPPED", stop_mode, superseded_by: query_id } as const;
  await moveQuery(tx, older, older.state, patch);
  const state_reason = `waits until the query ${query_id}, which it replaces, is gone`;
  await insertQuery(tx, { ...query, state_reason });
  await tx.update("queries", query_id, { superseded_by: query.query_id });
  bundle.queries.add(query_id);
}

async function insertReferences(
  applying: Applying,
  change: CreateQuery,
  query_id: string,
): Promise<void> {
  const { db } = applying.tx;
  const idsOf = (written: readonly string[]) => [
    ...new Set(written.map((each) => idOf(applying, each))),
  ];
  const logical = idsOf(change.logicalSources).map((source_id) => ({ query_id, source_id }));
  if (logical.length > 0) await db.insertInto("query_logical_sources").values(logical).execute();
  const physical = idsOf(change.physicalSources).map((physical_source_id) => ({
    query_id,
    physical_source_id,
  }));
  if (physical.length > 0) await db.insertInto("query_physical_sources").values(physical).execute();
  const sinks = idsOf(change.sinks).map((sink_id) => ({ query_id, sink_id }));
  if (sinks.length > 0) await db.insertInto("query_sinks").values(sinks).execute();
  const tables = new Map(
    change.tables.map(({ tableId, writes }) => [
      `${tableId} ${writes}`,
      { query_id, table_id: tableId, writes: writes ? 1 : 0 },
    ]),
  );
  if (tables.size === 0) return;
  await db
    .insertInto("query_lake_tables")
    .values([...tables.values()])
    .execute();
}

/** By name: a sink makes its table when the query starts. */
async function insertLakeSinks(
  { db }: CatalogTx,
  { nodes }: Plan,
  query_id: string,
): Promise<void> {
  const keys = nodes.flatMap(({ op }) =>
    op.kind === "sink" && op.type === "Lake" ? [String(op.config.TABLE).toLowerCase()] : [],
  );
  if (keys.length === 0) return;
  const rows = [...new Set(keys)].map((table_key) => ({ query_id, table_key }));
  await db.insertInto("query_lake_sinks").values(rows).execute();
}

/** Workers that were lost or began to drain since the plan was made take no fragments (SC21). */
async function requireActive({ tx }: Applying, { placement }: CreateQuery): Promise<void> {
  const wanted = [...new Set(placement.map(({ workerId }) => workerId))];
  const rows = await tx.db
    .selectFrom("workers")
    .select("worker_id")
    .where("worker_id", "in", wanted)
    .where("state", "=", "ACTIVE")
    .where("draining", "=", 0)
    .where("drain_requested", "=", 0)
    .execute();
  if (rows.length < wanted.length) throw new PlanOutdated();
}

/** Tables of the lake that were dropped since the plan was made. */
async function requireTables({ tx }: Applying, { tables }: CreateQuery): Promise<void> {
  const wanted = [...new Set(tables.map(({ tableId }) => tableId))];
  if (wanted.length === 0) return;
  const rows = await tx.db
    .selectFrom("ducklake_table")
    .select("table_id")
    .distinct()
    .where("table_id", "in", wanted)
    .where("end_snapshot", "is", null)
    .execute();
  if (rows.length < wanted.length) throw new PlanOutdated();
}

async function queryNamed({ tx }: Applying, name: string): Promise<QueryRow | undefined> {
  return await tx.db
    .selectFrom("queries")
    .selectAll()
    .where("name_key", "=", name.toUpperCase())
    .where("superseded_by", "is", null)
    .executeTakeFirst();
}

function nameIsTaken(row: QueryRow): OperatingError {
  const isDropped = row.desired_state === "STOPPED";
  const state = `it is ${row.state}${row.state_reason === "" ? "" : `: ${row.state_reason}`}`;
  const replacing = `CREATE OR REPLACE QUERY ${row.name} takes its place`;
  const hint = isDropped
    ? `The name is free when every fragment is confirmed stopped: WATCH SELECT name, state FROM queries. ${replacing}, and begins then.`
    : `DROP QUERY ${row.name} makes room, once it is gone. ${replacing} with fresh state.`;
  const what = isDropped
    ? `the query ${row.name} is being dropped and still has its name; ${state}`
    : `the query ${row.name} exists already; ${state}`;
  return new OperatingError("AlreadyExists", isDropped ? "backoff" : "never", what, { hint });
}

function created(object: Created["object"], id: string, name: string | null): Created {
  return { kind: "created", object, id, name, existed: false };
}

function found(object: Created["object"], id: string, name: string | null): Created {
  return { kind: "created", object, id, name, existed: true };
}
