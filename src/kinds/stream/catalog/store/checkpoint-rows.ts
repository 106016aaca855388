/**
 * Checkpoints of queries as requests see them: SHOW CHECKPOINTS, CHECKPOINT QUERY and DROP
 * CHECKPOINT. The fleet takes savepoints of queries that run; of any other query the newest
 * checkpoint holds all there is, so that it becomes the savepoint. Rules: SC50 to SC52.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Tx } from "../../../../ground/store/index.ts";
import type { ChangeAnswer, CheckpointBody } from "../core/bodies.ts";
import type { CheckpointQuery, DropCheckpoint } from "../core/changes.ts";
import type { QueryRow } from "../core/tables.ts";
import type { Applying } from "./applying.ts";
import { doesNotExist, findQuery } from "./read-rows.ts";

type Answer = Extract<ChangeAnswer, { readonly kind: "savepoint" }>;

/** Of the newest checkpoint first. Throws `DoesNotExist` for a name that nobody has. */
export async function readCheckpoints(
  tx: Tx,
  queryName: string | undefined,
): Promise<readonly CheckpointBody[]> {
  let query = tx.db
    .selectFrom("query_checkpoints")
    .innerJoin("queries", "queries.query_id", "query_checkpoints.query_id")
    .select(["queries.query_id", "name", "checkpoint", "savepoint", "query_checkpoints.epoch"])
    .select(["size_bytes", "duration_ms", "completed_at_ms"]);
  if (queryName !== undefined) {
    const { query_id } = await requireQuery(tx, queryName);
    query = query.where("queries.query_id", "=", query_id);
  }
  const rows = await query.orderBy("checkpoint", "desc").execute();
  return rows
    .map(({ savepoint, ...row }): CheckpointBody => {
      return { ...row, kind: savepoint === null ? "CHECKPOINT" : "SAVEPOINT" };
    })
    .sort((one, other) => Number(one.query_id) - Number(other.query_id));
}

/** Asks for a savepoint. Throws `DoesNotExist`, and `conflict` where there can be none. */
export async function askForSavepoint(
  { tx }: Applying,
  { query }: CheckpointQuery,
): Promise<{ readonly answer: Answer; readonly id: string }> {
  const row = await requireQuery(tx, query);
  refuseSavepoint(row);
  await refuseMore(tx, row);
  const request = row.savepoints_asked + 1;
  const about = { kind: "savepoint", id: row.query_id, name: row.name } as const;
  if (!restsNow(row)) {
    await tx.update("queries", row.query_id, { savepoints_asked: request });
    return { answer: { ...about, done: "asked", request, checkpoint: null }, id: row.query_id };
  }
  const newest = await newestOf(tx, row.query_id);
  if (newest === undefined) {
    const message = `the query ${shownName(row)} is ${row.state} and has no checkpoint`;
    throw new OperatingError("conflict", "never", message);
  }
  await tx.db
    .updateTable("query_checkpoints")
    .set({ savepoint: request })
    .where("query_id", "=", row.query_id)
    .where("checkpoint", "=", newest)
    .execute();
  const counts = { savepoints_asked: request, savepoints_taken: request };
  await tx.update("queries", row.query_id, counts);
  return { answer: { ...about, done: "asked", request, checkpoint: newest }, id: row.query_id };
}

/** The checkpoint is kept no longer than any other one. */
export async function dropCheckpoint(
  { tx }: Applying,
  { query, checkpoint, ifExists }: DropCheckpoint,
): Promise<{ readonly answer: Answer; readonly id: string | undefined }> {
  const row = ifExists ? await findQuery(tx, query) : await requireQuery(tx, query);
  const id = row?.query_id;
  const found = await tx.db
    .selectFrom("query_checkpoints")
    .select("savepoint")
    .where("query_id", "=", id ?? "")
    .where("checkpoint", "=", checkpoint)
    .executeTakeFirst();
  const name = row?.name ?? null;
  const about = { kind: "savepoint", id: id ?? null, name, request: 0, checkpoint } as const;
  if (found === undefined) return { answer: { ...about, done: "none" }, id: undefined };
  if (found.savepoint === null) {
    const message = `the checkpoint ${checkpoint} of the query ${query} is no savepoint`;
    const hint = "It goes by itself when newer ones are complete.";
    throw new OperatingError("conflict", "never", message, { hint });
  }
  await tx.db
    .updateTable("query_checkpoints")
    .set({ savepoint: null })
    .where("query_id", "=", id ?? "")
    .where("checkpoint", "=", checkpoint)
    .execute();
  return { answer: { ...about, done: "dropped" }, id };
}

/** What became of a request: `undefined` while it may still be answered. */
export async function readSavepoint(
  { db }: Tx,
  queryId: string,
  request: number,
): Promise<{ readonly checkpoint: number | null } | undefined> {
  const query = await db
    .selectFrom("queries")
    .select(["state", "savepoints_taken"])
    .where("query_id", "=", queryId)
    .executeTakeFirst();
  if (query === undefined) return { checkpoint: null };
  const isTaken = query.savepoints_taken >= request;
  if (!isTaken) return mayRun.has(query.state) ? undefined : { checkpoint: null };
  const row = await db
    .selectFrom("query_checkpoints")
    .select("checkpoint")
    .where("query_id", "=", queryId)
    .where("savepoint", ">=", request)
    .orderBy("checkpoint")
    .limit(1)
    .executeTakeFirst();
  return { checkpoint: row?.checkpoint ?? null };
}

const mayRun: ReadonlySet<QueryRow["state"]> = new Set([
  "PENDING",
  "DEPLOYING",
  "RUNNING",
  "STOPPING",
]);

function restsNow({ state }: QueryRow): boolean {
  return state === "PAUSED" || state === "TERMINATED" || state === "FAILED";
}

function refuseSavepoint(row: QueryRow): void {
  const shown = shownName(row);
  if (row.is_preview === 1) {
    const message = `the query ${shown} is a preview, which has no checkpoints`;
    throw new OperatingError("conflict", "never", message);
  }
  const isDropped = row.desired_state === "STOPPED";
  if (!isDropped && row.state !== "TERMINATING") return;
  const message = `the query ${shown} is ${isDropped ? "being dropped; it is " : ""}${row.state}`;
  throw new OperatingError("conflict", "never", message);
}

/** Each checkpoint that is recorded looks at what all savepoints refer to. */
const savepointsMax = 20;

async function refuseMore({ db }: Tx, row: QueryRow): Promise<void> {
  const { count } = await db
    .selectFrom("query_checkpoints")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("query_id", "=", row.query_id)
    .where("savepoint", "is not", null)
    .executeTakeFirstOrThrow();
  if (Number(count) < savepointsMax) return;
  const shown = shownName(row);
  const message = `the query ${shown} has ${savepointsMax} savepoints, which is the most`;
  const hint = `SHOW CHECKPOINTS FOR ${shown} lists them; DROP CHECKPOINT n FOR ${shown} makes room.`;
  throw new OperatingError("conflict", "never", message, { hint });
}

async function newestOf({ db }: Tx, queryId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom("query_checkpoints")
    .select("checkpoint")
    .where("query_id", "=", queryId)
    .orderBy("checkpoint", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.checkpoint;
}

async function requireQuery(tx: Tx, name: string): Promise<QueryRow> {
  const row = await findQuery(tx, name);
  if (row === undefined) throw doesNotExist("query", name);
  return row;
}

function shownName({ name, query_id }: QueryRow): string {
  return name ?? query_id;
}
