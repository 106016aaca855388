/**
 * Computes a refresh on a worker: reads the sources at the claim's snapshots, writes the files of
 * the new contents, and returns the commit that publishes them. Nothing is visible before that
 * commit.
 *
 * A refresh is full where a change cannot be told exactly: a source's older snapshot is gone, its
 * columns changed, or it is read for the first time. A refresh that fails or is aborted deletes its
 * files, as far as the object store allows. Only refreshes write to a dynamic table, one at a time;
 * other commits only move its rows to other files (compaction). So a full refresh can be rebased on
 * any commit. Rules: TI1, TI13, TP10.
 */

import type { EngineSession } from "../../../data/duckdb/index.ts";
import {
  type LakeCatalog,
  LakeWriter,
  type NewDataFile,
  type TableChange,
  type TableVersion,
  withFiles,
} from "../../../data/lake/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type {
  ClaimedRefresh,
  DynamicTable,
  RefreshedData,
  Refresher,
  RefreshResult,
  RefreshSplit,
} from "../core/index.ts";
import {
  chooseMode,
  decideBuckets,
  duckdbSqlTool,
  type IncrementalPlan,
  initialSql,
  refreshSql,
} from "../incremental/index.ts";
import { decideSplit, type SplitLimits, splitLimitsDefault } from "./decide-split.ts";
import { checkColumns, type DefinitionPlan, DefinitionPlans } from "./definition-plan.ts";
import { type ReadSource, readSource, rowsOf } from "./read-sources.ts";
import { filesOfParts, partSpecs, type RefreshPartsDeps, selectOf } from "./refresh-parts.ts";
import { RefreshTexts, type Relations } from "./refresh-texts.ts";

export interface LakeRefresherDeps extends RefreshPartsDeps {
  readonly catalog: Pick<LakeCatalog, "changes" | "commitIn" | "current" | "version">;
  readonly logger: Logger;
  readonly clock: Clock;
  /** When absent, no refresh is split. */
  readonly split?: Partial<SplitLimits> & { readonly ability: string };
}

/** The result of a computation whose files are not committed yet. */
interface Written {
  readonly action: "FULL" | "INCREMENTAL";
  readonly change: Extract<TableChange, { readonly kind: "changeRows" }>;
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
  readonly reason: string;
}

/** What a refresh has to compute. */
interface Task {
  readonly stored: TableVersion;
  readonly sources: readonly ReadSource[];
  /** Whether the sources' changes are known exactly. */
  readonly isKnown: boolean;
  readonly changedRows: number;
  readonly totalRows: number;
}

export function createLakeRefresher(deps: LakeRefresherDeps): Refresher {
  const plans = new DefinitionPlans(deps.engine);
  return {
    refresh: (claim, table, signal) => new Refresh(deps, plans, claim, table, signal).run(),
  };
}

class Refresh {
  readonly #deps: LakeRefresherDeps;
  readonly #plans: DefinitionPlans;
  readonly #claim: ClaimedRefresh;
  readonly #table: DynamicTable;
  readonly #signal: AbortSignal;
  readonly #writtenPaths: string[] = [];
  #startedMs: number;

  constructor(
    deps: LakeRefresherDeps,
    plans: DefinitionPlans,
    claim: ClaimedRefresh,
    table: DynamicTable,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#plans = plans;
    this.#claim = claim;
    this.#table = table;
    this.#signal = signal;
    this.#startedMs = deps.clock.nowMs();
  }

  async run(): Promise<RefreshResult | RefreshSplit> {
    const task = await this.#readTask();
    const isUnchanged = task.isKnown && task.changedRows === 0;
    if (isUnchanged && !this.#table.isVolatile) return { action: "NO_DATA" };
    const plan = await this.#plan(task);
    this.#startedMs = this.#deps.clock.nowMs();
    const split = await this.#split(task, plan);
    if (split !== undefined) return split;
    const { stored, sources } = task;
    const read = [stored, ...sources.flatMap(({ now, before, scan }) => [now, before, scan])];
    try {
      const written = await withFiles(
        this.#deps.objects,
        read.filter((each) => each !== undefined),
        this.#signal,
        (localPaths) => this.#compute(task, plan, localPaths),
      );
      return this.#data(task, stored, written);
    } catch (thrown) {
      await this.#discard();
      throw thrown;
    }
  }

  async #readTask(): Promise<Task> {
    const { catalog } = this.#deps;
    const stored = await this.#readStored();
    const sources = await Promise.all(
      this.#claim.sources.map((source) => readSource(catalog, source)),
    );
    const scans = sources.flatMap(({ scan }) => scan ?? []);
    return {
      stored,
      sources,
      isKnown: this.#table.dataSnapshot !== undefined && scans.length === sources.length,
      changedRows: sum(scans.map(({ addedMax, removedMax }) => addedMax + removedMax)),
      totalRows: sum(sources.map(({ now }) => rowsOf(now))),
    };
  }

