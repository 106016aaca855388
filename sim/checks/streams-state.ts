/** The catalog of continuous queries as its change log tells it, row by row. */
import type { FragmentRow, QueryRow } from "../../src/kinds/stream/catalog/core/index.ts";
import { requestBase } from "../streams/stream-statements.ts";
import type { ChangeRow, RawDatabase } from "./store-audit.ts";

export interface StreamRows {
  readonly queries: ReadonlyMap<string, QueryRow>;
  readonly fragments: ReadonlyMap<string, FragmentRow>;
}

/** One change of a row, in the order of the log. */
export type StreamChange =
  | {
      readonly table: "queries";
      readonly before: QueryRow | undefined;
      readonly after: QueryRow | undefined;
    }
  | {
      readonly table: "query_fragments";
      readonly before: FragmentRow | undefined;
      readonly after: FragmentRow | undefined;
    };

export interface SlotsRow {
  readonly worker_id: string;
  readonly slots: number;
  readonly slots_used: number;
}

export interface CheckpointRow {
  readonly query_id: string;
  readonly checkpoint: number;
  readonly epoch: number;
}

export class StreamsReader implements StreamRows {
  readonly #database: RawDatabase;
  readonly queries = new Map<string, QueryRow>();
  readonly fragments = new Map<string, FragmentRow>();

  constructor(database: RawDatabase) {
    this.#database = database;
  }

  /** `undefined`: the change is of another table. */
  apply({
    table_name: table,
    row_key: key,
    op,
    row_json: json,
  }: ChangeRow): StreamChange | undefined {
    const isGone = op === "DROP";
    if (table === "queries") {
      const before = this.queries.get(key);
      const after = isGone ? undefined : (JSON.parse(json) as QueryRow);
      if (after === undefined) this.queries.delete(key);
      else this.queries.set(key, after);
      return { table, before, after };
    }
    if (table === "query_fragments") {
      const before = this.fragments.get(key);
      const after = isGone ? undefined : (JSON.parse(json) as FragmentRow);
      if (after === undefined) this.fragments.delete(key);
      else this.fragments.set(key, after);
      return { table, before, after };
    }
    return undefined;
  }

  fragmentsOf(queryId: string): readonly FragmentRow[] {
    return [...this.fragments.values()].filter(({ query_id }) => query_id === queryId);
  }

  /** What the log says and the tables do not; `undefined` where they agree. */
  difference(): string | undefined {
    const tables = [
      ["queries", "query_id", this.queries],
      ["query_fragments", "fragment_id", this.fragments],
    ] as const;
    for (const [name, key, rows] of tables) {
      const stored = this.#database.rows(`SELECT * FROM ${name}`);
      const isSame =
        stored.length === rows.size &&
        stored.every((row) => JSON.stringify(rows.get(String(row[key]))) === JSON.stringify(row));
      if (!isSame) return name;
    }
    return undefined;
  }

  slots(): readonly SlotsRow[] {
    return this.#database.rows("SELECT * FROM stream_workers") as unknown as SlotsRow[];
  }

  checkpoints(): readonly CheckpointRow[] {
    return this.#database.rows(
      "SELECT query_id, checkpoint, epoch FROM query_checkpoints ORDER BY query_id, checkpoint",
    ) as unknown as CheckpointRow[];
  }

  manifest(queryId: string): string | undefined {
    // Written by the program: there is no quote in it.
    const found = this.#database.rows(
      `SELECT manifest FROM query_checkpoints WHERE query_id = '${queryId}' ORDER BY checkpoint DESC LIMIT 1`,
    )[0];
    return found === undefined ? undefined : String(found.manifest);
  }

  /** As JSON. */
  plan(queryId: string): string | undefined {
    const found = this.#database.rows(
      `SELECT plan FROM query_plans WHERE query_id = '${queryId}'`,
    )[0];
    return found === undefined ? undefined : String(found.plan);
  }

  /** The number of the request that created the query. */
  requestOf(queryId: string): number {
    const { plan } = JSON.parse(this.plan(queryId) ?? "{}") as {
      readonly plan?: { readonly settings?: { readonly idleTimeoutMs?: number } };
    };
    return (plan?.settings?.idleTimeoutMs ?? 0) - requestBase;
  }

  /** Paths of files of the lake that were committed after the given one, in their order. */
  filesAfter(fileId: number): readonly { readonly fileId: number; readonly path: string }[] {
    const rows = this.#database.rows(
      `SELECT data_file_id, path FROM ducklake_data_file WHERE data_file_id > ${fileId} ORDER BY data_file_id`,
    );
    return rows.map((row) => ({ fileId: Number(row.data_file_id), path: String(row.path) }));
  }
}
