/** Where a planted bug of the disk suites may replace something. Production is `diskSeams`. */

import type { ObjectStore } from "../../src/data/lake/core/index.ts";
import type { Files } from "../../src/ground/kernel/files.ts";
import { type Log, Wal, type WalOptions } from "../../src/kinds/ask/metrics/fs/wal.ts";
import type { SegmentCatalog } from "../../src/kinds/ask/metrics/store/segment-catalog.ts";

export interface DiskSeams {
  /** The disk, as production code gets it. */
  readonly files: (files: Files) => Files;
  readonly openLog: (options: WalOptions) => Log;
  readonly objects: (objects: ObjectStore) => ObjectStore;
  /** Publishes segments; `commit` does it. */
  readonly publish: (
    commit: () => ReturnType<SegmentCatalog["publish"]>,
  ) => ReturnType<SegmentCatalog["publish"]>;
}

export const diskSeams: DiskSeams = {
  files: (files) => files,
  openLog: (options) => new Wal(options),
  objects: (objects) => objects,
  publish: (commit) => commit(),
};
