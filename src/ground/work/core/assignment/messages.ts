/**
 * What a controller (coordinator or query-api) and a worker say to each other about work. These are
 * the only messages that assignment knows; they travel on the control session, in order.
 *
 * Every message names the attempt it is about. A work item may be assigned several times, even to
 * the same worker, and a report of an earlier attempt must not be taken for one of the current.
 */
import type { LeafId, QueryId, WorkerId, WorkId } from "../../../kernel/ids.ts";
import type { LogFields } from "../../../kernel/logger.ts";

/** The identity of a work item. Completions are deduplicated by it. */
export interface WorkKey {
  readonly queryId: QueryId;
  readonly leafId: LeafId;
  readonly workId: WorkId;
}

/** What to do. `body` is opaque here: its `kind`'s planner writes it and its executor reads it. */
export interface WorkSpec extends WorkKey {
  readonly kind: string;
  readonly body: string;
  /** Work with one key prefers one worker, so that its caches are warm. */
  readonly affinityKey: string;
  /**
   * The planner's choice, where it has one: taken as long as that worker takes work. It is not
   * sent.
   */
  readonly preferred?: WorkerId | undefined;
}

/** The artifact contract of interactive-queries.md, all eight fields. Parquet, on the worker's disk. */
export interface Artifact {
  readonly workId: WorkId;
  readonly url: string;
  readonly sizeBytes: number;
  /** `sha256:` and 64 hexadecimal digits, over the file's bytes. */
  readonly checksum: string;
  readonly rowCount: number;
  /** Milliseconds since 1970; `undefined` where the rows carry no time. */
  readonly minTs: number | undefined;
  readonly maxTs: number | undefined;
  readonly schemaVersion: number;
}

/** Of a small answer: as much as a work's description may have, and a quarter of a frame. */
export const answerBytesMax = 1_000_000;

/** One assignment of a work item. */
export interface WorkAttempt {
  readonly key: WorkKey;
  readonly attempt: number;
}

export type WorkCommand =
  | { readonly kind: "assignWork"; readonly work: WorkSpec; readonly attempt: number }
  | ({ readonly kind: "cancelWork" } & WorkAttempt)
  /** The artifact was fetched and verified, or is no longer wanted: the worker may delete it. */
  | ({ readonly kind: "ackArtifact" } & WorkAttempt);

/** Why a worker would not take work. */
export type RejectReason = "draining" | "not_accepting" | "queue_full";

export type WorkReport = WorkAttempt &
  (
    | { readonly kind: "workAccepted" }
    | { readonly kind: "workRejected"; readonly reason: RejectReason }
    | { readonly kind: "workReady"; readonly artifact: Artifact }
    /** The work is done, and this is all there is of it: nothing to fetch, acknowledge or expire. */
    | { readonly kind: "workAnswered"; readonly answer: Uint8Array }
    | ({ readonly kind: "workFailed" } & WorkFailure)
  );

export interface WorkFailure {
  /** An `ErrorCode`; as text, since the other side may be of another version. */
  readonly code: string;
  readonly message: string;
  /** `true`: another worker, or another time, may succeed (disk full, evicted). `false`: the work itself is at fault. */
  readonly retryable: boolean;
}

/** A text that is equal for equal keys only. Ids contain no slash. */
export function workKeyText(key: WorkKey): string {
  return `${key.queryId}/${key.leafId}/${key.workId}`;
}

/** What every log line about a work item carries. */
export function workLogFields({ queryId, workId }: WorkKey): LogFields {
  return { query_id: queryId, work_id: workId };
}

/** The identity alone, without what travels once. */
export function keyOf(key: WorkKey): WorkKey {
  return { queryId: key.queryId, leafId: key.leafId, workId: key.workId };
}
