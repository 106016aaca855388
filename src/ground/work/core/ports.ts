/**
 * What the work managers need from the world. The API's manager drives `WorkBoard` from
 * a `WorkPool` and an `ArtifactFetcher`; the worker's manager drives an `Executor` and an
 * `ArtifactSpool`. Production gives DuckDB, disk and HTTP; simulation gives its own.
 */
import type { Admission } from "../../cluster/core/index.ts";
import { OperatingError } from "../../kernel/errors.ts";
import type { WorkerId } from "../../kernel/ids.ts";
import type {
  Artifact,
  BoardEvent,
  WorkCommand,
  WorkKey,
  WorkReport,
  WorkSpec,
} from "./assignment/index.ts";

/** The version of what an artifact's Parquet file means; `parquet_schema_version` on the wire. */
export const artifactSchemaVersion = 1;

/** An artifact's bytes, fetched and verified: small ones in memory, others on this process's disk. */
export interface LocalArtifact {
  /** The bytes, or the path of the file that has them. */
  readonly content: Uint8Array<ArrayBuffer> | string;
  readonly artifact: Artifact;
  /** The path of its file, which is written first where the bytes are in memory. */
  file(): Promise<string>;
  /** Deletes the local copy. Idempotent. */
  dispose(): Promise<void>;
}

export interface ArtifactFetcher {
  /**
   * Throws `OperatingError` with `artifact_lost` (gone or unreachable), `artifact_corrupt` (size or checksum
   * differ), `disk_full`, or `cancelled` when `signal` aborts; resolves only with bytes whose checksum is the
   * artifact's. Whatever it throws, it leaves no file. `key` is the work that the artifact is of.
   */
  fetch(
    workerId: WorkerId,
    artifact: Artifact,
    signal: AbortSignal,
    key: WorkKey,
  ): Promise<LocalArtifact>;
}

/** What an execution left behind, before it is named and offered. */
export interface ProducedFile {
  /** Absent: they are in the slot's file. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly sizeBytes: number;
  readonly checksum: string;
  readonly rowCount: number;
  readonly minTs: number | undefined;
  readonly maxTs: number | undefined;
  readonly schemaVersion: number;
}

/** What came of a work item: an artifact, fetched, or the small answer that it gave in its place. */
export type WorkResult = LocalArtifact | Uint8Array;

/** Throws `query_failed` where the work gave an answer. */
export function artifactOf(result: WorkResult): LocalArtifact {
  if (!(result instanceof Uint8Array)) return result;
  throw new OperatingError("query_failed", "never", "the work gave an answer and no artifact");
}

/** Throws `query_failed` where the work left an artifact. */
export function answerOf(result: WorkResult | undefined): Uint8Array {
  if (result instanceof Uint8Array) return result;
  throw new OperatingError("query_failed", "never", "the work gave no answer");
}

/** It will not execute anything any more, and the process is about to end for it. */
export class ExecutorBroken extends OperatingError {
  constructor(message: string) {
    super("query_failed", "backoff", message);
  }
}

export interface Executor<Produced = ProducedFile | Uint8Array> {
  /**
   * Runs `work` into an artifact of at most `bytesMax` bytes: a file at `path`, or bytes that it gives
   * back with their facts. Where all there is to say of it is small (what it wrote elsewhere, not
   * result rows), it resolves with those bytes alone, at most `answerBytesMax`, and leaves no file.
   * When `signal` aborts it stops soon, leaves no file and throws `cancelled`. Deterministic: the
   * same work gives the same rows. Throws `ExecutorBroken` when that is the end of it.
   */
  execute(work: WorkSpec, path: string, signal: AbortSignal, bytesMax: number): Promise<Produced>;
}

/** A place for one artifact. */
export interface SpoolSlot {
  /** Unique over all artifacts of all incarnations; letters, digits, `-`, `_` and `.` only. */
  readonly name: string;
  /** Where the executor writes. Nothing there is served before `commit`. */
  readonly path: string;
  /** More than this would not be admitted by `commit`. */
  readonly bytesMax: number;
}

export interface SpooledFile {
  /** The bytes, or the path of the file that has them. */
  readonly content: Uint8Array | string;
  readonly sizeBytes: number;
  /** The work that it is of. */
  readonly key: WorkKey;
}

export interface SpoolUsage {
  readonly usedBytes: number;
  /** What may still be written: of the budget or of the disk, whichever has less. */
  readonly freeBytes: number;
}

/**
 * Artifacts of this worker, of this incarnation only, on its disk or, small ones, in memory; all within a
 * disk budget. Room is made in the order of `DiskBudget`; what had to go without having been removed is
 * told to `onEvicted`.
 */
export interface ArtifactSpool {
  /**
   * For an artifact of the work `key`. Throws `disk_full` when not even evicting would give room.
   */
  reserve(key: WorkKey): SpoolSlot;
  /**
   * What was written to the slot, or `bytes` where they are given, becomes the artifact `name`,
   * atomically. Rejects with `disk_full` when it does not fit, and then the slot is gone.
   */
  commit(name: string, sizeBytes: number, bytes?: Uint8Array): Promise<void>;
  /** Nobody waits for it any more: `acked` was fetched, `expired` never was. Such artifacts go first. */
  release(name: string, reason: "acked" | "expired"): void;
  /** Deletes a slot or an artifact. Idempotent; never throws. */
  remove(name: string): void;
  /** `undefined`: never committed, removed, evicted, or of another incarnation. */
  stat(name: string): SpooledFile | undefined;
  usage(): SpoolUsage;
  /** One listener; called never synchronously from within `reserve` or `commit`. */
  onEvicted(listener: (name: string) => void): void;
}

/**
 * What a controller's manager hears of workers, in order: `workerUp` opens a session, `workerDown` ends
 * it, everything else lies between the two.
 */
export type WorkPoolEvent = Extract<BoardEvent, { readonly workerId: WorkerId }>;

/** The workers that take work, as a controller sees them. */
export interface WorkPool {
  /** `workerUp` is replayed to a new listener for every live session. Returns how to unsubscribe. */
  listen(listener: (event: WorkPoolEvent) => void): () => void;
  /** `false`: there is no live session, and `workerDown` has been or is about to be called. */
  send(workerId: WorkerId, command: WorkCommand): boolean;
}

/** Where the worker's manager says what became of work. */
export interface WorkReporter {
  /** `false`: that session is over. */
  report(session: string, report: WorkReport): boolean;
  setAdmission(admission: Admission): void;
}
