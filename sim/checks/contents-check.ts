/**
 * Checks I20 and I26: derives each dynamic table from what plain tables had at its snapshot, and
 * compares that with the rows in the files.
 */
import { contentText, type Definition, deriveAll, parseDefinition } from "../tables/definition.ts";
import type { SimObjects } from "../tables/sim-objects.ts";
import type { Counters } from "./counters.ts";
import type { TableRow, TablesReader, TablesState } from "./tables-state.ts";
import type { Verdict } from "./verdict.ts";

interface Version {
  readonly snapshot: number;
  readonly values: readonly number[];
}

interface FileRow {
  readonly id: number;
  readonly path: string;
  readonly begin_snapshot: number;
  readonly deletes: string | null;
}

const filesAt = `
  SELECT f.data_file_id AS id, s.path || t.path || f.path AS path, f.begin_snapshot, (
           SELECT s.path || t.path || d.path FROM ducklake_delete_file d
            WHERE d.data_file_id = f.data_file_id AND d.begin_snapshot <= ?2
              AND (d.end_snapshot IS NULL OR d.end_snapshot > ?2)) AS deletes
    FROM ducklake_data_file f
    JOIN (SELECT DISTINCT table_id, schema_id, path FROM ducklake_table WHERE table_id = ?1) t ON t.table_id = f.table_id
    JOIN ducklake_schema s ON s.schema_id = t.schema_id
   WHERE f.begin_snapshot <= ?2 AND (f.end_snapshot IS NULL OR f.end_snapshot > ?2)`;

export class ContentsCheck {
  readonly #reader: TablesReader;
  readonly #objects: SimObjects;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  /** What each table had, and from which snapshot on. */
  readonly #versions = new Map<number, Version[]>();
  readonly #definitions = new Map<number, Definition>();
  readonly #sources = new Map<
    number,
    readonly { readonly since: number; readonly own: readonly number[] }[]
  >();

  constructor(reader: TablesReader, objects: SimObjects, verdict: Verdict, counters: Counters) {
    this.#reader = reader;
    this.#objects = objects;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  /** Handles the snapshots after `seen`. */
  committed(seen: number): void {
    const rows = this.#reader.select<{ snapshot_id: number; changes_made: string | null }>(
      "SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes WHERE snapshot_id > ? ORDER BY 1",
      seen,
    );
    for (const { snapshot_id: snapshot, changes_made: changes } of rows) {
      for (const [, what = "", id] of (changes ?? "").matchAll(/([a-z_]+):(\d+)/g)) {
        if (/merge|rewrite|compact/.test(what)) this.#checkCompaction(Number(id), snapshot, what);
        else this.#record(Number(id), snapshot);
      }
    }
  }

  /** A refresh brought the table to what `row` says. */
  moved(row: TableRow, state: TablesState): void {
    const { dynamic_table: name, table_id, data_snapshot, published_snapshot } = row;
    if (data_snapshot === null || published_snapshot === null) return;
    this.#counters.add("tables: contents compared");
    const shown = contentText(this.at(table_id, published_snapshot));
    const expected = contentText(this.#expected(table_id, data_snapshot));
    if (shown === expected) return;
    // A source was replaced since: the refresh may have been computed before that, or after.
    const now = { ...state, snapshot: data_snapshot };
    this.#verdict.require(shown === contentText(this.#asOf(table_id, now)), "I20", () => {
      return `${name} at ${published_snapshot} is not its definition as of ${data_snapshot}: ${shown}, and not ${expected}`;
    });
  }

  /** Records the current definitions. */
  defined(state: TablesState): void {
    const { snapshot, sources } = state;
    for (const { table_id, definition } of state.tables.values()) {
      if (!this.#definitions.has(table_id)) {
        this.#definitions.set(table_id, parseDefinition(definition));
      }
    }
    for (const [tableId, own] of sources) {
      const known = this.#sources.get(tableId) ?? [];
      if (known.at(-1)?.own.join() === own.join()) continue;
      this.#sources.set(tableId, [...known, { since: snapshot, own }]);
    }
  }

  /** What a table had at a snapshot. */
  at(tableId: number, snapshot: number): readonly number[] {
    const versions = this.#versions.get(tableId) ?? [];
    return versions.findLast((version) => version.snapshot <= snapshot)?.values ?? [];
  }

  writeEnded(tableId: number, values: readonly number[], snapshot: number | undefined): void {
    const last = snapshot ?? Number.POSITIVE_INFINITY;
    const there = new Set(this.at(tableId, last));
    const isThere = values.every((value) => there.has(value));
    if (snapshot !== undefined) {
      this.#verdict.require(isThere, "I26", () => {
        return `rows that were written to table ${tableId} at ${snapshot} are not there`;
      });
    } else {
      this.#verdict.require(!values.some((value) => there.has(value)), "I26", () => {
        return `a write to table ${tableId} that failed is there`;
      });
    }
  }

  /** The definition over a snapshot, with the sources of that time. */
  #expected(tableId: number, snapshot: number): readonly number[] {
    const versions = this.#sources.get(tableId);
    const own = (versions?.findLast(({ since }) => since <= snapshot) ?? versions?.[0])?.own;
    if (own === undefined) return this.at(tableId, snapshot);
    const inputs = own.map((source) => this.#expected(source, snapshot));
    return deriveAll(this.#definitionOf(tableId), inputs);
  }

  /** The definition over a snapshot, with the current sources. */
  #asOf(tableId: number, state: TablesState): readonly number[] {
    const own = state.sources.get(tableId);
    if (own === undefined) return this.at(tableId, state.snapshot);
    const inputs = own.map((source) => this.#asOf(source, state));
    return deriveAll(this.#definitionOf(tableId), inputs);
  }

  /** The definition of a table's id never changes. */
  #definitionOf(tableId: number): Definition {
    return this.#definitions.get(tableId) ?? { salt: 0 };
  }

  #record(tableId: number, snapshot: number): void {
    const versions = this.#versions.get(tableId) ?? [];
    if (versions.at(-1)?.snapshot === snapshot) return;
    versions.push({ snapshot, values: this.#read(tableId, snapshot) });
    this.#versions.set(tableId, versions);
  }

  #checkCompaction(tableId: number, newest: number, what: string): void {
    this.#counters.add(`lake: ${what}`);
    const left = this.#reader.select<{ snapshot: number }>(
      "SELECT snapshot_id AS snapshot FROM ducklake_snapshot ORDER BY 1 DESC LIMIT 6",
    );
    for (const { snapshot } of left) {
      const before = contentText(this.at(tableId, snapshot));
      const now = contentText(this.#read(tableId, snapshot));
      this.#verdict.require(before === now, "I20", () => {
        return `compaction ${newest} changed table ${tableId} at ${snapshot}: ${before} became ${now}`;
      });
    }
  }

  /** Reads only the catalog's rows and the files. */
  #read(tableId: number, snapshot: number): readonly number[] {
    const files = this.#reader.select<FileRow>(filesAt, tableId, snapshot);
    return files.flatMap(({ path, begin_snapshot, deletes }) => {
      const file = this.#objects.get(path);
      const gone = deletes === null ? undefined : this.#objects.get(deletes);
      if (file?.kind !== "data" || (deletes !== null && gone?.kind !== "delete")) {
        this.#verdict.fail("I23", `${path} or its deletes are not there`);
        return [];
      }
      const positions = new Set(gone?.kind === "delete" ? gone.positions : []);
      return file.values.filter((_, position) => {
        const since = file.snapshots?.[position] ?? begin_snapshot;
        return since <= snapshot && !positions.has(position);
      });
    });
  }
}
