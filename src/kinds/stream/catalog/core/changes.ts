/**
 * What a statement or a request of the API comes to: a change of the catalog, as data, or a
 * question. The planner makes them of statements (`planner.ts`), the store applies them
 * (`../store`): all of one request in one transaction.
 *
 * Rows that a change refers to are named by their ids, as they were in the snapshot that it was
 * made from. An id that a change of the same bundle gives to a new row is written `new:N`, N being
 * the place of that change in the bundle; the store puts the real one in.
 */
import type { Guarantee, Schema, Settings } from "../../language/core/index.ts";
import type { DesiredState, FragmentState, QueryState, StopMode } from "./states.ts";
import type { StoredPlan } from "./stored-plan.ts";

export type CatalogChange =
  | CreateLogicalSource
  | CreatePhysicalSource
  | CreateSink
  | CreateQuery
  | CreateWorker
  | DropObject
  | SetDesired
  | CheckpointQuery
  | DropCheckpoint;

export interface CreateLogicalSource {
  readonly kind: "createLogicalSource";
  readonly name: string;
  readonly ifNotExists: boolean;
  readonly sourceKind: "LOGICAL" | "DERIVED" | "VIEW";
  readonly schema: Schema;
  readonly watermark: { readonly column: number; readonly boundMs: number } | undefined;
  /** The query of a derived source or a view, as text. */
  readonly definition: string | undefined;
  /** The sources and views that the definition names. */
  readonly uses: readonly string[];
}

export interface CreatePhysicalSource {
  readonly kind: "createPhysicalSource";
  readonly ifNotExists: boolean;
  readonly sourceId: string;
  readonly logicalName: string;
  /** As it was written; the store looks for the worker (SC18). */
  readonly placement: string | undefined;
  readonly type: string;
  readonly config: Settings;
  readonly parser: Settings;
}

export interface CreateSink {
  readonly kind: "createSink";
  readonly name: string;
  readonly ifNotExists: boolean;
  readonly schema: Schema | undefined;
  readonly placement: string | undefined;
  readonly type: string;
  readonly config: Settings;
  readonly formatter: Settings;
}

export interface CreateQuery {
  readonly kind: "createQuery";
  readonly name: string | undefined;
  readonly ifNotExists: boolean;
  /** CREATE OR REPLACE QUERY. */
  readonly replaces: boolean;
  /** Its rows go to the client that asked; it is dropped when that client leaves (SC60). */
  readonly isPreview: boolean;
  /** As it was written. */
  readonly statement: string;
  readonly guarantee: Guarantee;
  readonly plan: StoredPlan;
  /** Where each fragment of the plan runs, in the plan's order. */
  readonly placement: readonly PlacedFragment[];
  readonly logicalSources: readonly string[];
  readonly physicalSources: readonly string[];
  readonly sinks: readonly string[];
  readonly tables: readonly { readonly tableId: number; readonly writes: boolean }[];
  /** Absent: it begins without state. */
  readonly from?: FromCheckpoint;
}

export interface FromCheckpoint {
  readonly query: string;
  readonly checkpoint: number;
}

export interface PlacedFragment {
  readonly fragment: string;
  readonly workerId: string;
  /** The worker is named by a source or a sink of the fragment. */
  readonly isPinned: boolean;
}

export interface CreateWorker {
  readonly kind: "createWorker";
  readonly label: string | undefined;
  readonly ifNotExists: boolean;
  readonly host: string;
  readonly grpcPort: number;
  /** `undefined`: what the worker says. */
  readonly dataPort: number | undefined;
  readonly slots: number;
  /** The workers that it sends to, as they were written. */
  readonly peers: readonly string[];
}

export interface DropObject {
  readonly kind: "drop";
  readonly object: "logical source" | "physical source" | "sink" | "view" | "query" | "worker";
  /** A name; of a physical source its id; of a query its name or its id. */
  readonly name: string;
  readonly ifExists: boolean;
  /** Of a query; a drop without a mode is HARD. */
  readonly mode: StopMode;
}

/** PAUSE QUERY, RESUME QUERY. */
export interface SetDesired {
  readonly kind: "setDesired";
  readonly query: string;
  readonly desired: Exclude<DesiredState, "STOPPED">;
  /** RESUME QUERY q FROM CHECKPOINT n; absent: it goes on where it was paused. */
  readonly checkpoint?: number;
}

/** CHECKPOINT QUERY: a checkpoint that is kept (SC50). */
export interface CheckpointQuery {
  readonly kind: "checkpointQuery";
  readonly query: string;
}

export interface DropCheckpoint {
  readonly kind: "dropCheckpoint";
  readonly query: string;
  readonly checkpoint: number;
  readonly ifExists: boolean;
}

/** A question, which changes nothing. */
export type CatalogQuestion =
  | {
      readonly kind: "checkpoints";
      /** `undefined`: those of all queries. */
      readonly query: string | undefined;
      readonly format: "text" | "json";
    }
  | { readonly kind: "explain"; readonly answer: string; readonly format: "text" | "json" }
  | {
      readonly kind: "show";
      readonly object: DropObject["object"];
      readonly filter: ShowFilter;
      readonly format: "text" | "json";
      /** SHOW CREATE …: the statement that makes it. */
      readonly asStatement: boolean;
      /** SHOW QUERY name: all there is of this one [SC45]. */
      readonly name: string | undefined;
    };

/** Each given condition holds; the filters of the request table, under its names. */
export interface ShowFilter {
  readonly byName?: string;
  readonly byId?: string;
  readonly forLogical?: string;
  readonly onWorker?: string;
  readonly byType?: string;
  readonly withState?: QueryState | FragmentState | "ACTIVE" | "UNREACHABLE";
  /** Workers with at least so many free stream slots. */
  readonly withCapacity?: number;
}
