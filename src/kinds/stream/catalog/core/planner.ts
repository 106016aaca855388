/**
 * The planner: from statements to changes. It runs on a thread of its own and sees the catalog as
 * one snapshot, to which the statements of a bundle are applied in their order (SC20).
 */
import type { LakeTable, Statement } from "../../language/core/index.ts";
import type { CatalogChange, CatalogQuestion } from "./changes.ts";
import type { FragmentRow, LogicalSourceRow, PhysicalSourceRow, SinkRow } from "./tables.ts";

/** What plans are made from, all of one moment. Plain data that can be cloned. */
export interface CatalogSnapshot {
  /** `stream_catalog.version` (SC21). */
  readonly version: number;
  readonly logicalSources: readonly LogicalSourceRow[];
  readonly physicalSources: readonly PhysicalSourceRow[];
  readonly sinks: readonly SinkRow[];
  /** `undefined`: there is no lake. */
  readonly tables: readonly (LakeTable & { readonly tableId: number })[] | undefined;
  readonly topology: Topology;
  /** Absent where no statement can replace a query. */
  readonly held?: readonly HeldSlots[];
}

/** The slots of a worker that the query of a name holds. */
export interface HeldSlots {
  readonly queryId: string;
  /** In capital letters. Older queries that it replaces have it, too. */
  readonly nameKey: string;
  readonly workerId: string;
  readonly count: number;
}

export interface Topology {
  readonly workers: readonly TopologyWorker[];
  readonly links: readonly { readonly from: string; readonly to: string }[];
}

export interface TopologyWorker {
  readonly workerId: string;
  readonly label: string | undefined;
  readonly host: string;
  readonly grpcPort: number;
  readonly slots: number;
  readonly slotsUsed: number;
  /** ACTIVE, neither draining nor asked to, and speaking of streams. */
  readonly takesFragments: boolean;
  /** For people: why it takes none. */
  readonly reason: string;
}

/** A statement as text, or as the typed form that the API makes of a request. */
export type PlannerInput = string | Statement | PreviewInput;

/** A query whose rows somebody looks at, with or without the word PREVIEW before it. */
export interface PreviewInput {
  readonly kind: "previewText";
  readonly text: string;
  /** How many rows are shown where the text does not say. */
  readonly rowsMax: number;
}

export type Planned =
  | { readonly kind: "change"; readonly change: CatalogChange }
  | { readonly kind: "question"; readonly question: CatalogQuestion };

export interface StreamPlanner {
  /**
   * Throws `ParserError`, `BinderError`, `OptimizerError`, `PlacementError` or another code of the
   * request table, with the place in the text and the dialect's number where there is one.
   */
  plan(
    statements: readonly PlannerInput[],
    snapshot: CatalogSnapshot,
    signal: AbortSignal,
  ): Promise<readonly Planned[]>;
}

/** What placing a query again needs, for fragments whose worker is gone. */
export type FragmentToPlace = Pick<FragmentRow, "fragment" | "worker_id" | "is_pinned">;
