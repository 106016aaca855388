/** What the HTTP surface needs from its process. A coordinator and a query-api each give their own. */

import type { Clock } from "../kernel/clock.ts";
import type { QueryId, Revision, WorkerId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import type { LoadService } from "../load/index.ts";
import type { IngestService } from "../metrics/index.ts";
import type { PromqlService } from "../queries/index.ts";
import type { RefreshLoad } from "./external-metrics.ts";
import type {
  QueryRecordBody,
  ReadyBody,
  RegistrationBody,
  StatusBody,
  WorkerBody,
} from "./schemas.ts";
import type {
  DynamicTableBody,
  DynamicTableDetailBody,
  LagBody,
  RefreshBody,
  TableBody,
} from "./table-schemas.ts";

export interface ApiPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly workers: WorkersPort;
  readonly queries: QueriesPort;
  /** `undefined`, as the next two: this process has no store, and so no tables. */
  readonly tables: TablesPort | undefined;
  readonly uploads: UploadsPort | undefined;
  readonly refreshLoad: (() => Promise<RefreshLoad>) | undefined;
  readonly load: LoadService | undefined;
  readonly promql: PromqlService;
  /** Where samples go, once its log is open. Throws `not_leader` where another process has the head. */
  readonly ingest: () => Promise<IngestService>;
  ready(): ReadyBody;
  status(): Promise<StatusBody>;
  /** In the format that an `Accept` header asks for. */
  metrics(
    accept: string | undefined,
  ): Promise<{ readonly contentType: string; readonly text: string }>;
  /**
   * A SNAPSHOT, then events, until `signal` aborts. Throws `bad_request` for what cannot be watched
   * and `unsupported` where this process has no store.
   */
  watch(request: WatchRequest, signal: AbortSignal): AsyncIterable<WatchMessage>;
}

export interface WatchRequest {
  readonly table: string | undefined;
  readonly select: string | undefined;
  readonly fromRevision: Revision | undefined;
}

export type WatchMessage =
  | {
      readonly type: "SNAPSHOT";
      readonly revision: number;
      readonly data: readonly Readonly<Record<string, unknown>>[];
    }
  | {
      readonly type: "EVENT";
      readonly op: "CREATE" | "UPDATE" | "DROP";
      readonly key: string;
      readonly revision: number;
      readonly data?: Readonly<Record<string, unknown>>;
    };

/** Changes throw `not_leader` where another process holds the lease. */
export interface WorkersPort {
  /** At most `limit`, in the order of their names, after `after`. */
  list(page: {
    readonly limit: number;
    readonly after: string | undefined;
  }): Promise<readonly WorkerBody[]>;
  get(workerId: WorkerId): Promise<WorkerBody | undefined>;
  register(registration: RegistrationBody): Promise<void>;
  setDrainRequested(workerId: WorkerId, draining: boolean): Promise<void>;
  drop(workerId: WorkerId): Promise<void>;
}

export interface UploadsPort {
  begin(): string;
  /** The size after it. Chunks come in order; one that came already changes nothing. */
  append(id: string, offset: number, bytes: Uint8Array): Promise<number>;
  discard(id: string): Promise<void>;
}

/** `undefined`: there is no table of that name. */
export type TableVerb = "refresh" | "refreshed" | "suspend" | "resume" | "drop";

export interface TablesPort {
  list(): Promise<{ readonly snapshot: number; readonly items: readonly TableBody[] }>;
  listDynamic(): Promise<{ readonly nowMs: number; readonly items: readonly DynamicTableBody[] }>;
  getDynamic(name: string): Promise<DynamicTableDetailBody | undefined>;
  /** The newest first, those before the number `before`. */
  history(
    name: string,
    page: { readonly limit: number; readonly before: number | undefined },
  ): Promise<readonly RefreshBody[] | undefined>;
  lag(name: string, windowMs: number): Promise<LagBody | undefined>;
  /** `false`: there is no such dynamic table. `refreshed`: the answer waits for the refresh. */
  change(
    name: string,
    verb: TableVerb,
    options: { readonly queryId: QueryId; readonly timeoutMs: number | undefined },
    signal: AbortSignal,
  ): Promise<boolean>;
  preview(
    name: string,
    options: { readonly limit: number; readonly queryId: QueryId },
    signal: AbortSignal,
  ): Promise<{ readonly stream: AsyncIterable<Uint8Array> } | undefined>;
}

export interface QueriesPort {
  /** Rejects as long as nothing of the result is known; later failures are in the stream. */
  sql(
    sql: string,
    options: {
      readonly queryId: QueryId;
      readonly timeoutMs: number | undefined;
      readonly traceparent: string | undefined;
      /** Whether the statement may change something. */
      readonly mayWrite: boolean;
      /** The file of a COPY. */
      readonly uploadId: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<{ readonly stream: AsyncIterable<Uint8Array> }>;
  /** Running ones first, then ended ones, newest first. */
  list(): readonly QueryRecordBody[];
  /** `false`: no such query is running here. */
  cancel(queryId: QueryId): boolean;
  queue(): { readonly depth: number; readonly oldestAgeMs: number };
}
