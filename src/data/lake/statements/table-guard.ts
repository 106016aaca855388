/** The port by which another kind of work protects tables of the lake that it fills or reads. */
import type { CatalogTx } from "../../../ground/store/index.ts";
import type { LakeTable, TableVersion } from "../core/index.ts";
import type { StatementScope } from "./statement-scope.ts";

export interface TableGuard {
  /**
   * Waits for the first contents of tables that it fills. Throws if none will come. True if it had
   * to wait.
   */
  awaitContents(
    versions: readonly TableVersion[],
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Throws if it fills the table, so that nobody else may write. */
  refuseWrite(version: TableVersion): Promise<void>;
  /**
   * Throws `reference_violated`, naming the readers, if it reads what the table loses. `after` is
   * the changed table, undefined for a drop. The returned check runs again in the transaction that
   * changes the table; false means new readers, so the statement starts over.
   */
  checkChange(
    version: TableVersion,
    after: LakeTable | undefined,
    scope: StatementScope,
  ): Promise<(tx: CatalogTx) => Promise<boolean>>;
}
