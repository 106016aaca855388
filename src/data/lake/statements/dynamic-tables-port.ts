/** Dynamic tables, as statements over the lake need them. `src/kinds/refresh` has them. */
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { CatalogTx } from "../../../ground/store/index.ts";
import type { Statement, TableName, TableRef } from "../../sql/core/index.ts";
import type { LakeTable, SnapshotId, TableVersion } from "../core/index.ts";
import type { BoundQuery } from "./bound-query.ts";
import type { DescribedColumn } from "./describe.ts";
import type { LocalAnswer } from "./local-answer.ts";

export type DynamicStatement = Extract<
  Statement,
  {
    readonly kind:
      | "alterDynamicTable"
      | "createDynamicTable"
      | "dropTable"
      | "explainDynamicTable"
      | "refreshDynamicTable"
      | "showDynamicTables"
      | "showRefreshHistory";
  }
>;

/** A definition that parses and binds. */
export interface CheckedDefinition extends BoundQuery {
  readonly snapshot: SnapshotId;
  readonly columns: readonly DescribedColumn[];
  readonly isVolatile: boolean;
  /** Where it names tables. */
  readonly refs: readonly TableRef[];
  /** `random()`, `current_date`. */
  readonly volatileParts: readonly string[];
}

export interface StatementContext {
  readonly queryId: QueryId;
  readonly text: string;
  readonly signal: AbortSignal;
  find(name: TableName): Promise<TableVersion | undefined>;
  /** How long the statement may take. */
  readonly timeoutMs: number;
  /**
   * Throws `bad_sql` or `not_found`. `seen`: a table as the definition is to see it; as it is when
   * absent.
   */
  check(definition: string, seen?: (table: LakeTable) => LakeTable): Promise<CheckedDefinition>;
}

export interface DynamicTablesPort {
  answer(statement: DynamicStatement, context: StatementContext): Promise<LocalAnswer>;
  /** Waits for the first contents of those that are dynamic and have none; throws where none will come. Whether it had to wait. */
  awaitContents(
    versions: readonly TableVersion[],
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Throws where the table is dynamic. */
  refuseWrite(version: TableVersion): Promise<void>;
  /**
   * `alter` within a transaction in which no dynamic table reads what it takes away; throws
   * `reference_violated` with the names of those that do. `after`: the table as it will be.
   */
  alterUnread<T>(
    version: TableVersion,
    after: LakeTable,
    context: StatementContext,
    alter: (tx: CatalogTx) => Promise<T>,
  ): Promise<T>;
  /** `drop` within a transaction in which no dynamic table reads it; throws `reference_violated` with their names. */
  dropUnread<T>(version: TableVersion, drop: (tx: CatalogTx) => Promise<T>): Promise<T>;
}
