/** What a worker has before any kind of work. */
import type { WorkerChannel } from "../../ground/cluster/index.ts";
import type { WorkerId } from "../../ground/kernel/ids.ts";
import type { MemoryBudget, Part, ProcessContext, RoomWatch } from "../../ground/process/index.ts";
import type { Store, WatchedTables } from "../../ground/store/index.ts";
import type { ColumnFiles, Executor, Http2Handler, WorkerNode } from "../../ground/work/index.ts";
import type { Engine } from "../duckdb/index.ts";
import type { LakePlaces, LakeStore, ObjectStore } from "../lake/index.ts";

export interface WorkerContext extends ProcessContext {
  readonly workerId: WorkerId;
  readonly engine: Engine;
  /** The memory that work takes: `shares.memory.workBytes`. */
  readonly workMemory: MemoryBudget;
  readonly objects: ObjectStore;
  readonly places: LakePlaces;
  readonly columnFiles: ColumnFiles;
  /** For files on their way to the lake. */
  readonly stagingDir: string;
  /** Receives every write that found no room. */
  readonly room: RoomWatch;
}

/** The store, for a worker that was told where it is. */
export interface StoreOfWorker {
  readonly store: Store;
  readonly storeUrl: string;
  readonly catalog: LakeStore;
}

/** What a room adds to a worker. */
export interface WorkerPart extends Part {
  /** The executors by kind of work. */
  readonly executors?: Readonly<Record<string, Executor>>;
  /** Conversations of its own over the control sessions. */
  readonly channels?: readonly WorkerChannel[];
  /** Takes streams of HTTP/2 on the data port, and checks who sends them. One part at most. */
  readonly http2?: Http2Handler;
  /** Facts about this worker for the cluster. */
  readonly facts?: Readonly<Record<string, string>>;
  /** Resolves when nothing of it is left that a drain waits for. */
  drained?(): Promise<void>;
  start?(node: WorkerNode): void;
}

/** A kind of work in a worker. */
export interface WorkerKind<Options> {
  /** Its tables whose changes are logged. */
  readonly watched?: WatchedTables;
  readonly createPart?: (
    context: WorkerContext,
    options: Options,
  ) => WorkerPart | Promise<WorkerPart>;
  readonly createPartWithStore?: (
    context: WorkerContext & StoreOfWorker,
    options: Options,
  ) => WorkerPart | Promise<WorkerPart>;
}
