/**
 * The catalog's rows as people see them: what requests answer, SHOW prints and the API sends. Plain
 * JSON. Secrets are in none of them: the rows that they are made from have references (SC9).
 */
import type { Schema, Settings } from "../../language/core/index.ts";
import type { QueryDetail } from "./query-detail.ts";
import type { DesiredState, FragmentState, QueryState, StopMode } from "./states.ts";

export interface LogicalSourceBody {
  readonly source_id: string;
  readonly name: string;
  readonly kind: "LOGICAL" | "DERIVED" | "VIEW" | "SYSTEM";
  readonly schema: Schema;
  readonly watermark: { readonly column: number; readonly boundMs: number } | null;
  /** The query of a derived source or a view. */
  readonly definition: string | null;
  readonly created_at_ms: number;
}

export interface PhysicalSourceBody {
  readonly physical_source_id: string;
  readonly logical_source: string;
  readonly type: string;
  readonly config: Settings;
  readonly parser: Settings;
  /** `null`: any worker may read it. */
  readonly worker_id: string | null;
  readonly created_at_ms: number;
}

export interface SinkBody {
  readonly sink_id: string;
  readonly name: string;
  /** `null`: it takes whatever a query gives. */
  readonly schema: Schema | null;
  readonly type: string;
  readonly config: Settings;
  readonly formatter: Settings;
  readonly worker_id: string | null;
  readonly created_at_ms: number;
}

export interface QueryBody {
  readonly query_id: string;
  readonly name: string | null;
  readonly state: QueryState;
  /** The detail of its state, derived from the states of its fragments. */
  readonly detail: QueryDetail | null;
  /** Why it is in this state. */
  readonly state_reason: string;
  readonly desired_state: DesiredState;
  readonly stop_mode: StopMode | null;
  readonly epoch: number;
  /** The query that took its name, and starts when this one is removed. */
  readonly superseded_by: string | null;
  readonly guarantee: string;
  /** It shows rows to somebody, and is gone when nobody looks (SC60). */
  readonly is_preview: boolean;
  readonly error: {
    readonly code: string;
    readonly number: number | null;
    readonly worker_id: string | null;
  } | null;
  /** How many fragments are in each state. */
  readonly fragments: Readonly<Partial<Record<FragmentState, number>>>;
  readonly statement: string;
  readonly created_at_ms: number;
  readonly state_changed_at_ms: number;
}

export interface FragmentBody {
  readonly fragment: string;
  readonly worker_id: string;
  readonly is_pinned: boolean;
  readonly epoch: number;
  readonly state: FragmentState;
  readonly state_reason: string;
  readonly state_changed_at_ms: number;
}

export interface StateChangeBody {
  readonly number: number;
  readonly epoch: number;
  readonly from_state: string;
  /** `null`: the query was removed. */
  readonly to_state: QueryState | null;
  readonly reason: string;
  readonly at_ms: number;
}

export interface QueryDetailBody extends QueryBody {
  readonly logical_sources: readonly string[];
  /** Those that there were when it was planned (SC8). */
  readonly physical_sources: readonly string[];
  readonly sinks: readonly string[];
  readonly deployed: readonly FragmentBody[];
  /** The newest change last. */
  readonly history: readonly StateChangeBody[];
}

export interface CheckpointBody {
  readonly query_id: string;
  /** Of the query. */
  readonly name: string | null;
  readonly checkpoint: number;
  /** A savepoint was asked for, and stays until it is dropped. */
  readonly kind: "CHECKPOINT" | "SAVEPOINT";
  readonly epoch: number;
  readonly size_bytes: number;
  readonly duration_ms: number;
  readonly completed_at_ms: number;
}

export interface StreamWorkerBody {
  readonly worker_id: string;
  /** The name that CREATE WORKER gave it. */
  readonly label: string | null;
  readonly host: string;
  readonly grpc_port: number;
  readonly data_port: number;
  readonly state: "ACTIVE" | "UNREACHABLE";
  readonly state_reason: string;
  readonly draining: boolean;
  readonly slots: number;
  readonly slots_used: number;
  /** The workers that it sends to; without any, it reaches all. */
  readonly peers: readonly string[];
}

export type CatalogBody =
  | LogicalSourceBody
  | PhysicalSourceBody
  | SinkBody
  | QueryBody
  | StreamWorkerBody;

export type CatalogObject =
  | "logical source"
  | "physical source"
  | "sink"
  | "view"
  | "query"
  | "worker";

/** What became of a change; it is stored as JSON for requests with an id (SC13). */
export type ChangeAnswer =
  | {
      readonly kind: "created";
      readonly object: CatalogObject;
      readonly id: string;
      readonly name: string | null;
      /** IF NOT EXISTS found it there. */
      readonly existed: boolean;
      /** The query that it replaces, and that query's state. */
      readonly replaced?: { readonly query_id: string; readonly state: QueryState };
      /** The checkpoint that it begins with; absent: it begins without state. */
      readonly from?: { readonly query_id: string; readonly checkpoint: number };
    }
  | {
      readonly kind: "dropped";
      readonly object: CatalogObject;
      readonly name: string;
      /** What was dropped; `null` when there was nothing (SC12). */
      readonly row: CatalogBody | null;
    }
  | {
      readonly kind: "savepoint";
      readonly done: "asked" | "dropped" | "none";
      /** Of the query. */
      readonly id: string | null;
      readonly name: string | null;
      /** Which of the query's requests for a savepoint it is. */
      readonly request: number;
      /** `null` while it is not taken. */
      readonly checkpoint: number | null;
    }
  | {
      readonly kind: "desired";
      readonly id: string;
      readonly name: string | null;
      readonly desired: DesiredState;
    };
