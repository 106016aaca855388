/** Where a planted bug can replace a production part. The default is production. */

import { UpkeepLoop } from "../src/data/lake/index.ts";
import type { AcceptLink } from "../src/ground/cluster/core/index.ts";
import { type Store, watch } from "../src/ground/store/index.ts";
import { WorkBoard } from "../src/ground/work/core/index.ts";
import { ControllerNode, type ControllerParts } from "../src/ground/work/node/controller-node.ts";
import type { WorkerParts } from "../src/ground/work/node/worker-node.ts";
import { EvalFlow } from "../src/kinds/ask/run/core/eval-flow.ts";
import type { TablesPartClasses } from "../src/kinds/refresh/coordinator/refresh-part.ts";
import { RefreshScheduler, StoreRefreshClaims } from "../src/kinds/refresh/index.ts";
import { type LoadSeams, productionLoadSeams } from "./load/load-seams.ts";
import { SimLake } from "./promql/sim-lake.ts";
import { productionStreamSeams, type StreamSeams } from "./streams/stream-seams.ts";
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
  readonly streams: StreamSeams;
  /** Merges the rows of files that are compacted. */
  merge(rows: readonly PlacedRow[]): readonly PlacedRow[];
  /** Wraps the store below the connection and its faults. */
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
  streams: productionStreamSeams,
  merge: (rows) => rows,
  store: (store) => store,
  accept: (accept) => accept,
};
