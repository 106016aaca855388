/** The side table of q13 in a lake of its own: real files, a real store, and DuckDB's process. */
import { randomText } from "../../src/ground/kernel/prng.ts";
import type { LakeTable } from "../../src/kinds/stream/language/core/index.ts";
import { fragmentLake } from "../../src/kinds/stream/run/lake/answer-calls.ts";
import type { FragmentLake } from "../../src/kinds/stream/run/lake/fragment-lake.ts";
import { openLakeWorld } from "../../src/kinds/stream/run/testing/lake-world.ts";

/** What a query needs to join with tables of the lake. */
export interface SideTable {
  readonly lake: FragmentLake;
  readonly tables: readonly LakeTable[];
  close(): Promise<void>;
}

export const sideRows = 10_000;

/** The rows of the table, for the lake and for DuckDB beside it. */
export const sideSelect = `SELECT id, 'value ' || id AS value FROM range(${sideRows}) AS ids(id)`;

export async function openSideTable(): Promise<SideTable> {
  const world = await openLakeWorld();
  const { catalog, prng } = world.lake;
  const columns = { id: "BIGINT", value: "VARCHAR" };
  await catalog.commit({
    token: randomText(prng, 24),
    author: "person",
    message: "the side table of q13",
    readSnapshot: (await catalog.current()).snapshot,
    changes: [
      {
        ...{ kind: "createTable", schema: "main", name: "side", files: [], orReplace: false },
        columns: Object.entries(columns).map(([name, type]) => ({
          ...{ name, type, nullable: true, defaultValue: undefined },
        })),
      },
    ],
  });
  await world.insert("side", sideSelect);
  return {
    lake: fragmentLake(world.lake),
    tables: await world.tables(),
    close: () => world.close(),
  };
}
