/** Where a planted bug of the disk suites may replace something. Production is `diskSeams`. */
import type { Files } from "../../src/kernel/files.ts";
import type { ObjectStore } from "../../src/lake/core/index.ts";
import { type Log, Wal, type WalOptions } from "../../src/metrics/fs/wal.ts";
import type { SegmentCatalog } from "../../src/metrics/store/segment-catalog.ts";

export interface DiskSeams {
  /** The disk, as production code is given it. */
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
