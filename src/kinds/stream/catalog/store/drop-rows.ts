/** DROP, PAUSE and RESUME, as rows. What nothing refers to goes at once; a query goes by itself. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogBody, ChangeAnswer } from "../core/bodies.ts";
import type { DropObject, SetDesired } from "../core/changes.ts";
import { findWorker } from "../core/find-worker.ts";
import type { Applying, SupersededRow } from "./applying.ts";
import { moveQuery } from "./move-rows.ts";
import {
  doesNotExist,
  findQuery,
  logicalSourceBody,
  physicalSourceBody,
  readQueries,
  sinkBody,
} from "./read-rows.ts";
import { readWorkerNames, readWorkers } from "./read-workers.ts";
import { refuseUsed, refuseUsedWorker } from "./references.ts";
import { restoreCheckpoint } from "./start-state.ts";
import { removeSuperseded, supersede } from "./supersede.ts";

/** What the answer says, and the id of what was dropped; without any there was nothing. */
export interface Dropped {
  readonly answer: ChangeAnswer;
  readonly id: string | undefined;
}

export async function dropObject(applying: Applying, change: DropObject): Promise<Dropped> {
  const { object, name } = change;
  const found = await drop(applying, change);
  return {
    answer: { kind: "dropped", object, name, row: found?.row ?? null },
    id: found?.id,
  };
}

type Found = { readonly id: string; readonly row: CatalogBody } | undefined;

async function drop(applying: Applying, change: DropObject): Promise<Found> {
  switch (change.object) {
    case "logical source":
    case "view":
      return await dropSource(applying, change);
    case "physical source":
      return await dropPhysicalSource(applying, change);
    case "sink":
      return await dropSink(applying, change);
    case "query":
      return await dropQuery(applying, change);
    case "worker":
      return await dropWorker(applying, change);
  }
}

async function dropSource(applying: Applying, { object, name }: DropObject): Promise<Found> {
  const { tx } = applying;
  const kinds = object === "view" ? (["VIEW"] as const) : (["LOGICAL", "DERIVED"] as const);
  const row = await tx.db
    .selectFrom("logical_sources")
    .selectAll()
    .where("name_key", "=", name.toUpperCase())
    .where("kind", "in", kinds)
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { source_id: id, name_key: nameKey } = row;
  const label = `the ${object} ${row.name}`;
  await dropUnused(applying, { table: "logical_sources", id, label, nameKey });
  return { id, row: logicalSourceBody(row) };
}

async function dropPhysicalSource(applying: Applying, { name }: DropObject): Promise<Found> {
  const { tx } = applying;
  const row = await tx.db
    .selectFrom("physical_sources")
    .innerJoin("logical_sources", "logical_sources.source_id", "physical_sources.source_id")
    .selectAll("physical_sources")
    .select("logical_sources.name as logical")
    .where("physical_source_id", "=", name)
    .where("physical_sources.superseded_by", "is", null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const id = row.physical_source_id;
  const label = `the physical source ${id}`;
  await dropUnused(applying, { table: "physical_sources", id, label, nameKey: undefined });
  return { id, row: physicalSourceBody(row, row.logical) };
}

async function dropSink(applying: Applying, { name }: DropObject): Promise<Found> {
  const { tx } = applying;
  const row = await tx.db
    .selectFrom("sinks")
    .selectAll()
    .where("name_key", "=", name.toUpperCase())
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { sink_id: id, name_key: nameKey } = row;
  await dropUnused(applying, { table: "sinks", id, label: `the sink ${row.name}`, nameKey });
  return { id, row: sinkBody(row) };
}

/** Later changes of a bundle may drop or replace its users, so they are checked at its end. */
async function dropUnused(applying: Applying, row: SupersededRow): Promise<void> {
  if (!applying.bundle.isAlone) {
    await supersede(applying, row);
    return;
  }
  await refuseUsed(applying.tx, row);
  await removeSuperseded(applying.tx, row);
}

/** Sets what is wanted; the reconciler stops the query. A second drop can only be harder. */
async function dropQuery({ tx, bundle }: Applying, { name, mode }: DropObject): Promise<Found> {
  const row = await findQuery(tx, name);
  if (row === undefined) return undefined;
  const stop_mode = row.stop_mode === "HARD" ? "HARD" : mode;
  await moveQuery(tx, row, row.state, { desired_state: "STOPPED", stop_mode });
  bundle.queries.add(row.query_id);
  const [body] = await readQueries(tx, { byId: row.query_id });
  return body && { id: row.query_id, row: body };
}

async function dropWorker({ tx }: Applying, { name }: DropObject): Promise<Found> {
  const workers = await readWorkerNames(tx);
  const found = findWorker(workers, name);
  if (found === undefined) return undefined;
  const { workerId } = found;
  await refuseUsedWorker(tx, workerId, `the worker ${name}`);
  const body = (await readWorkers(tx)).find(({ worker_id }) => worker_id === workerId);
  if (body === undefined) return undefined;
  const row = await tx.db
    .selectFrom("workers")
    .select(["state", "draining"])
    .where("worker_id", "=", workerId)
    .executeTakeFirst();
  if (row?.state === "ACTIVE" && row.draining === 0) {
    const message = `the worker ${name} takes work`;
    throw new OperatingError("WorkerBusy", "backoff", message, { hint: "Try again." });
  }
  await tx.db
    .deleteFrom("network_links")
    .where((or) => or.or([or("src_worker_id", "=", workerId), or("dst_worker_id", "=", workerId)]))
    .execute();
  await tx.remove("workers", workerId);
  return { id: workerId, row: body };
}

/** PAUSE and RESUME; the reconciler does the rest. Throws `DoesNotExist`, and `conflict`. */
export async function setDesired(
  { tx }: Applying,
  { query, desired, checkpoint }: SetDesired,
): Promise<{ readonly answer: ChangeAnswer; readonly id: string }> {
  const row = await findQuery(tx, query);
  if (row === undefined) throw doesNotExist("query", query);
  const shown = row.name ?? row.query_id;
  if (row.desired_state === "STOPPED") {
    const message = `the query ${shown} is being dropped; it is ${row.state}`;
    throw new OperatingError("conflict", "never", message);
  }
  if (["TERMINATING", "TERMINATED", "FAILED"].includes(row.state)) {
    const message = `the query ${shown} is ${row.state}: ${row.state_reason}`;
    const hint = `It does not run again: DROP QUERY ${shown}, then create it.`;
    throw new OperatingError("conflict", "never", message, { hint });
  }
  if (checkpoint !== undefined) await restoreCheckpoint(tx, row, checkpoint);
  await moveQuery(tx, row, row.state, { desired_state: desired });
  return {
    answer: { kind: "desired", id: row.query_id, name: row.name, desired },
    id: row.query_id,
  };
}
