/**
 * Computes a refresh on a worker: reads the sources at the snapshots that the claim names, writes the files of the new contents, and
 * gives back the commit that makes them the table's. Nothing is visible before that commit.
 *
 *   LR1  The contents after a refresh are the definition over the sources at `to`, whichever way they were computed.
 *   LR2  Where a change cannot be told exactly (a source's older snapshot is gone, its columns changed, it is read for the first
 *        time), the refresh is full.
 *   LR3  A refresh that fails or is aborted deletes what it wrote, as far as the object store lets it.
 */
import type { Clock } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import {
  addedSql,
  type ChangeScan,
  type LakeCatalog,
  LakeWriter,
  type ObjectStore,
  removedSql,
  type TableChange,
  type TableVersion,
  tableSql,
  visibleColumns,
  withFiles,
} from "../../lake/index.ts";
import type { Engine, EngineSession } from "../../queries/index.ts";
import { quoteName } from "../../sql/core/index.ts";
import type {
  ClaimedRefresh,
  DynamicTable,
  Refresher,
  RefreshResult,
  RefreshSource,
} from "../core/index.ts";
import {
  chooseMode,
  type IncrementalPlan,
  initialSql,
  type PastRefresh,
  refreshSql,
} from "../incremental/index.ts";
import { type DefinitionPlan, planDefinition } from "./definition-plan.ts";

export interface LakeRefresherDeps {
  readonly catalog: Pick<LakeCatalog, "changes" | "commitIn" | "current" | "version">;
  readonly engine: Pick<Engine, "openSession">;
  readonly objects: ObjectStore;
  readonly stagingDir: string;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** What refreshes took here, newest last: for AUTO. A process that starts anew learns anew. */
class Experience {
  readonly #past = new Map<number, PastRefresh[]>();

  of({ tableId }: DynamicTable): readonly PastRefresh[] {
    return this.#past.get(tableId) ?? [];
  }

  add({ tableId }: DynamicTable, refresh: PastRefresh): void {
    const past = this.#past.get(tableId) ?? [];
    past.push(refresh);
    if (past.length > pastMax) past.shift();
    this.#past.delete(tableId);
    this.#past.set(tableId, past);
    for (const oldest of this.#past.keys()) {
      if (this.#past.size <= tablesMax) return;
      this.#past.delete(oldest);
    }
  }
}

const pastMax = 100;
const tablesMax = 10_000;

/** A source as this refresh reads it. */
interface ReadSource {
  readonly now: TableVersion;
  readonly before: TableVersion | undefined;
  /** `undefined`: what changed cannot be told. */
  readonly scan: ChangeScan | undefined;
}

/** Written, and not yet anybody's. */
interface Written {
  readonly action: "FULL" | "INCREMENTAL";
  readonly change: Extract<TableChange, { readonly kind: "changeRows" }>;
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
}

export function createLakeRefresher(deps: LakeRefresherDeps): Refresher {
  const experience = new Experience();
  return {
    refresh: (claim, table, signal) => new Refresh(deps, experience, claim, table, signal).run(),
  };
}

class Refresh {
  readonly #deps: LakeRefresherDeps;
  readonly #experience: Experience;
  readonly #claim: ClaimedRefresh;
  readonly #table: DynamicTable;
  readonly #signal: AbortSignal;
  readonly #writtenPaths: string[] = [];

  constructor(
    deps: LakeRefresherDeps,
    experience: Experience,
    claim: ClaimedRefresh,
    table: DynamicTable,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#experience = experience;
    this.#claim = claim;
    this.#table = table;
    this.#signal = signal;
  }

