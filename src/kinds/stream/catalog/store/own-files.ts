/**
 * Each file is written by one query at a time (SC82): a second one would overwrite it, and one that
 * goes on from a checkpoint would cut off what the other wrote since. Which files a query writes is
 * in its plan, whether its sinks have names or not.
 */
import { normalize } from "node:path";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Tx } from "../../../../ground/store/index.ts";
import type { Plan, SinkOp } from "../../language/core/index.ts";
import type { CreateQuery } from "../core/changes.ts";
import { findWorker, type NamedWorker } from "../core/find-worker.ts";
import type { StoredPlan } from "../core/stored-plan.ts";
import type { QueryRow } from "../core/tables.ts";
import { readWorkerNames } from "./read-workers.ts";

interface WrittenFile {
  readonly sink: SinkOp;
  readonly path: string;
  /** `undefined`: any worker may write it. */
  readonly host: string | undefined;
}

/** Queries that ended, and older ones that the new one waits for, write no more. */
export async function requireOwnFiles(tx: Tx, { plan, name }: CreateQuery): Promise<void> {
  if (filesOf(plan.plan, []).length === 0) return;
  const workers = await readWorkerNames(tx);
  const files = filesOf(plan.plan, workers);
  const twice = files.find((one, at) => files.slice(0, at).some((other) => isSame(one, other)));
  if (twice !== undefined) throw refused(twice, "is written twice by the query", "");
  for (const other of await readWriters(tx, name?.toUpperCase())) {
    const { plan: theirs } = JSON.parse(other.plan) as StoredPlan;
    const written = filesOf(theirs, workers);
    const taken = files.find((one) => written.some((each) => isSame(one, each)));
    if (taken === undefined) continue;
    const query = other.name ?? other.query_id;
    const hint =
      other.desired_state === "STOPPED"
        ? "; or try again when that query is gone"
        : `, or DROP QUERY ${query} first`;
    throw refused(taken, `is written by the query ${query}, which is ${other.state}`, hint);
  }
}

function filesOf({ nodes }: Plan, workers: readonly NamedWorker[]): readonly WrittenFile[] {
  return nodes.flatMap(({ op }) => {
    if (op.kind !== "sink" || typeof op.config.FILE_PATH !== "string") return [];
    const placement = op.config.PLACEMENT;
    const worker = typeof placement === "string" ? findWorker(workers, placement) : undefined;
    return [{ sink: op, path: normalize(op.config.FILE_PATH), host: worker?.host.toUpperCase() }];
  });
}

/** Workers of one host may share a directory, and a sink that names none may be on any host. */
function isSame(one: WrittenFile, other: WrittenFile): boolean {
  if (one.path !== other.path) return false;
  return one.host === undefined || other.host === undefined || one.host === other.host;
}

type Writer = Pick<QueryRow, "query_id" | "name" | "state" | "desired_state"> & {
  readonly plan: string;
};

async function readWriters({ db }: Tx, nameKey: string | undefined): Promise<readonly Writer[]> {
  const rows = await db
    .selectFrom("query_plans")
    .innerJoin("queries", "queries.query_id", "query_plans.query_id")
    .select(["queries.query_id", "name", "name_key", "state", "desired_state", "plan"])
    .where("plan", "like", '%"FILE_PATH"%')
    .where("state", "not in", ["FAILED", "TERMINATED", "STOPPED"])
    .orderBy("queries.query_id")
    .execute();
  return rows.filter(({ name_key }) => nameKey === undefined || name_key !== nameKey);
}

function refused({ sink, path }: WrittenFile, what: string, more: string): OperatingError {
  const message = `the file ${path} of the sink ${sink.name} ${what}`;
  const hint = `Give each query a file of its own${more}.`;
  return new OperatingError("PlacementError", "never", message, { hint });
}
