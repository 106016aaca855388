/**
 * What another kind of work has to say in statements about tables of the lake: about those that it
 * fills, and those that it reads.
 */
import type { CatalogTx } from "../../../ground/store/index.ts";
import type { LakeTable, TableVersion } from "../core/index.ts";
import type { StatementScope } from "./statement-scope.ts";

export interface TableGuard {
  /**
   * Waits for the first contents of those that it fills and that have none; throws where none will
   * come. Whether it had to wait.
   */
  awaitContents(
    versions: readonly TableVersion[],
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Throws where nobody else writes to the table. */
  refuseWrite(version: TableVersion): Promise<void>;
  /**
   * Throws `reference_violated`, with the names of the readers, where it reads what the table loses.
   * `after`: the table as it will be; `undefined`: it is dropped. The answer is asked once more in
   * the transaction that changes the table; `false`: there are other readers by then, so that all of
   * this begins anew.
   */
  checkChange(
    version: TableVersion,
    after: LakeTable | undefined,
    scope: StatementScope,
  ): Promise<(tx: CatalogTx) => Promise<boolean>>;
}
