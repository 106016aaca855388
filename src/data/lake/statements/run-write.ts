/**
 * Runs a change of rows, from the works of workers to the commit. After a conflict it is computed
 * anew from the current lake. Files of a failed attempt are deleted. A commit with unknown outcome
 * is repeated with its token; while it stays unknown its files stay, since they may be the lake's.
 */

import { backoffMs } from "../../../ground/kernel/backoff.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { LeafId, QueryId, WorkId } from "../../../ground/kernel/ids.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import { type ApiWorkManager, answerOf } from "../../../ground/work/index.ts";
import type { Commit, Committed, LakeCatalog, ObjectStore, SnapshotId } from "../core/index.ts";
import type { LakeWrite, LakeWritten } from "./lake-write.ts";
import { lakeWriteBody, lakeWriteWorkKind } from "./lake-write-executor.ts";

export interface WriteDeps {
  readonly manager: Pick<ApiWorkManager, "run">;
  readonly catalog: Pick<LakeCatalog, "commit">;
  readonly objects: Pick<ObjectStore, "delete">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly prng: Prng;
}

export interface WriteAttempt {
  readonly write: LakeWrite;
  readonly readSnapshot: SnapshotId;
  /** The changes to commit. */
  readonly changes: (written: LakeWritten) => Commit["changes"];
  /** Replaces the catalog's `commit` where others take part in it. */
  readonly commit?: (commit: Commit) => Promise<Committed>;
}

export interface WriteRequest {
  readonly queryId: QueryId;
  readonly text: string;
  /** For all attempts together. */
  readonly deadlineMs: number;
  /** Computes the write from the current lake. */
  readonly attempt: () => Promise<WriteAttempt>;
}

/** The pause between attempts, randomized so that two writers do not collide again. */
const conflictPause = { minMs: 40, maxMs: 1_000 };
const commitsMax = 5;
const commitPause = { minMs: 200, maxMs: 1_000 };

export async function runWrite(
  deps: WriteDeps,
  request: WriteRequest,
  signal: AbortSignal,
): Promise<{ readonly written: LakeWritten; readonly committed: Committed | undefined }> {
  const { objects } = deps;
  const endMs = deps.clock.nowMs() + request.deadlineMs;
  for (let attempt = 1; ; attempt += 1) {
    const { write, readSnapshot, changes, commit } = await request.attempt();
    const queryId = (attempt === 1 ? request.queryId : `${request.queryId}-${attempt}`) as QueryId;
    const logger = deps.logger.with({ query_id: queryId });
    const deadlineMs = Math.max(1, endMs - deps.clock.nowMs());
    const written = await executeWrite(deps, { ...request, queryId, deadlineMs }, write, signal);
    if (written.insertedCount + written.deletedCount === 0)
      return { written, committed: undefined };
    try {
      const said: Commit = {
        readSnapshot,
        token: queryId,
        changes: changes(written),
        author: "sql",
        message: request.text.slice(0, 200),
      };
      const committed = await commitWritten(deps, said, signal, commit);
      return { written, committed };
    } catch (thrown) {
      if (isInDoubt(thrown)) throw thrown; // Its files may be the lake's.
      await discardWritten({ objects, logger }, written);
      const isConflict = thrown instanceof OperatingError && thrown.code === "conflict";
      if (!isConflict || deps.clock.nowMs() >= endMs || signal.aborted) throw thrown;
      logger.info({ attempt }, `the write begins anew: ${thrown.message}`);
      await sleep(deps.clock, backoffMs(conflictPause, attempt, deps.prng.next()), signal);
    }
  }
}

/** Throws `commit_unknown` if the outcome is unknown. After other errors nothing is committed. */
export async function commitWritten(
  { catalog, clock }: Pick<WriteDeps, "catalog" | "clock">,
  commit: Commit,
  signal: AbortSignal,
  say: (commit: Commit) => Promise<Committed> = (said) => catalog.commit(said),
): Promise<Committed> {
  let doubt: unknown;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await say(commit);
    } catch (thrown) {
      if (isInDoubt(thrown)) doubt = thrown;
      // A store that cannot be asked again does not tell that the first commit failed.
      if (doubt === undefined || !isStoreTrouble(thrown)) throw thrown;
      if (attempt >= commitsMax || signal.aborted) throw doubt;
      await sleep(clock, backoffMs(commitPause, attempt), signal);
    }
  }
}

/** Whether the commit may have happened. */
export function isInDoubt(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "commit_unknown";
}

function isStoreTrouble(thrown: unknown): boolean {
  const codes = ["store_busy", "store_unavailable", "commit_unknown"];
  return thrown instanceof OperatingError && codes.includes(thrown.code);
}

/** Runs on some worker. What it wrote is not committed yet. */
export async function executeWrite(
  { manager }: Pick<WriteDeps, "manager">,
  { queryId, text, deadlineMs }: Pick<WriteRequest, "deadlineMs" | "queryId" | "text">,
  write: LakeWrite,
  signal: AbortSignal,
): Promise<LakeWritten> {
  const work = {
    queryId,
    leafId: "0" as LeafId,
    workId: "0" as WorkId,
    kind: lakeWriteWorkKind,
    body: lakeWriteBody(write),
    affinityKey: queryId,
  };
  const [result] = await manager.run({ queryId, works: [work], deadlineMs, text }, signal);
  return JSON.parse(new TextDecoder().decode(answerOf(result))) as LakeWritten;
}

export async function discardWritten(
  { objects, logger }: Pick<WriteDeps, "logger" | "objects">,
  written: LakeWritten,
): Promise<void> {
  const paths = [...written.added, ...written.deletes].map(({ path }) => path);
  await objects.delete(paths).catch((thrown: unknown) => {
    logger.warn({}, `files of a failed write are left: ${messageOf(thrown)}`);
  });
}
