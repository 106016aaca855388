/** Checks I23, I24 and I25: the lake's catalog and its files. */

import { referencedFiles } from "../../src/data/lake/core/check-files.ts";
import { checkLake } from "../../src/data/lake/core/check-lake.ts";
import { lakeTableColumns } from "../../src/data/lake/core/tables.ts";
import type { LakeRows } from "../../src/data/lake/index.ts";
import type { TablesSettings } from "../tables/plan-tables.ts";
import type { SimObjects } from "../tables/sim-objects.ts";
import type { Finding } from "./end-check.ts";
import type { TablesReader } from "./tables-state.ts";
import type { Verdict } from "./verdict.ts";

const references = `
  SELECT (SELECT count(*) FROM ducklake_data_file WHERE path = ?1)
       + (SELECT count(*) FROM ducklake_delete_file WHERE path = ?1) AS n`;

export class LakeCheck {
  readonly #reader: TablesReader;
  readonly #objects: SimObjects;
  readonly #verdict: Verdict;

  constructor(reader: TablesReader, objects: SimObjects, verdict: Verdict) {
    this.#reader = reader;
    this.#objects = objects;
    this.#verdict = verdict;
  }

  deleted(by: string, path: string): void {
    const name = path.slice(path.lastIndexOf("/") + 1); // Names are used once.
    const [found] = this.#reader.select<{ n: number }>(references, name);
    this.#verdict.require(found?.n === 0, "I23", () => {
      return `${by} deleted ${path}, which a snapshot has`;
    });
  }

  /** Every row of the catalog, and every file that it names. */
  check(): void {
    const rows = this.#readRows();
    const [problem] = checkLake(rows);
    this.#verdict.require(problem === undefined, "I25", () => problem ?? "");
    for (const { path } of referencedFiles(rows)) {
      const isThere = this.#objects.get(path) !== undefined;
      this.#verdict.require(isThere, "I23", () => `${path} is not there`);
    }
  }

  /** Undefined when nothing is left that upkeep should have removed. */
  findLeftover(nowMs: number, settings: TablesSettings): Finding | undefined {
    const finding = (detail: string): Finding => ({ invariant: "I24", detail });
    const known = new Set(referencedFiles(this.#readRows()).map(({ path }) => path));
    const scheduled = this.#reader.select<{ path: string }>(
      "SELECT path FROM ducklake_files_scheduled_for_deletion",
    );
    if (scheduled[0] !== undefined) return finding(`${scheduled[0].path} is still scheduled`);
    for (const [path] of this.#objects.entries()) {
      if (!known.has(path)) return finding(`nobody refers to ${path}`);
    }
    const [pin] = this.#reader.select<{ cursor_name: string }>(`
      SELECT cursor_name FROM lake_pins
       WHERE NOT EXISTS (SELECT 1 FROM dynamic_table_sources s
                          WHERE cursor_name LIKE 'dynamic-table/' || s.table_id || '/' || s.source_table_id || '/%')`);
    if (pin !== undefined) return finding(`${pin.cursor_name} pins something, and is no cursor`);
    const bound = new Date(nowMs - settings.snapshotMsMax - 3 * settings.upkeepMs).toISOString();
    const [old] = this.#reader.select<{ snapshot: number }>(
      `SELECT snapshot_id AS snapshot FROM ducklake_snapshot s
        WHERE snapshot_time < ? AND snapshot_id < (SELECT max(snapshot_id) FROM ducklake_snapshot)
          AND NOT EXISTS (SELECT 1 FROM lake_pins p WHERE p.snapshot_id = s.snapshot_id)`,
      bound.replace("T", " "),
    );
    return old === undefined ? undefined : finding(`snapshot ${old.snapshot} has not expired`);
  }

  #readRows(): LakeRows {
    const rows: Record<string, unknown> = {};
    for (const name of Object.keys(lakeTableColumns)) {
      if (name.startsWith("ducklake_")) rows[name] = this.#reader.select(`SELECT * FROM ${name}`);
    }
    return rows as LakeRows;
  }
}