  async run(): Promise<RefreshResult> {
    const { catalog } = this.#deps;
    const { snapshot } = await catalog.current();
    const stored = await catalog.version(this.#table.tableId, snapshot);
    const sources = await Promise.all(this.#claim.sources.map((each) => this.#read(each)));
    const isFirst = this.#table.dataSnapshot === undefined;
    const scans = sources.flatMap(({ scan }) => scan ?? []);
    const isKnown = !isFirst && scans.length === sources.length;
    const changedMax = scans.reduce(
      (sum, { addedMax, removedMax }) => sum + addedMax + removedMax,
      0,
    );
    if (isKnown && changedMax === 0 && !this.#table.isVolatile) return { action: "NO_DATA" };
    const relations = [stored, ...sources.flatMap(({ now, before, scan }) => [now, before, scan])];
    const { clock } = this.#deps;
    const startedMs = clock.nowMs();
    try {
      const written = await withFiles(
        this.#deps.objects,
        relations.filter((each) => each !== undefined),
        this.#signal,
        (localPaths) => this.#write(stored, sources, isKnown, changedMax, localPaths),
      );
      this.#experience.add(this.#table, {
        action: written.action,
        durationMs: clock.nowMs() - startedMs,
        changedRows: changedMax,
        totalRows: totalOf(sources),
      });
      return { ...written, commit: (tx) => this.#commit(tx, stored, written) };
    } catch (thrown) {
      await this.#discard();
      throw thrown;
    }
  }

  async #read({ tableId, from, to }: RefreshSource): Promise<ReadSource> {
    const { catalog } = this.#deps;
    const now = await catalog.version(tableId, to);
    if (from === undefined) return { now, before: undefined, scan: undefined };
    const scan = await catalog.changes(tableId, from, to);
    if (scan === "gone" || !scan.sameColumns) return { now, before: undefined, scan: undefined }; // LR2
    return { now, before: await catalog.version(tableId, from), scan };
  }

  async #write(
    stored: TableVersion,
    sources: readonly ReadSource[],
    isKnown: boolean,
    changedMax: number,
    localPaths: ReadonlyMap<string, string>,
  ): Promise<Written> {
    const { engine } = this.#deps;
    const session = await engine.openSession(
      relationsOf(stored, sources, localPaths),
      this.#signal,
    );
    try {
      const named = sources.map(({ now: { table } }) => ({
        schema: table.schema,
        name: table.name,
        table,
      }));
      const plan = await planDefinition(session, this.#table.definition, named, this.#signal);
      checkColumns(stored, plan);
      const incremental = plan.kind === "incremental" && isKnown;
      if (incremental && this.#prefersIncremental(sources, changedMax)) {
        return await this.#writeChange(session, plan, stored, sources);
      }
      return await this.#writeWhole(session, plan, stored);
    } finally {
      await session.close();
    }
  }

  #prefersIncremental(sources: readonly ReadSource[], changedMax: number): boolean {
    const { modeWish } = this.#table;
    if (modeWish !== "AUTO") return modeWish === "INCREMENTAL";
    const past = this.#experience.of(this.#table);
    return chooseMode(past, changedMax, totalOf(sources)).action === "INCREMENTAL";
  }

  async #writeWhole(
    session: EngineSession,
    plan: DefinitionPlan,
    stored: TableVersion,
  ): Promise<Written> {
    const select =
      plan.kind === "incremental"
        ? initialSql(plan, { source: sourceName })
        : this.#table.definition;
    const { table, files } = stored;
    const added = await this.#writer(session).writeRows(
      { select, table, rowIds: "fresh" },
      this.#signal,
    );
    this.#note(added);
    const rowsInserted = added.reduce((sum, { recordCount }) => sum + recordCount, 0);
    const ended = files.map(({ fileId }) => fileId);
    return {
      action: "FULL",
      change: {
        kind: "changeRows",
        tableId: table.tableId,
        added,
        deletes: [],
        ended,
        isCompaction: false,
      },
      rowsInserted,
      rowsDeleted: rowsOf(stored),
    };
  }

