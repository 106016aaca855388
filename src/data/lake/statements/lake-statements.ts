/**
 * Statements over the lake. SELECTs and changes of rows run on workers; definitions of tables only
 * change the catalog. Errors of binding and types are reported before anything is written.
 */

import { assert } from "../../../ground/kernel/errors.ts";
import { runRows, runSql } from "../../duckdb/index.ts";
import {
  type OthersAfter,
  parseStatement,
  type Statement,
  statementVerbs,
  type TokenCursor,
} from "../../sql/core/index.ts";
import type {
  LocalAnswer,
  ParsedStatement,
  StatementHandler,
  StatementRequest,
  StreamedAnswer,
} from "../../statements/core/index.ts";
import { lakeQueryBody, lakeQueryWorkKind } from "./lake-query-executor.ts";
import type { ReadableRelation, ReadableRelations } from "./readable-relations.ts";
import { RowStatements } from "./row-statements.ts";
import { type LakeStatementsDeps, StatementScope } from "./statement-scope.ts";
import type { TableGuard } from "./table-guard.ts";
import { describeTable, TableStatements } from "./table-statements.ts";

type Reading = Extract<Statement, { readonly kind: "explain" | "query" }>;

export class LakeStatements implements StatementHandler {
  readonly heads: readonly string[] = statementVerbs;
  readonly #deps: LakeStatementsDeps;
  readonly #relations = new Map<string, ReadableRelation>();
  readonly #guards: TableGuard[] = [];

  constructor(deps: LakeStatementsDeps) {
    this.#deps = deps;
  }

  /** Adds another kind's relations for SQL and its guard of tables. */
  join(neighbour: { readonly relations?: ReadableRelations; readonly guard?: TableGuard }): void {
    const { relations = new Map(), guard } = neighbour;
    for (const [name, relation] of relations) {
      assert(!this.#relations.has(name), `one kind of work gives the relation ${name}`);
      this.#relations.set(name, relation);
    }
    if (guard !== undefined) this.#guards.push(guard);
  }

  parse(cursor: TokenCursor, othersAfter: OthersAfter): ParsedStatement {
    const statement = parseStatement(cursor, othersAfter);
    if (statement.kind === "query" || statement.kind === "explain") {
      return { role: "read", run: (request) => this.#read(statement, this.scope(request)) };
    }
    const isReading = statement.kind.startsWith("show") || statement.kind === "describeTable";
    return {
      role: isReading ? "read" : "operate",
      run: (request) => answerOf(this.scope(request), statement),
    };
  }

  /** Also used by other kinds' statements about tables. */
  scope(request: StatementRequest): StatementScope {
    return new StatementScope(
      this.#deps,
      { relations: this.#relations, guards: this.#guards },
      request,
    );
  }

  async #read(statement: Reading, scope: StatementScope): Promise<StreamedAnswer> {
    try {
      return await this.#answer(statement, scope);
    } finally {
      await scope.rowFiles.discard();
    }
  }

  async #answer(statement: Reading, scope: StatementScope): Promise<StreamedAnswer> {
    const { request, signal } = scope;
    const sql = statement.query.text;
    const isPlan = statement.kind === "explain" && !statement.analyze;
    const bound = await (isPlan ? scope.bindReading(sql) : scope.bindFilled(sql, true));
    const isPlain = bound.tables.length === 0 && bound.views === undefined;
    if (isPlain && statement.kind === "query") {
      return await runSql(this.#deps, request.text, request, signal);
    }
    const explain = isPlan ? ("plan" as const) : ("analyze" as const);
    const work = {
      kind: lakeQueryWorkKind,
      body: lakeQueryBody(statement.kind === "query" ? bound : { ...bound, explain }),
      text: request.text,
      affinityKey: `lake ${bound.tables[0]?.version.table.tableId}`,
    };
    return await runRows(this.#deps, work, request, signal);
  }
}

async function answerOf(
  scope: StatementScope,
  statement: Exclude<Statement, Reading>,
): Promise<LocalAnswer> {
  const tables = new TableStatements(scope);
  const rows = new RowStatements(scope);
  switch (statement.kind) {
    case "showTables":
      return await tables.showTables();
    case "showSnapshots":
      return await tables.showSnapshots();
    case "describeTable":
      return await describeTable(scope, statement.table);
    case "createTable":
      return await tables.createTable(statement);
    case "dropTable":
      return await tables.dropTable(statement);
    case "alterTable":
      return await tables.alterTable(statement);
    case "insert":
      return await rows.insert(statement);
    case "copy":
      return await rows.copy(statement);
    case "update":
      return await rows.change(statement.table, {
        alias: statement.alias,
        set: statement.set.map(({ column, value }) => ({ column, value: value.text })),
        from: statement.from?.text,
        where: statement.where?.text,
      });
    case "delete":
      return await rows.change(statement.table, {
        alias: statement.alias,
        set: undefined,
        from: statement.using?.text,
        where: statement.where?.text,
      });
  }
}
