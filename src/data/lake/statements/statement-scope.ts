/** The context of a statement over the lake: its request, its tables, and how it commits. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { CatalogTx, Store } from "../../../ground/store/index.ts";
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
import type { StatementRequest } from "../../statements/core/index.ts";
import { isReservedColumn } from "../core/hidden-columns.ts";
import type {
  Commit,
  Committed,
  LakeCatalog,
  LakeTable,
  ObjectStore,
  TableVersion,
} from "../core/index.ts";
import { type BoundQuery, bindQuery } from "./bound-query.ts";
import { type DescribedColumn, describeQuery } from "./describe.ts";
import type { ReadableRelation } from "./readable-relations.ts";
import { RowFiles } from "./row-files.ts";
import { runWrite, type WriteAttempt } from "./run-write.ts";
import type { TableGuard } from "./table-guard.ts";
import type { Uploads } from "./uploads.ts";

export interface LakeStatementsDeps {
  readonly store: Pick<Store, "catalogTransaction">;
  readonly catalog: LakeCatalog;
  readonly objects: Pick<ObjectStore, "delete" | "put">;
  readonly uploads: Pick<Uploads, "append" | "begin" | "discard" | "received">;
  readonly engine: Pick<Engine, "with">;
  readonly manager: Pick<ApiWorkManager, "get" | "open" | "run">;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
}

/** Relations and guards that other kinds of work have registered. */
export interface LakeNeighbours {
  readonly relations: ReadonlyMap<string, ReadableRelation>;
  readonly guards: readonly TableGuard[];
}

export type StatementOf<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;

export class StatementScope {
  readonly request: StatementRequest;
  /** Its engine and logger name this statement in every log line. */
  readonly deps: LakeStatementsDeps & { readonly engine: Engine };
  readonly signal: AbortSignal;
  readonly #neighbours: LakeNeighbours;
  /** Whoever binds a reading statement discards them when it has ended. */
  readonly rowFiles: RowFiles;

  constructor(deps: LakeStatementsDeps, neighbours: LakeNeighbours, request: StatementRequest) {
    this.request = request;
    this.signal = request.signal;
    this.#neighbours = neighbours;
    const fields = { query_id: request.queryId };
    this.deps = { ...deps, engine: deps.engine.with(fields), logger: deps.logger.with(fields) };
    this.rowFiles = new RowFiles(deps, request.queryId, request.signal);
  }

  /** Conflicts are judged from the snapshot before it read anything. */
  async write(
    prepare: () => Promise<Omit<WriteAttempt, "readSnapshot">>,
  ): ReturnType<typeof runWrite> {
    const { catalog } = this.deps;
    const { queryId, text, timeoutMs: deadlineMs } = this.request;
    const request = {
      queryId,
      text,
      deadlineMs,
      attempt: async () => {
        const { snapshot: readSnapshot } = await catalog.current();
        return { ...(await prepare()), readSnapshot };
      },
    };
    return await runWrite(this.deps, request, this.signal);
  }

  /** Binds a query for its rows: waits for the first contents of tables that others fill. */
  async bindFilled(sql: string, isReading = false): Promise<BoundQuery> {
    const bind = () => (isReading ? this.bindReading(sql) : this.bind(sql));
    const bound = await bind();
    const empty = bound.tables.flatMap(({ version }) =>
      version.files.length === 0 ? [version] : [],
    );
    if (empty.length === 0) return bound;
    let hasWaited = false;
    for (const guard of this.#neighbours.guards) {
      const waits = guard.awaitContents(empty, this.request.timeoutMs, this.signal);
      hasWaited = (await waits) || hasWaited;
    }
    return hasWaited ? await bind() : bound;
  }

  /** Binds a statement that only reads, and so may read other kinds' relations. */
  async bindReading(sql: string): Promise<BoundQuery> {
    const { catalog, engine } = this.deps;
    const ports = { catalog, parse: (text: string) => engine.parse(text, this.signal) };
    const { rowFiles, signal } = this;
    const { relations } = this.#neighbours;
    return await bindQuery(ports, sql, { catalog, relations, rowFiles, signal });
  }

  async bind(sql: string): Promise<BoundQuery> {
    const { catalog, engine } = this.deps;
    return await bindQuery({ catalog, parse: (text) => engine.parse(text, this.signal) }, sql);
  }

  /** Throws `bad_sql` if the query does not bind. */
  async describe(bound: BoundQuery): Promise<readonly DescribedColumn[]> {
    return await describeQuery(this.deps.engine, bound, this.signal);
  }

  async commit(read: Pick<TableVersion, "snapshot">, changes: Commit["changes"]): Promise<void> {
    await this.deps.catalog.commit(this.commitOf(read, changes));
  }

  commitOf({ snapshot }: Pick<TableVersion, "snapshot">, changes: Commit["changes"]): Commit {
    return {
      readSnapshot: snapshot,
      token: this.request.queryId,
      changes,
      author: "sql",
      message: this.request.text.slice(0, 200),
    };
  }

  /** Commits a change that removes something of the table, unless another kind reads that. */
  async commitUnread(
    version: TableVersion,
    after: LakeTable | undefined,
    commit: Commit,
  ): Promise<Committed> {
    const { store, catalog } = this.deps;
    for (;;) {
      const checks = await this.checkChange(version, after);
      const committed = await store.catalogTransaction(async (tx) => {
        for (const holds of checks) if (!(await holds(tx))) return undefined;
        return await catalog.commitIn(tx, commit);
      });
      if (committed !== undefined) return committed;
    }
  }

  /** See `TableGuard`. */
  async checkChange(
    version: TableVersion,
    after: LakeTable | undefined,
  ): Promise<readonly ((tx: CatalogTx) => Promise<boolean>)[]> {
    const { guards } = this.#neighbours;
    return await Promise.all(guards.map((guard) => guard.checkChange(version, after, this)));
  }

  /** A table that no other kind of work fills. */
  async writable(name: TableName): Promise<TableVersion> {
    const found = await this.current(name);
    await this.refuseWrite(found);
    return found;
  }

  async refuseWrite(version: TableVersion): Promise<void> {
    for (const guard of this.#neighbours.guards) await guard.refuseWrite(version);
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

/** Refuses names that no SELECT could read, or that `bindQuery` uses for tables with `AT`. */
export function refuseTableName(name: string): void {
  if (!looksLikeFile(name) && !isSystemTable(name) && !/^_at_\d+$/i.test(name)) return;
  const why = looksLikeFile(name) ? "a name with slashes is taken for a file's" : "DuckDB uses it";
  throw new OperatingError("bad_sql", "never", `no table can be named ${quoteName(name)}: ${why}`);
}