  async #readStored(): Promise<TableVersion> {
    const { catalog } = this.#deps;
    const { snapshot } = await catalog.current();
    return await catalog.version(this.#table.tableId, snapshot);
  }

  /** Undefined when the refresh is computed here, in one part. */
  async #split(task: Task, plan: DefinitionPlan): Promise<RefreshSplit | undefined> {
    const { split, logger } = this.#deps;
    const limits = { ...splitLimitsDefault, ...split };
    if (split === undefined || task.totalRows < limits.rowsMin) return undefined;
    if (plan.kind === "full" || this.#choose(plan, task).action === "INCREMENTAL") return undefined;
    const { stored, sources, totalRows } = task;
    const bucketing = decideBuckets(
      plan,
      sources.map(({ now }) => rowsOf(now)),
    );
    const decision = decideSplit(bucketing, totalRows, limits);
    if (decision.kind === "whole") {
      logger.info({ dynamic_table: this.#table.name }, `not split: ${decision.reason}`);
      return undefined;
    }
    const { columns, parts } = decision;
    return {
      action: "SPLIT",
      ability: split.ability,
      specs: partSpecs(plan, columns, parts, stored.table),
      merge: async (results) => {
        const files = filesOfParts(results);
        this.#note(files);
        const reason = `${totalRows} rows to read, in ${parts} parts`;
        const workerCount = new Set(results.map(({ workerId }) => workerId)).size;
        const data = this.#data(task, stored, whole(stored, files, reason));
        return { ...data, parts: { partCount: parts, workerCount } };
      },
      discard: async (results) => {
        this.#note(filesOfParts(results));
        await this.#discard();
      },
    };
  }

  async #compute(
    task: Task,
    plan: DefinitionPlan,
    localPaths: ReadonlyMap<string, string>,
  ): Promise<Written> {
    const { stored, sources } = task;
    const texts = new RefreshTexts(stored, sources, localPaths);
    const relations = isPlain(plan, stored) ? texts.relations() : [];
    const { action, reason } = this.#choose(plan, task);
    if (plan.kind === "full" || action === "FULL") {
      return await this.#inSession(relations, (session) =>
        this.#writeWhole(session, plan, stored, texts, reason),
      );
    }
    try {
      return await this.#inSession(relations, (session) =>
        this.#writeChange(session, plan, task, texts, reason),
      );
    } catch (thrown) {
      if (!isEngineTrouble(thrown) || this.#signal.aborted) throw thrown;
      await this.#discard();
      const why = `computed whole, because the change could not be: ${messageOf(thrown)}`;
      this.#deps.logger.warn({ dynamic_table: this.#table.name }, why);
      this.#startedMs = this.#deps.clock.nowMs();
      // TI13. In a new session, since temporary tables of the first may have filled the memory.
      return await this.#inSession(relations, (session) =>
        this.#writeWhole(session, plan, stored, texts, why),
      );
    }
  }

  async #inSession<T>(
    relations: Relations,
    use: (session: EngineSession) => Promise<T>,
  ): Promise<T> {
    return await this.#deps.engine.withSession(relations, this.#signal, async (session) => {
      await this.#discard(); // Files of an attempt whose engine was lost.
      return await use(session);
    });
  }

  async #plan({ stored, sources }: Task): Promise<DefinitionPlan> {
    const named = sources.map(({ now: { table } }) => ({
      schema: table.schema,
      name: table.name,
      table,
    }));
    const plan = await this.#plans.plan(this.#table.definition, named, this.#signal);
    if (plan.kind === "incremental") checkColumns(stored.table, storedColumns(plan, stored));
    return plan;
  }

  #choose(plan: DefinitionPlan, { stored, isKnown, changedRows, totalRows }: Task) {
    const { modeWish } = this.#table;
    const full = (reason: string) => ({ action: "FULL", reason }) as const;
    if (plan.kind === "full") return full(plan.reason);
    if (modeWish === "FULL") return full("as asked for");
    if (hasNoHidden(plan, stored)) return full("it was created to be refreshed in full");
    if (this.#table.dataSnapshot === undefined) return full("the first");
    if (!isKnown) return full("what changed in its sources is not known");
    if (modeWish === "INCREMENTAL") return { action: "INCREMENTAL", reason: "" } as const;
    return chooseMode(this.#claim.experience, changedRows, totalRows);
  }

  async #writeWhole(
    session: EngineSession,
    plan: DefinitionPlan,
    stored: TableVersion,
    texts: RefreshTexts,
    reason: string,
  ): Promise<Written> {
    const { definition } = this.#table;
    if (plan.kind === "full") {
      const tool = duckdbSqlTool((sql) => session.objects(sql, this.#signal));
      checkColumns(stored.table, await tool.describe(`SELECT * FROM (${definition}\n)`));
    }
    const select =
      plan.kind === "full" || isPlain(plan, stored)
        ? definition
        : selectOf(storedColumns(plan, stored), initialSql(plan, texts));
    const { table } = stored;
    const added = await this.#writer(session).writeRows(
      { select, table, rowIds: "fresh" },
      this.#signal,
    );
    this.#note(added);
    return whole(stored, added, reason);
  }

  async #writeChange(
    session: EngineSession,
    plan: IncrementalPlan,
    { stored, sources }: Task,
    texts: RefreshTexts,
    reason: string,
  ): Promise<Written> {
    const changes = sources.map(({ scan }) => ({
      added: scan?.addedMax ?? 0,
      removed: scan?.removedMax ?? 0,
    }));
    const sql = refreshSql(plan, texts, { changes });
    for (const statement of sql.statements) await session.run(statement, this.#signal);
    const writer = this.#writer(session);
    const deleted = await writer.writeDeletes(
      { version: stored, localPaths: texts.localPaths, select: sql.deletes },
      this.#signal,
    );
    this.#note([...deleted.deletes, ...deleted.moved]);
    const { table } = stored;
    const added = await writer.writeRows(
      { select: sql.inserts, table, rowIds: "fresh" },
      this.#signal,
    );
    this.#note(added);
    const { deletes, ended, moved } = deleted;
    return {
      action: "INCREMENTAL",
      change: {
        kind: "changeRows",
        tableId: table.tableId,
        added: [...moved, ...added],
        deletes,
        ended,
        isCompaction: false,
      },
      rowsInserted: sum(added.map(({ recordCount }) => recordCount)),
      rowsDeleted: deleted.deletedCount,
      reason,
    };
  }

  #data(task: Task, stored: TableVersion, written: Written): RefreshedData {
    const { action, rowsInserted, rowsDeleted, reason, change } = written;
    const { changedRows, totalRows } = task;
    const durationMs = this.#deps.clock.nowMs() - this.#startedMs;
    return {
      action,
      rowsInserted,
      rowsDeleted,
      reason,
      cost: { durationMs, changedRows, totalRows },
      commit: (tx) => this.#commit(tx, stored, written),
      ...(action === "FULL" ? { rebase: () => this.#rebase(task, written) } : {}),
      discard: () => {
        this.#note([...change.added, ...change.deletes]);
        return this.#discard();
      },
    };
  }

  /** Applies a full refresh to the files that the table has now. */
  async #rebase(task: Task, { change, reason }: Written): Promise<RefreshedData> {
    const stored = await this.#readStored();
    return this.#data(task, stored, whole(stored, change.added, reason));
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

  /** Deletes the written files. */
  async #discard(): Promise<void> {
    const paths = [...new Set(this.#writtenPaths.splice(0))];
    if (paths.length === 0) return;
    await this.#deps.objects.delete(paths).catch((thrown: unknown) => {
      this.#deps.logger.warn(
        { dynamic_table: this.#table.name },
        `files of a failed refresh are left: ${messageOf(thrown)}`,
      );
    });
  }
}

