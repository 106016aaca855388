/** Which queries to look at: those that changed in the store, by its change log. */
import type { Store, Tx } from "../../../../ground/store/index.ts";

export class ChangedQueries {
  readonly #store: Store;
  /** Changes up to this revision were seen; `undefined`: none yet. */
  #seen: number | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  async all(): Promise<readonly string[]> {
    const { queries, revision } = await this.#store.read(async (tx) => ({
      queries: await allQueries(tx),
      revision: (await readRevision(tx)).revision,
    }));
    this.#seen = revision;
    return queries;
  }

  /** Those that changed since the last call; all of them where the log does not go back so far. */
  async next(): Promise<readonly string[]> {
    const { queries, revision } = await this.#store.read(async (tx) => {
      const { revision, trimmed_revision } = await readRevision(tx);
      const isCovered = this.#seen !== undefined && this.#seen >= trimmed_revision;
      return {
        revision,
        queries: isCovered ? await changedSince(tx, this.#seen ?? 0) : await allQueries(tx),
      };
    });
    this.#seen = Math.max(this.#seen ?? 0, revision);
    return queries;
  }

  /** Those that have fragments on the worker, or owe a cleanup there. */
  async onWorker(workerId: string): Promise<readonly string[]> {
    return await this.#store.read((tx) => onWorkers(tx, [workerId]));
  }
}

async function onWorkers({ db }: Tx, workers: readonly string[]): Promise<readonly string[]> {
  if (workers.length === 0) return [];
  const rows = await db
    .selectFrom("query_fragments")
    .select("query_id")
    .where("worker_id", "in", workers)
    .union(db.selectFrom("query_cleanups").select("query_id").where("worker_id", "in", workers))
    .execute();
  return rows.map(({ query_id }) => query_id);
}

async function allQueries({ db }: Tx): Promise<readonly string[]> {
  const rows = await db.selectFrom("queries").select("query_id").orderBy("query_id").execute();
  return rows.map(({ query_id }) => query_id);
}

async function readRevision({ db }: Tx): Promise<{ revision: number; trimmed_revision: number }> {
  return await db
    .selectFrom("catalog_revision")
    .select(["revision", "trimmed_revision"])
    .executeTakeFirstOrThrow();
}

/** A fragment's key is its query's id, a slash and its name. A worker may drain now. */
async function changedSince(tx: Tx, revision: number): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("catalog_changes")
    .select(["table_name", "row_key"])
    .distinct()
    .where("revision", ">", revision)
    .where("table_name", "in", ["queries", "query_fragments", "workers"])
    .execute();
  const keysOf = (isWorker: boolean): readonly string[] =>
    rows.flatMap(({ table_name, row_key }) =>
      (table_name === "workers") === isWorker ? row_key : [],
    );
  const own = keysOf(false).map((key) => key.split("/", 1)[0] ?? "");
  return [...new Set([...own, ...(await onWorkers(tx, keysOf(true)))])];
}
