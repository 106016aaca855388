/**
 * All changes of one request, in one transaction under the lease (SC10): they are done as a whole
 * or not at all. Changes that a plan stands behind are applied only if the definitions and the
 * slots that it was made from still hold; otherwise nothing is done and the caller plans anew
 * (SC21).
 */
import { sql } from "kysely";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../../../../ground/store/index.ts";
import type { ChangeAnswer } from "../core/bodies.ts";
import type { CatalogChange } from "../core/changes.ts";
import type { Topology } from "../core/planner.ts";
import { type Applying, type DialledWorker, PlanOutdated } from "./applying.ts";
import { askForSavepoint, dropCheckpoint } from "./checkpoint-rows.ts";
import {
  createLogicalSource,
  createPhysicalSource,
  createQuery,
  createSink,
} from "./create-rows.ts";
import { createWorker } from "./create-worker.ts";
import { dropObject, setDesired } from "./drop-rows.ts";
import { planHolds } from "./plan-holds.ts";
import { settleSuperseded } from "./supersede.ts";

export interface RequestToApply {
  readonly changes: readonly CatalogChange[];
  /** `stream_catalog.version` when the changes were planned, and the workers' links. */
  readonly version: number;
  readonly links: Topology["links"];
  /** What the workers said that the request creates, by `host:port`. */
  readonly dialled: ReadonlyMap<string, DialledWorker>;
  readonly repeat: RepeatKey | undefined;
}

/** A request that may come again: its id, and what it asked for (SC13). */
export interface RepeatKey {
  readonly requestId: string;
  readonly fingerprint: string;
}

export type ApplyOutcome =
  | { readonly kind: "applied"; readonly answers: readonly ChangeAnswer[] }
  /** What the changes were planned from is no more; `cause` says what to tell after many tries. */
  | { readonly kind: "replan"; readonly cause: OperatingError };

const answersKeptMs = 24 * 3_600_000;

export async function applyChanges(
  store: Store,
  lease: LeaseGrant,
  request: RequestToApply,
): Promise<ApplyOutcome> {
  try {
    return await store.catalogTransaction((tx) => applyAll(tx, request), lease);
  } catch (thrown) {
    if (thrown instanceof PlanOutdated) return { kind: "replan", cause: changedMeanwhile() };
    const isFull = thrown instanceof OperatingError && thrown.code === "InsufficientCapacity";
    if (!isFull || thrown.retry === "never") throw thrown;
    return { kind: "replan", cause: thrown };
  }
}

/** The answers of an earlier request with this id. Throws `conflict` for another request. */
export async function readRepeated(
  { db }: Tx,
  { requestId, fingerprint }: RepeatKey,
): Promise<readonly ChangeAnswer[] | undefined> {
  const row = await db
    .selectFrom("stream_requests")
    .select("answer")
    .where("request_id", "=", requestId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const first = JSON.parse(row.answer) as { fingerprint: string; answers: ChangeAnswer[] };
  if (first.fingerprint === fingerprint) return first.answers;
  const message = `another request had the id ${requestId}`;
  throw new OperatingError("conflict", "never", message, { hint: "Give each request its own id." });
}

async function applyAll(tx: CatalogTx, request: RequestToApply): Promise<ApplyOutcome> {
  const { changes, repeat } = request;
  const repeated = repeat && (await readRepeated(tx, repeat));
  if (repeated !== undefined) return { kind: "applied", answers: repeated };
  const { version } = await tx.db
    .selectFrom("stream_catalog")
    .select("version")
    .executeTakeFirstOrThrow();
  if (version !== request.version && !(await planHolds(tx, changes, request.links))) {
    return { kind: "replan", cause: changedMeanwhile() };
  }
  const answers: ChangeAnswer[] = [];
  const ids: (string | undefined)[] = [];
  const { dialled } = request;
  const bundle = { isAlone: changes.length === 1, queries: new Set<string>(), superseded: [] };
  const applying = { tx, nowMs: await tx.nowMs(), ids, dialled, bundle };
  for (const change of changes) {
    const { answer, id } = await apply(applying, change);
    answers.push(answer);
    ids.push(wasThere(answer) ? undefined : id);
  }
  await settleSuperseded(applying);
  if (answers.some(isDefinition)) {
    await tx.db
      .updateTable("stream_catalog")
      .set({ version: sql`version + 1` })
      .where("id", "=", 1)
      .execute();
  }
  if (repeat !== undefined) await keepAnswers(applying, repeat, answers);
  return { kind: "applied", answers };
}

async function apply(
  applying: Applying,
  change: CatalogChange,
): Promise<{ readonly answer: ChangeAnswer; readonly id: string | undefined }> {
  switch (change.kind) {
    case "createLogicalSource":
      return withId(await createLogicalSource(applying, change));
    case "createPhysicalSource":
      return withId(await createPhysicalSource(applying, change));
    case "createSink":
      return withId(await createSink(applying, change));
    case "createQuery":
      return withId(await createQuery(applying, change));
    case "createWorker":
      return withId(await createWorker(applying, change));
    case "drop":
      return await dropObject(applying, change);
    case "setDesired":
      return await setDesired(applying, change);
    case "checkpointQuery":
      return await askForSavepoint(applying, change);
    case "dropCheckpoint":
      return await dropCheckpoint(applying, change);
  }
}

function withId(answer: Extract<ChangeAnswer, { readonly kind: "created" }>) {
  return { answer, id: answer.id };
}

function wasThere(answer: ChangeAnswer): boolean {
  return answer.kind === "created" && answer.existed;
}

/** Whether later plans may come out otherwise; queries refer to definitions and are none. */
function isDefinition(answer: ChangeAnswer): boolean {
  if (answer.kind === "desired" || answer.kind === "savepoint") return false;
  if (answer.object === "query") return false;
  return answer.kind === "created" ? !answer.existed : answer.row !== null;
}

async function keepAnswers(
  { tx, nowMs }: Applying,
  { requestId, fingerprint }: RepeatKey,
  answers: readonly ChangeAnswer[],
): Promise<void> {
  await tx.db
    .deleteFrom("stream_requests")
    .where("at_ms", "<", nowMs - answersKeptMs)
    .execute();
  const answer = JSON.stringify({ fingerprint, answers });
  await tx.db
    .insertInto("stream_requests")
    .values({ request_id: requestId, answer, at_ms: nowMs })
    .execute();
}

function changedMeanwhile(): OperatingError {
  return new OperatingError(
    "conflict",
    "backoff",
    "sources, sinks or workers changed again and again while the statement was planned",
    { hint: "Try again." },
  );
}
