/**
 * A subscription to one watched table (ST30 to ST38). The consumer pulls. The snapshot and its
 * revision are read in one transaction. It throws when the store fails; the consumer then resumes
 * from the last revision that it saw.
 */
import { sql } from "kysely";
import { assert } from "../../kernel/errors.ts";
import { parseRevision, type Revision } from "../../kernel/ids.ts";
import { watchedColumns } from "../core/schema.ts";
import type { CatalogChange, Store, Tx } from "../core/store.ts";
import { decideWatchEvent, type WatchEvent } from "../core/watch-event.ts";
import {
  matchesWatch,
  projectWatch,
  type WatchCondition,
  type WatchRow,
  type WatchSelect,
} from "../core/watch-select.ts";

export interface WatchOptions {
  readonly table: WatchSelect["table"];
  readonly columns?: readonly string[] | undefined;
  readonly keyAs?: string | undefined;
  readonly where?: readonly WatchCondition[] | undefined;
  /** The last revision that the consumer has seen. Undefined to begin with a SNAPSHOT. */
  readonly fromRevision?: Revision | undefined;
  readonly signal: AbortSignal;
}

const pageRowsMax = 200;

export async function* watch(store: Store, options: WatchOptions): AsyncGenerator<WatchEvent> {
  const { signal } = options;
  const { table, columns, keyAs, where = [] } = options;
  const key = watchedColumns(store.watched, table)?.key;
  assert(key !== undefined, `${table} is a watched table`);
  const select = { table, key, columns, keyAs, where };
  let bell = Promise.withResolvers<void>();
  const ring = (): void => bell.resolve();
  const unsubscribe = store.onPoke(ring);
  signal.addEventListener("abort", ring, { once: true });
  try {
    let seen = options.fromRevision;
    while (!signal.aborted) {
      bell = Promise.withResolvers(); // Before reading, so that a later commit rings again.
      const page = await readPage(store, select, seen);
      for (const event of page.events) {
        if (signal.aborted) return;
        yield event;
      }
      seen = page.revision;
      if (page.isLast && !signal.aborted) await bell.promise;
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", ring);
  }
}

interface Page {
  readonly events: readonly WatchEvent[];
  /** The consumer's last seen revision after this page. */
  readonly revision: Revision;
  readonly isLast: boolean;
}

/** Reads a snapshot when `seen` is undefined. */
function readPage(store: Store, select: WatchSelect, seen: Revision | undefined): Promise<Page> {
  return store.read(async (tx) => {
    const { revision, trimmed } = await readRevisions(tx);
    // A higher revision is from another store, or from this one before it was restored.
    const isCovered = seen !== undefined && seen >= trimmed && seen <= revision;
    if (!isCovered) return readSnapshot(tx, select, revision);
    const changes = await readChanges(tx, select, seen);
    const isLast = changes.length < pageRowsMax;
    const events = changes.flatMap((change) => decideWatchEvent(select, change) ?? []);
    return { events, revision: isLast ? revision : (changes.at(-1)?.revision ?? revision), isLast };
  });
}

async function readSnapshot(tx: Tx, select: WatchSelect, revision: Revision): Promise<Page> {
  const found = await sql<WatchRow>`SELECT * FROM ${sql.table(select.table)}`.execute(tx.db);
  const data = found.rows
    .filter((row) => matchesWatch(select, row))
    .sort((left, right) => compareKeys(String(left[select.key]), String(right[select.key])))
    .map((row) => projectWatch(select, row));
  return { events: [{ type: "SNAPSHOT", revision, data }], revision, isLast: false };
}

/** Not the database's order, because collations differ. */
function compareKeys(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

async function readRevisions(tx: Tx): Promise<{ revision: Revision; trimmed: Revision }> {
  const row = await tx.db.selectFrom("catalog_revision").selectAll().executeTakeFirstOrThrow();
  return { revision: revisionOf(row.revision), trimmed: revisionOf(row.trimmed_revision) };
}

async function readChanges(tx: Tx, select: WatchSelect, seen: Revision): Promise<CatalogChange[]> {
  const rows = await tx.db
    .selectFrom("catalog_changes")
    .selectAll()
    .where("revision", ">", seen)
    .where("table_name", "=", select.table)
    .orderBy("revision")
    .limit(pageRowsMax)
    .execute();
  return rows.map((row) => ({
    revision: revisionOf(row.revision),
    table: row.table_name,
    key: row.row_key,
    op: row.op,
    row: JSON.parse(row.row_json) as WatchRow,
    oldRow: row.old_row_json === null ? undefined : (JSON.parse(row.old_row_json) as WatchRow),
  }));
}

function revisionOf(value: number): Revision {
  const revision = parseRevision(value);
  assert(revision !== undefined, "a revision is a safe integer");
  return revision;
}
