/** What plans are made from, of one moment: definitions, tables of the lake, workers. */
import type { Tx } from "../../../../ground/store/index.ts";
import type { CatalogSnapshot } from "../core/planner.ts";
import { readTopology, type SpeaksStreams } from "./read-topology.ts";

type Definitions = Omit<CatalogSnapshot, "tables" | "topology">;

/** Reads a snapshot in a transaction. Definitions of a version that it has are not read again. */
export type ReadSnapshot = (tx: Tx) => Promise<CatalogSnapshot>;

/** `readTables` has the tables of the lake; absent where there is none. */
export function createReadSnapshot(
  readTables?: (tx: Tx) => Promise<NonNullable<CatalogSnapshot["tables"]>>,
  speaks: SpeaksStreams = () => undefined,
): ReadSnapshot {
  let known: Definitions | undefined;
  return async (tx) => {
    const { version } = await tx.db
      .selectFrom("stream_catalog")
      .select("version")
      .executeTakeFirstOrThrow();
    if (known?.version !== version) known = { version, ...(await readDefinitions(tx)) };
    const tables = await readTables?.(tx);
    return { ...known, tables, topology: await readTopology(tx, speaks) };
  };
}

/** Rows that others have superseded are nobody's to name. */
async function readDefinitions({ db }: Tx): Promise<Omit<Definitions, "version">> {
  const logicalSources = await db
    .selectFrom("logical_sources")
    .selectAll()
    .where("superseded_by", "is", null)
    .orderBy("source_id")
    .execute();
  const physicalSources = await db
    .selectFrom("physical_sources")
    .selectAll()
    .where("superseded_by", "is", null)
    .orderBy("physical_source_id")
    .execute();
  const sinks = await db
    .selectFrom("sinks")
    .selectAll()
    .where("superseded_by", "is", null)
    .orderBy("sink_id")
    .execute();
  return { logicalSources, physicalSources, sinks };
}
