/**
 * Whether changes that were planned from an older version of the catalog can be applied to this one
 * (SC21). Definitions never change, so a plan holds while every row that it was made from is there
 * and has its name, and links are as they were. Workers, slots and tables of the lake are looked at
 * where the rows are written.
 */
import type { Tx } from "../../../../ground/store/index.ts";
import type { CatalogChange } from "../core/changes.ts";
import type { Topology } from "../core/planner.ts";
import { isNewId } from "./applying.ts";

interface Used {
  readonly sources: readonly string[];
  readonly physicalSources: readonly string[];
  readonly sinks: readonly string[];
}

export async function planHolds(
  tx: Tx,
  changes: readonly CatalogChange[],
  links: Topology["links"],
): Promise<boolean> {
  const used = changes.map(usedBy);
  const idsOf = (kind: keyof Used): readonly string[] => [
    ...new Set(used.flatMap((each) => each[kind].filter((id) => !isNewId(id)))),
  ];
  return (
    (await areAllThere(tx, "logical_sources", "source_id", idsOf("sources"))) &&
    (await areAllThere(tx, "physical_sources", "physical_source_id", idsOf("physicalSources"))) &&
    (await areAllThere(tx, "sinks", "sink_id", idsOf("sinks"))) &&
    (!changes.some(({ kind }) => kind === "createQuery") || (await areLinks(tx, links)))
  );
}

function usedBy(change: CatalogChange): Used {
  const none = { sources: [], physicalSources: [], sinks: [] };
  switch (change.kind) {
    case "createLogicalSource":
      return { ...none, sources: change.uses };
    case "createPhysicalSource":
      return { ...none, sources: [change.sourceId] };
    case "createQuery": {
      const { logicalSources: sources, physicalSources, sinks } = change;
      return { sources, physicalSources, sinks };
    }
    default:
      return none;
  }
}

async function areAllThere(
  { db }: Tx,
  table: "logical_sources" | "physical_sources" | "sinks",
  key: "source_id" | "physical_source_id" | "sink_id",
  ids: readonly string[],
): Promise<boolean> {
  if (ids.length === 0) return true;
  const { count } = await db
    .selectFrom(table)
    .select((select) => select.fn.countAll<number | string>().as("count"))
    .where(key as never, "in", ids as never)
    .where("superseded_by", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count) === ids.length;
}

async function areLinks({ db }: Tx, links: Topology["links"]): Promise<boolean> {
  const rows = await db.selectFrom("network_links").selectAll().execute();
  const now = new Set(rows.map((row) => `${row.src_worker_id} ${row.dst_worker_id}`));
  return now.size === links.length && links.every(({ from, to }) => now.has(`${from} ${to}`));
}
