/** Finds a table by its name, or creates it. Of concurrent creators one wins (LA3). */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import type { LakeCatalog, LakeTable, NewColumn, SnapshotId } from "../core/index.ts";

export interface FoundTable {
  readonly table: LakeTable;
  /** The snapshot at which it was found. */
  readonly snapshot: SnapshotId;
}

export interface FindTableDeps {
  readonly catalog: Pick<LakeCatalog, "commit" | "current" | "tables">;
  readonly prng: Prng;
}

const schema = "main";

/** An existing table is returned whatever its columns are. */
export async function findOrCreateTable(
  { catalog, prng }: FindTableDeps,
  { name, columns }: { readonly name: string; readonly columns: readonly NewColumn[] },
  author: string,
): Promise<FoundTable> {
  for (;;) {
    const { snapshot } = await catalog.current();
    const tables = await catalog.tables(snapshot);
    const found = tables.find((each) => each.schema === schema && isSame(each.name, name));
    if (found !== undefined) return { table: found, snapshot };
    try {
      await catalog.commit({
        readSnapshot: snapshot,
        token: randomText(prng, 24),
        changes: [{ kind: "createTable", schema, name, columns, files: [], orReplace: false }],
        author,
        message: `make table ${name}`,
      });
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) || thrown.code !== "already_exists") throw thrown;
    }
  }
}

/** No two names of the lake differ only in case. */
function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
