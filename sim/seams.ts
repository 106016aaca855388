/**
 * Where the simulator can put something else in the place of a production part. The default is production; a
 * planted bug replaces one of these and nothing else.
 */
import type { AcceptLink } from "../src/cluster/core/index.ts";
import { ControllerNode, type ControllerParts } from "../src/coordinator/controller-node.ts";
import type { TablesPartClasses } from "../src/coordinator/tables-parts.ts";
import { UpkeepLoop } from "../src/lake/index.ts";
import { EvalFlow } from "../src/queries/core/promql/eval-flow.ts";
import { type Store, watch } from "../src/store/index.ts";
import { RefreshScheduler, StoreRefreshClaims } from "../src/tables/index.ts";
import { WorkBoard } from "../src/workcoord/core/index.ts";
import type { WorkerParts } from "../src/worker/worker-node.ts";
import { type LoadSeams, productionLoadSeams } from "./load/load-seams.ts";
import { SimLake } from "./promql/sim-lake.ts";
import type { PlacedRow } from "./tables/lake-files.ts";
import { ObjectLink } from "./tables/sim-objects.ts";
import { SimFetcher } from "./world/sim-fetcher.ts";

export interface Seams {
  readonly ControllerNode: typeof ControllerNode;
  readonly controllerParts: Partial<ControllerParts>;
  readonly workerParts: Partial<WorkerParts>;
  readonly Board: typeof WorkBoard;
  readonly Fetcher: typeof SimFetcher;
  readonly EvalFlow: typeof EvalFlow;
  readonly Lake: typeof SimLake;
  readonly watch: typeof watch;
  readonly tablesParts: TablesPartClasses;
  readonly ObjectLink: typeof ObjectLink;
  readonly load: LoadSeams;
  /** Rows of files that are compacted. */
  merge(rows: readonly PlacedRow[]): readonly PlacedRow[];
  /** Below the connection and its faults. */
  store(store: Store): Store;
  accept(accept: AcceptLink): AcceptLink;
}

export const productionSeams: Seams = {
  ControllerNode,
  controllerParts: {},
  workerParts: {},
  Board: WorkBoard,
  Fetcher: SimFetcher,
  EvalFlow,
  Lake: SimLake,
  watch,
  tablesParts: { StoreRefreshClaims, RefreshScheduler, UpkeepLoop },
  ObjectLink,
  load: productionLoadSeams,
  merge: (rows) => rows,
  store: (store) => store,
  accept: (accept) => accept,
};
