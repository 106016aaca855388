/** DROP, PAUSE and RESUME, as rows. What nothing refers to goes at once; a query goes by itself. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogBody, ChangeAnswer } from "../core/bodies.ts";
import type { DropObject, SetDesired } from "../core/changes.ts";
import { findWorker } from "../core/find-worker.ts";
import type { Applying } from "./applying.ts";
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
import {
  refuseUsedPhysicalSource,
  refuseUsedSink,
  refuseUsedSource,
  refuseUsedWorker,
} from "./references.ts";
import { deleteSecrets } from "./stored-plans.ts";

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

async function dropSource({ tx }: Applying, { object, name }: DropObject): Promise<Found> {
  const kinds = object === "view" ? (["VIEW"] as const) : (["LOGICAL", "DERIVED"] as const);
  const row = await tx.db
    .selectFrom("logical_sources")
    .selectAll()
    .where("name_key", "=", name.toUpperCase())
    .where("kind", "in", kinds)
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  await refuseUsedSource(tx, row.source_id, `the ${object} ${row.name}`);
  await tx.remove("logical_sources", row.source_id);
  return { id: row.source_id, row: logicalSourceBody(row) };
}

async function dropPhysicalSource({ tx }: Applying, { name }: DropObject): Promise<Found> {
  const row = await tx.db
    .selectFrom("physical_sources")
    .innerJoin("logical_sources", "logical_sources.source_id", "physical_sources.source_id")
    .selectAll("physical_sources")
    .select("logical_sources.name as logical")
    .where("physical_source_id", "=", name)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  await refuseUsedPhysicalSource(tx, row.physical_source_id);
  await tx.remove("physical_sources", row.physical_source_id);
  await deleteSecrets(tx, row.physical_source_id);
  return { id: row.physical_source_id, row: physicalSourceBody(row, row.logical) };
}

async function dropSink({ tx }: Applying, { name }: DropObject): Promise<Found> {
  const row = await tx.db
    .selectFrom("sinks")
    .selectAll()
    .where("name_key", "=", name.toUpperCase())
    .where("superseded_by", "is", null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  await refuseUsedSink(tx, row.sink_id, `the sink ${row.name}`);
  await tx.remove("sinks", row.sink_id);
  await deleteSecrets(tx, row.sink_id);
  return { id: row.sink_id, row: sinkBody(row) };
}

/** Sets what is wanted; the reconciler stops the query. A second drop can only be harder. */
async function dropQuery({ tx }: Applying, { name, mode }: DropObject): Promise<Found> {
  const row = await findQuery(tx, name);
  if (row === undefined) return undefined;
  const stop_mode = row.stop_mode === "HARD" ? "HARD" : mode;
  await moveQuery(tx, row, row.state, { desired_state: "STOPPED", stop_mode });
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
  { query, desired }: SetDesired,
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
  await moveQuery(tx, row, row.state, { desired_state: desired });
  return {
    answer: { kind: "desired", id: row.query_id, name: row.name, desired },
    id: row.query_id,
  };
}
