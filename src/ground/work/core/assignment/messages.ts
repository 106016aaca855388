/**
 * The messages between a controller (coordinator or query-api) and a worker about work. They travel
 * on the control session, in order. Each names its attempt: a work item may be assigned several
 * times, even to the same worker, and a report of an earlier attempt must not count for the current
 * one.
 */
import type { ErrorDetails } from "../../../kernel/errors.ts";
import type { LeafId, QueryId, WorkerId, WorkId } from "../../../kernel/ids.ts";
import type { LogFields } from "../../../kernel/logger.ts";

/** The identity of a work item. Completions are deduplicated by it. */
export interface WorkKey {
  readonly queryId: QueryId;
  readonly leafId: LeafId;
  readonly workId: WorkId;
}

/** `body` is opaque here: the planner of its `kind` writes it and the executor reads it. */
export interface WorkSpec extends WorkKey {
  readonly kind: string;
  readonly body: string;
  /** Works with the same key prefer the same worker, so that its caches are warm. */
  readonly affinityKey: string;
  /** The worker that the planner prefers; used while it takes work. Not sent. */
  readonly preferred?: WorkerId | undefined;
}

/** The artifact contract of interactive-queries.md. Parquet, on the worker's disk. */
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
  /**
   * The artifact's bytes, at most `contentBytesMax` of them, so that they need not be fetched.
   * Whoever takes them verifies them all the same. Only a report carries them.
   */
  readonly content?: Uint8Array | undefined;
}

/** The limit of an artifact whose bytes travel with its report: what HTTP/2 sends at once. */
export const contentBytesMax = 65_536;

/** The limit of a small answer: as large as a work's body, and a quarter of a frame. */
export const answerBytesMax = 1_000_000;

/** One assignment of a work item. */
export interface WorkAttempt {
  readonly key: WorkKey;
  readonly attempt: number;
}

export type WorkCommand =
  | { readonly kind: "assignWork"; readonly work: WorkSpec; readonly attempt: number }
  | ({ readonly kind: "cancelWork" } & WorkAttempt)
  /** The artifact was fetched and verified, or is not wanted: the worker may delete it. */
  | ({ readonly kind: "ackArtifact" } & WorkAttempt);

/** Why a worker would not take work. */
export type RejectReason = "draining" | "not_accepting" | "queue_full";

export type WorkReport = WorkAttempt &
  (
    | { readonly kind: "workAccepted" }
    | { readonly kind: "workRejected"; readonly reason: RejectReason }
    | { readonly kind: "workReady"; readonly artifact: Artifact }
    /** The work is done and this is its whole result: nothing to fetch, acknowledge or expire. */
    | { readonly kind: "workAnswered"; readonly answer: Uint8Array }
    | ({ readonly kind: "workFailed" } & WorkFailure)
  );

export interface WorkFailure extends ErrorDetails {
  /** An `ErrorCode`, as text because the other side may have another version. */
  readonly code: string;
  readonly message: string;
  /**
   * Whether another worker or a later attempt may succeed (disk full, evicted). False when the work
   * itself is at fault.
   */
  readonly retryable: boolean;
}

/** Equal for equal keys only. Ids contain no slash. */
export function workKeyText(key: WorkKey): string {
  return `${key.queryId}/${key.leafId}/${key.workId}`;
}

/** What every log line about a work item carries. */
export function workLogFields({ queryId, workId }: WorkKey): LogFields {
  return { query_id: queryId, work_id: workId };
}

/** The key alone, without the other fields. */
export function keyOf(key: WorkKey): WorkKey {
  return { queryId: key.queryId, leafId: key.leafId, workId: key.workId };
}
