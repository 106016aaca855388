/** The lake as a process with streams uses it. */
import type { Engine } from "../../../../data/duckdb/index.ts";
import type { LakeCatalog, LakeTable, ObjectStore } from "../../../../data/lake/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Prng } from "../../../../ground/kernel/prng.ts";
import type { Store } from "../../../../ground/store/index.ts";

export interface StreamLake {
  readonly store: Store;
  readonly catalog: LakeCatalog;
  readonly objects: ObjectStore;
  readonly engine: Pick<Engine, "withSession">;
  /** Where DuckDB writes rows for a reader. */
  readonly spoolDir: string;
  /** Where files are written before they are put. */
  readonly stagingDir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  /** Throws when somebody else fills the table, so that no stream may write it. */
  readonly refuseWrite: (table: LakeTable) => Promise<void>;
}
