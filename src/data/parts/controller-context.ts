/**
 * What a coordinator or query-api has before any kind of work. The process builds it once, and each
 * kind makes its part of it. A process without a store has no `CoordinatorContext`, and so fewer
 * parts.
 */
import type { ChannelOffer } from "../../ground/cluster/index.ts";
import type { InstallRoutes, ReadAttention } from "../../ground/http/index.ts";
import type { DataCondition } from "../../ground/observe/index.ts";
import type { DirectoryWatch, Limits, Part, ProcessContext } from "../../ground/process/index.ts";
import type { Store, WatchedTables } from "../../ground/store/index.ts";
import type { ControllerNode, Leadership, QueueState } from "../../ground/work/index.ts";
import type { Engine } from "../duckdb/index.ts";
import type {
  LakePlaces,
  LakeStatements,
  LakeStore,
  ObjectStore,
  ReadableRelations,
  TableGuard,
  Uploads,
} from "../lake/index.ts";
import type { LanguageHandler, StatementHandler } from "../statements/core/index.ts";
import type { QueriesPort, StatementRouter } from "../statements/index.ts";

export interface ControllerContext extends ProcessContext {
  readonly role: "coordinator" | "query_api";
  /** The port of the API. */
  readonly port: number;
  readonly apiUrl: string;
  readonly limits: Limits;
  readonly node: ControllerNode;
  readonly leadership: Leadership;
  readonly engine: Engine;
  readonly places: LakePlaces;
  readonly directories: DirectoryWatch;
  readonly condition: DataCondition;
}

export interface StoreContext {
  readonly store: Store;
  readonly storeUrl: string;
  readonly catalog: LakeStore;
  readonly objects: ObjectStore;
  readonly uploads: Uploads;
  readonly lakeStatements: LakeStatements;
  readonly statements: StatementRouter;
  readonly queries: QueriesPort;
}

export type CoordinatorContext = ControllerContext & StoreContext;

/** What a room adds to a coordinator or a query-api. */
export interface ControllerPart extends Part {
  readonly routes?: InstallRoutes;
  readonly statements?: StatementHandler | LanguageHandler;
  /** Relations that SQL may read. */
  readonly relations?: ReadableRelations;
  /** Protects tables of the lake from statements. */
  readonly guard?: TableGuard;
  /** Readers of the items that need attention, by the name of what they list. */
  readonly attention?: Readonly<Record<string, ReadAttention>>;
  /** Computations that wait to become work. */
  readonly waiting?: () => QueueState;
  start?(): void;
}

/** A kind of work in a coordinator or a query-api. */
export interface ControllerKind<Options> {
  /** Its tables whose changes are logged. */
  readonly watched?: WatchedTables;
  /** Its conversations with workers, which only a coordinator offers. */
  readonly channels?: readonly ChannelOffer[];
  readonly createPart: (
    context: CoordinatorContext,
    options: Options,
  ) => ControllerPart | Promise<ControllerPart>;
  /** Absent when a process without a store has no part of it. */
  readonly createPartWithoutStore?: (context: ControllerContext) => ControllerPart;
}