  async #writeChange(
    session: EngineSession,
    plan: IncrementalPlan,
    stored: TableVersion,
    sources: readonly ReadSource[],
  ): Promise<Written> {
    const changes = sources.map(({ scan }) => ({
      added: scan?.addedMax ?? 0,
      removed: scan?.removedMax ?? 0,
    }));
    const names = {
      source: sourceName,
      stored: "_stored",
      temporary: (name: string) => `_t_${name}`,
    };
    const sql = refreshSql(plan, names, { changes });
    for (const statement of sql.statements) await session.run(statement, this.#signal);
    const writer = this.#writer(session);
    const positions = `SELECT s._file_id, s._position FROM _stored AS s SEMI JOIN (${sql.deletes}\n) AS d ON s._row_id = d._row_id`;
    const deleted = await writer.writeDeletes({ version: stored, select: positions }, this.#signal);
    this.#note(deleted.deletes);
    const { table } = stored;
    const added = await writer.writeRows(
      { select: sql.inserts, table, rowIds: "fresh" },
      this.#signal,
    );
    this.#note(added);
    const { deletes, ended } = deleted;
    return {
      action: "INCREMENTAL",
      change: {
        kind: "changeRows",
        tableId: table.tableId,
        added,
        deletes,
        ended,
        isCompaction: false,
      },
      rowsInserted: added.reduce((sum, { recordCount }) => sum + recordCount, 0),
      rowsDeleted: deleted.deletedCount,
    };
  }

  async #commit(
    tx: Parameters<LakeCatalog["commitIn"]>[0],
    { snapshot }: TableVersion,
    { action, change }: Written,
  ): Promise<{ readonly snapshot: TableVersion["snapshot"] }> {
    const { token, workerId } = this.#claim;
    return await this.#deps.catalog.commitIn(tx, {
      readSnapshot: snapshot,
      token: `refresh-${this.#table.tableId}-${token}`,
      changes: [change],
      author: workerId,
      message: `${action} refresh of ${this.#table.name}`,
    });
  }

  #writer(session: EngineSession): LakeWriter {
    const { objects, stagingDir, prng } = this.#deps;
    return new LakeWriter({ duckdb: session, objects, stagingDir, prng });
  }

  #note(files: readonly { readonly path: string }[]): void {
    this.#writtenPaths.push(...files.map(({ path }) => path));
  }

  /** LR3. */
  async #discard(): Promise<void> {
    if (this.#writtenPaths.length === 0) return;
    await this.#deps.objects.delete(this.#writtenPaths).catch((thrown: unknown) => {
      this.#deps.logger.warn({}, `files of a failed refresh are left: ${messageOf(thrown)}`);
    });
  }
}

function totalOf(sources: readonly ReadSource[]): number {
  return sources.reduce((sum, { now }) => sum + rowsOf(now), 0);
}

function rowsOf({ files }: TableVersion): number {
  return files.reduce(
    (sum, { recordCount, deletes }) => sum + recordCount - (deletes?.deleteCount ?? 0),
    0,
  );
}

function sourceName(source: number, rows: "added" | "new" | "old" | "removed"): string {
  return `_source_${source}_${rows}`;
}

/** By their own names for the definition's text, and by ours, with row ids, for what is computed from it. */
function relationsOf(
  stored: TableVersion,
  sources: readonly ReadSource[],
  localPaths: ReadonlyMap<string, string>,
): Parameters<Engine["openSession"]>[0] {
  const schema = "main";
  const whole = tableSql(stored, { rowIds: true, localPaths });
  const relations = [{ schema, name: "_stored", sql: whole }];
  for (const [index, { now, before, scan }] of sources.entries()) {
    const { table } = now;
    const columns = visibleColumns(table).map(({ name }) => quoteName(name));
    const select = (sql: string, rowIds: boolean): string =>
      `SELECT ${[...(rowIds ? ["_row_id"] : []), ...columns].join(", ")} FROM (${sql})`;
    const add = (rows: "added" | "new" | "old" | "removed", sql: string): void => {
      relations.push({ schema, name: sourceName(index, rows), sql: select(sql, true) });
    };
    const plain = tableSql(now, { rowIds: false, localPaths });
    relations.push({ schema: table.schema, name: table.name, sql: select(plain, false) });
    add("new", tableSql(now, { rowIds: true, localPaths }));
    if (before === undefined || scan === undefined) continue;
    add("old", tableSql(before, { rowIds: true, localPaths }));
    add("added", addedSql(scan, { localPaths }));
    add("removed", removedSql(scan, { localPaths }));
  }
  return relations;
}

/** The table was made for the plan that its definition had then. */
function checkColumns({ table }: TableVersion, plan: DefinitionPlan): void {
  if (plan.kind === "full") return;
  const wanted = plan.allColumns.map(({ name }) => name.toLowerCase());
  const there = table.columns.map(({ name }) => name.toLowerCase());
  if (wanted.join() === there.join()) return;
  const message = `the columns of ${table.name} are no longer those of its definition`;
  const hint = "CREATE OR REPLACE DYNAMIC TABLE makes it anew";
  throw new OperatingError("bad_sql", "never", message, { hint });
}
