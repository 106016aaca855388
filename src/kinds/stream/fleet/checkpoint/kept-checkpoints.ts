/**
 * Which complete checkpoints of a query are kept, what they refer to, and which snapshots of the
 * lake they hold. Rules: SD28, SD41.
 */
import { sql } from "kysely";
import type { SnapshotId, TableId } from "../../../../data/lake/index.ts";
import type { CatalogTx, Tx } from "../../../../ground/store/index.ts";
import type { Plan } from "../../language/core/index.ts";
import { type Manifest, pinOf } from "../../run/core/index.ts";
import type { StreamLake } from "../../run/index.ts";

interface KeptRow {
  readonly checkpoint: number;
  readonly savepoint: number | null;
  readonly manifest: string;
}

/**
 * Removes all rows but those of savepoints and of the newest other checkpoints; what only they
 * referred to may be deleted.
 */
export async function dropOldCheckpoints(
  tx: CatalogTx,
  queryId: string,
  keptMax: number,
): Promise<readonly string[]> {
  const rows = await rowsOf(tx, queryId);
  const old = rows.filter(({ savepoint }) => savepoint === null).slice(0, -keptMax);
  const isOld = (row: KeptRow): boolean => old.includes(row);
  if (old.length === 0) return [];
  await tx.db
    .deleteFrom("query_checkpoints")
    .where("query_id", "=", queryId)
    .where(
      "checkpoint",
      "in",
      old.map(({ checkpoint }) => checkpoint),
    )
    .execute();
  for (const { checkpoint } of old) await unpin(tx, keptCursor(queryId, "", checkpoint));
  const kept = rows.filter((row) => !isOld(row)).flatMap(pathsOfRow);
  const shared = new Set([...kept, ...(await objectsOfRelatives(tx, queryId))]);
  return old.flatMap(pathsOfRow).filter((path) => !shared.has(path));
}

/** The objects that only checkpoints of this query refer to. */
export async function objectsOf(tx: Tx, queryId: string): Promise<readonly string[]> {
  const shared = new Set(await objectsOfRelatives(tx, queryId));
  return (await rowsOf(tx, queryId)).flatMap(pathsOfRow).filter((path) => !shared.has(path));
}

/** Of the queries that began with its state, or whose state it began with (SD42). */
async function objectsOfRelatives(tx: Tx, queryId: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const relative of await readRelatives(tx, queryId)) {
    paths.push(...(await rowsOf(tx, relative)).flatMap(pathsOfRow));
  }
  return paths;
}

/** Queries that may refer to the same objects. */
async function readRelatives({ db }: Tx, queryId: string): Promise<readonly string[]> {
  const family = sql<string>`coalesce(
    (SELECT state_family FROM query_plans WHERE query_id = ${queryId}), ${queryId})`;
  const rows = await db
    .selectFrom("query_plans")
    .select("query_id")
    .where((where) =>
      where.or([where("state_family", "=", family), where("query_id", "=", family)]),
    )
    .where("query_id", "!=", queryId)
    .execute();
  return rows.map(({ query_id }) => query_id);
}

async function rowsOf({ db }: Tx, queryId: string): Promise<readonly KeptRow[]> {
  return await db
    .selectFrom("query_checkpoints")
    .select(["checkpoint", "savepoint", "manifest"])
    .where("query_id", "=", queryId)
    .orderBy("checkpoint")
    .execute();
}

function pathsOfRow({ manifest }: KeptRow): readonly string[] {
  const { fragments } = JSON.parse(manifest) as Manifest;
  return fragments.flatMap(({ objects }) => objects.map(({ path }) => path));
}

export interface PinnedSources {
  readonly catalog: StreamLake["catalog"];
  readonly queryId: string;
  readonly plan: Plan;
}

/**
 * Pins the snapshots that Lake sources go on from: those of the newest checkpoint under one name,
 * which moves on, and those of each checkpoint that is kept for longer under its own. A query that
 * rested may have made its newest checkpoint a savepoint, whose snapshots are pinned only until
 * now.
 */
export async function pinSources(
  tx: CatalogTx,
  sources: PinnedSources,
  newest: Manifest,
  isKept: boolean,
): Promise<void> {
  const { queryId, plan } = sources;
  const nodes = plan.nodes.flatMap(({ id, op }) =>
    op.kind === "source" && op.type === "Lake" ? [`${id}`] : [],
  );
  if (nodes.length === 0) return;
  const [before] = (await rowsOf(tx, queryId))
    .filter(({ checkpoint }) => checkpoint < newest.checkpoint)
    .slice(-1);
  if (before !== undefined && before.savepoint !== null) {
    await pinAll(tx, sources, JSON.parse(before.manifest) as Manifest, nodes, true);
  }
  await pinAll(tx, sources, newest, nodes, false);
  if (isKept) await pinAll(tx, sources, newest, nodes, true);
}

async function pinAll(
  tx: CatalogTx,
  { catalog, queryId }: PinnedSources,
  { checkpoint, fragments }: Manifest,
  nodes: readonly string[],
  isKept: boolean,
): Promise<void> {
  for (const node of nodes) {
    const said = fragments.find(({ positions }) => positions[node] !== undefined);
    const pin = pinOf(said?.positions[node]);
    if (pin === undefined) continue;
    const cursor = isKept
      ? keptCursor(queryId, node, checkpoint)
      : `${cursorPrefix(queryId)}${node}`;
    await catalog.pinIn(tx, cursor, pin.table as TableId, pin.snapshot as SnapshotId);
  }
}

/** The query is gone, and needs no snapshot any more. */
export async function unpinQuery(tx: CatalogTx, queryId: string): Promise<void> {
  await unpin(tx, cursorPrefix(queryId));
}

function cursorPrefix(queryId: string): string {
  return `stream-${queryId}-`;
}

function keptCursor(queryId: string, node: string, checkpoint: number): string {
  return `${cursorPrefix(queryId)}at-${checkpoint}-${node}`;
}

/** All cursors whose names begin so. */
async function unpin({ db }: CatalogTx, prefix: string): Promise<void> {
  await db
    .deleteFrom("lake_pins")
    .where(sql`substr(cursor_name, 1, ${prefix.length})`, "=", prefix)
    .execute();
}
