/**
 * The ports of the work managers. The API's manager uses a `WorkPool` and an `ArtifactFetcher`, the
 * worker's an `Executor` and an `ArtifactSpool`. Production implements them with DuckDB, disk and
 * HTTP; simulation has its own.
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

/** The version of an artifact's Parquet schema; `parquet_schema_version` on the wire. */
export const artifactSchemaVersion = 1;

/**
 * An artifact's bytes, fetched and verified: small ones in memory, others on this process's disk.
 */
export interface LocalArtifact {
  /** The bytes, or the path of their file. */
  readonly content: Uint8Array<ArrayBuffer> | string;
  readonly artifact: Artifact;
  /** The path of the artifact's file, which is first written if the bytes are in memory. */
  file(): Promise<string>;
  /** Deletes the local copy. Idempotent. */
  dispose(): Promise<void>;
}

export interface ArtifactFetcher {
  /**
   * Resolves only with bytes that have the artifact's checksum. Throws `artifact_lost` (gone or
   * unreachable), `artifact_corrupt` (size or checksum differ), `disk_full`, or `cancelled`, and
   * then leaves no file. `key` is the artifact's work.
   */
  fetch(
    workerId: WorkerId,
    artifact: Artifact,
    signal: AbortSignal,
    key: WorkKey,
  ): Promise<LocalArtifact>;
}

/** What an execution produced, before it is named and offered. */
export interface ProducedFile {
  /** Absent when the bytes are in the slot's file. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly sizeBytes: number;
  readonly checksum: string;
  readonly rowCount: number;
  readonly minTs: number | undefined;
  readonly maxTs: number | undefined;
  readonly schemaVersion: number;
}

/** The result of a work item: a fetched artifact, or a small answer. */
export type WorkResult = LocalArtifact | Uint8Array;

/** Throws `query_failed` if the work gave an answer. */
export function artifactOf(result: WorkResult): LocalArtifact {
  if (!(result instanceof Uint8Array)) return result;
  throw new OperatingError("query_failed", "never", "the work gave an answer and no artifact");
}

/** Throws `query_failed` if the work left an artifact. */
export function answerOf(result: WorkResult | undefined): Uint8Array {
  if (result instanceof Uint8Array) return result;
  throw new OperatingError("query_failed", "never", "the work gave no answer");
}

/** The executor can execute nothing more, and the process is about to end. */
export class ExecutorBroken extends OperatingError {
  constructor(message: string) {
    super("query_failed", "backoff", message);
  }
}

export interface Executor<Produced = ProducedFile | Uint8Array> {
  /**
   * Runs `work` into an artifact of at most `bytesMax` bytes: a file at `path`, or returned bytes.
   * A small result that is not rows (what it wrote elsewhere) is returned as bytes alone, at most
   * `answerBytesMax`, without a file. After an abort it stops soon, leaves no file and throws
   * `cancelled`. Deterministic: the same work gives the same rows. Throws `ExecutorBroken` when it
   * can execute nothing more.
   */
  execute(work: WorkSpec, path: string, signal: AbortSignal, bytesMax: number): Promise<Produced>;
}

/** A place for one artifact. */
export interface SpoolSlot {
  /** Unique over all artifacts of all incarnations; only letters, digits, `-`, `_` and `.`. */
  readonly name: string;
  /** Where the executor writes. Nothing is served before `commit`. */
  readonly path: string;
  /** `commit` would not admit more. */
  readonly bytesMax: number;
}

export interface SpooledFile {
  /** The bytes, or the path of their file. */
  readonly content: Uint8Array | string;
  readonly sizeBytes: number;
  /** The artifact's work. */
  readonly key: WorkKey;
}

export interface SpoolUsage {
  readonly usedBytes: number;
  /** What may still be written: the smaller room of budget and disk. */
  readonly freeBytes: number;
}

/**
 * Artifacts of this incarnation of the worker, on its disk or (small ones) in memory, within a disk
 * budget. Room is made in the order of `DiskBudget`; `onEvicted` is told what was evicted.
 */
export interface ArtifactSpool {
  /** Reserves a slot for the work `key`. Throws `disk_full` when even evicting gives no room. */
  reserve(key: WorkKey): SpoolSlot;
  /**
   * Makes the slot's file, or `bytes` if given, the artifact `name`, atomically. Rejects with
   * `disk_full` when it does not fit, and removes the slot.
   */
  commit(name: string, sizeBytes: number, bytes?: Uint8Array): Promise<void>;
  /** Lets the artifact be evicted first: `acked` was fetched, `expired` never was. */
  release(name: string, reason: "acked" | "expired"): void;
  /** Deletes a slot or an artifact. Idempotent; never throws. */
  remove(name: string): void;
  /** Undefined when never committed, removed, evicted, or of another incarnation. */
  stat(name: string): SpooledFile | undefined;
  usage(): SpoolUsage;
  /** One listener; never called synchronously from `reserve` or `commit`. */
  onEvicted(listener: (name: string) => void): void;
}

/**
 * What a controller's manager hears of workers, in order: `workerUp` opens a session, `workerDown`
 * ends it, all other events are between the two.
 */
export type WorkPoolEvent = Extract<BoardEvent, { readonly workerId: WorkerId }>;

/** The workers that take work, as a controller sees them. */
export interface WorkPool {
  /** `workerUp` is replayed to a new listener for every live session. Returns the unsubscriber. */
  listen(listener: (event: WorkPoolEvent) => void): () => void;
  /** Returns false without a live session; `workerDown` has been or is about to be called. */
  send(workerId: WorkerId, command: WorkCommand): boolean;
}

/** Where the worker's manager reports the outcome of work. */
export interface WorkReporter {
  /** Returns false when that session is over. */
  report(session: string, report: WorkReport): boolean;
  setAdmission(admission: Admission): void;
}