/** Ends every data file of the table's current version. */
function whole(stored: TableVersion, added: readonly NewDataFile[], reason: string): Written {
  const { table, files } = stored;
  return {
    action: "FULL",
    change: {
      kind: "changeRows",
      tableId: table.tableId,
      added,
      deletes: [],
      ended: files.map(({ fileId }) => fileId),
      isCompaction: false,
    },
    rowsInserted: sum(added.map(({ recordCount }) => recordCount)),
    rowsDeleted: rowsOf(stored),
    reason,
  };
}

/** Whether the engine failed in a way that does not mean that the definition is wrong. */
function isEngineTrouble(thrown: unknown): boolean {
  const codes = ["bad_sql", "query_failed", "query_too_large", "statement_too_large"];
  return thrown instanceof OperatingError && codes.includes(thrown.code);
}

/** A table that is always computed whole has no hidden columns. */
function hasNoHidden(plan: IncrementalPlan, { table }: TableVersion): boolean {
  return table.columns.length === plan.columns.length && plan.hiddenColumns.length > 0;
}

/** Whether the stored rows are just the result of the definition's text. */
function isPlain(plan: DefinitionPlan, stored: TableVersion): boolean {
  return plan.kind === "full" || hasNoHidden(plan, stored);
}

function storedColumns(plan: IncrementalPlan, stored: TableVersion): IncrementalPlan["columns"] {
  return hasNoHidden(plan, stored) ? plan.columns : plan.allColumns;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
