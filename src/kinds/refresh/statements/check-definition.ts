/** Parses and binds a definition before anything is written. */
import {
  type BoundQuery,
  type DescribedColumn,
  type LakeTable,
  refuseReserved,
  type SnapshotId,
  type StatementScope,
} from "../../../data/lake/index.ts";
import {
  parseSelectTree,
  type TableRef,
  tableRefs,
  volatilePartsOf,
} from "../../../data/sql/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";

/** A definition that parses and binds. */
export interface CheckedDefinition extends BoundQuery {
  readonly snapshot: SnapshotId;
  readonly columns: readonly DescribedColumn[];
  /** The places where it names tables. */
  readonly refs: readonly TableRef[];
  /** Volatile calls such as `random()`: it is computed even when its sources have not changed. */
  readonly volatileParts: readonly string[];
}

/** Throws `bad_sql` or `not_found`. `seen` gives a table as the definition sees it. */
export async function checkDefinition(
  scope: StatementScope,
  definition: string,
  seen: (table: LakeTable) => LakeTable = (table) => table,
): Promise<CheckedDefinition> {
  const { catalog, engine } = scope.deps;
  const { snapshot } = await catalog.current();
  const tree = parseSelectTree(await engine.parse(definition, scope.signal), definition);
  const refs = tableRefs(tree);
  const past = refs.find(({ at }) => at.kind !== "current");
  if (past !== undefined) {
    const message = `a dynamic table reads its sources as they are now, not AT another moment: ${past.name}`;
    throw new OperatingError("bad_sql", "never", message);
  }
  const asItIs = await scope.bind(definition);
  const tables = asItIs.tables.map((each) => {
    const { version } = each;
    return { ...each, version: { ...version, table: seen(version.table) } };
  });
  const bound = { ...asItIs, tables };
  const columns = await scope.describe(bound);
  refuseReserved(columns.map(({ name }) => name));
  return { ...bound, snapshot, columns, refs, volatileParts: volatilePartsOf(tree) };
}
