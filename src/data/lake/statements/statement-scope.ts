/** What every statement over the lake needs: who asked for what, the tables that it names, and how it commits. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { newQueryId } from "../../../ground/kernel/new-query-id.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { ApiWorkManager } from "../../../ground/work/index.ts";
import type { Engine } from "../../duckdb/index.ts";
import {
  isSystemTable,
  looksLikeFile,
  nameKey,
  quoteName,
  type Statement,
  type TableName,
} from "../../sql/core/index.ts";
import { isReservedColumn } from "../core/hidden-columns.ts";
import type { Commit, LakeCatalog, LakeTable, ObjectStore, TableVersion } from "../core/index.ts";
import { type BoundQuery, bindQuery } from "./bound-query.ts";
import type { DynamicTablesPort } from "./dynamic-tables-port.ts";
import type { ReadableRelations } from "./readable-relations.ts";
import { RowFiles } from "./row-files.ts";
import { runWrite, type WriteAttempt } from "./run-write.ts";
import type { Uploads } from "./uploads.ts";

export interface LakeStatementsDeps {
  readonly catalog: LakeCatalog;
  readonly objects: Pick<ObjectStore, "delete" | "put">;
  readonly uploads: Pick<Uploads, "append" | "begin" | "discard" | "received">;
  readonly dynamicTables: DynamicTablesPort;
  /** What other kinds of work let SQL read; nothing unless given. */
  readonly relations?: ReadableRelations;
  readonly engine: Pick<Engine, "with">;
  readonly manager: Pick<ApiWorkManager, "get" | "open" | "run">;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
}

export interface StatementOptions {
  readonly timeoutMs?: number | undefined;
  readonly queryId?: QueryId;
  readonly mayWrite: boolean;
  /** The file of a COPY. */
  readonly uploadId?: string | undefined;
}

/** A statement of one kind. */
export type StatementOf<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;

export const timeoutMsDefault = 60_000;

export class StatementScope {
  readonly queryId: QueryId;
  /** Its engine and its logger name this statement in every line. */
  readonly deps: LakeStatementsDeps & { readonly engine: Engine };
  readonly text: string;
  readonly options: StatementOptions;
  readonly signal: AbortSignal;
  /** Whoever binds a reading statement discards them when it has ended. */
  readonly rowFiles: RowFiles;

  constructor(
    deps: LakeStatementsDeps,
    text: string,
    options: StatementOptions,
    signal: AbortSignal,
  ) {
    this.text = text;
    this.options = options;
    this.signal = signal;
    this.queryId = options.queryId ?? newQueryId(deps.prng);
    const fields = { query_id: this.queryId };
    this.deps = { ...deps, engine: deps.engine.with(fields), logger: deps.logger.with(fields) };
    this.rowFiles = new RowFiles(deps, this.queryId, signal);
  }

  /** It is judged against what the lake was before it read anything. */
  async write(
    prepare: () => Promise<Omit<WriteAttempt, "readSnapshot">>,
  ): ReturnType<typeof runWrite> {
    const { catalog } = this.deps;
    const request = {
      queryId: this.queryId,
      text: this.text,
      deadlineMs: this.options.timeoutMs ?? timeoutMsDefault,
      attempt: async () => {
        const { snapshot: readSnapshot } = await catalog.current();
        return { ...(await prepare()), readSnapshot };
      },
    };
    return await runWrite(this.deps, request, this.signal);
  }

  /** For somebody who wants its rows: what it reads of dynamic tables has contents. */
  async bindFilled(sql: string, isReading = false): Promise<BoundQuery> {
    const bind = () => (isReading ? this.bindReading(sql) : this.bind(sql));
    const bound = await bind();
    const empty = bound.tables.flatMap(({ version }) =>
      version.files.length === 0 ? [version] : [],
    );
    if (empty.length === 0) return bound;
    const waitMsMax = this.options.timeoutMs ?? timeoutMsDefault;
    const { dynamicTables } = this.deps;
    const hasWaited = await dynamicTables.awaitContents(empty, waitMsMax, this.signal);
    return hasWaited ? await bind() : bound;
  }

  /** Of a statement that only reads: it may read what other kinds of work give, too. */
  async bindReading(sql: string): Promise<BoundQuery> {
    const { catalog, engine, relations = new Map() } = this.deps;
    const ports = { catalog, parse: (text: string) => engine.parse(text, this.signal) };
    const { rowFiles, signal } = this;
    return await bindQuery(ports, sql, { catalog, relations, rowFiles, signal });
  }

  async bind(sql: string): Promise<BoundQuery> {
    const { catalog, engine } = this.deps;
    return await bindQuery({ catalog, parse: (text) => engine.parse(text, this.signal) }, sql);
  }

  async commit(read: Pick<TableVersion, "snapshot">, changes: Commit["changes"]): Promise<void> {
    await this.deps.catalog.commit(this.commitOf(read, changes));
  }

  commitOf({ snapshot }: Pick<TableVersion, "snapshot">, changes: Commit["changes"]): Commit {
    return {
      readSnapshot: snapshot,
      token: this.queryId,
      changes,
      author: "sql",
      message: this.text.slice(0, 200),
    };
  }

  /** Not of a dynamic table: those are their refreshes' alone. */
  async writable(name: TableName): Promise<TableVersion> {
    const found = await this.current(name);
    await this.deps.dynamicTables.refuseWrite(found);
    return found;
  }

  async current({ schema, name }: TableName): Promise<TableVersion> {
    const moment = { kind: "current" as const };
    const [found] = await this.deps.catalog.resolve([{ schema, name, moment }]);
    assert(found !== undefined, "what is asked for is found, or refused");
    return found;
  }

  async find(name: TableName): Promise<TableVersion | undefined> {
    try {
      return await this.current(name);
    } catch (thrown) {
      if (thrown instanceof OperatingError && thrown.code === "not_found") return undefined;
      throw thrown;
    }
  }
}

export function columnOf(table: LakeTable, name: string): LakeTable["columns"][number] | undefined {
  return table.columns.find((column) => nameKey(column.name) === nameKey(name));
}

export function noColumn(table: LakeTable, name: string): never {
  const names = table.columns.map((column) => quoteName(column.name)).join(", ");
  const message = `table ${table.name} has no column ${quoteName(name)}`;
  throw new OperatingError("bad_sql", "never", message, { hint: `its columns are ${names}` });
}

export function refuseReserved(names: readonly string[]): void {
  const name = names.find(isReservedColumn);
  if (name === undefined) return;
  throw new OperatingError("bad_sql", "never", `no column can be named ${name}: Capstan uses it`);
}

/** No SELECT could read a table of such a name, or would take it for a table at another moment (`bindQuery`). */
export function refuseTableName(name: string): void {
  if (!looksLikeFile(name) && !isSystemTable(name) && !/^_at_\d+$/i.test(name)) return;
  const why = looksLikeFile(name) ? "a name with slashes is taken for a file's" : "DuckDB uses it";
  throw new OperatingError("bad_sql", "never", `no table can be named ${quoteName(name)}: ${why}`);
}
