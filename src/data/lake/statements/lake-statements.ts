/**
 * Statements over the lake, from a person's text to an answer: SELECTs and changes of rows run on workers; what tables there
 * are is the catalog's business alone.
 *
 *   1  Whatever does not parse, bind or fit is told before anything is written.
 *   2  A statement that changes something needs `mayWrite`.
 */

import { OperatingError } from "../../../ground/kernel/errors.ts";
import { runRows, runSql, type SqlResult } from "../../duckdb/index.ts";
import {
  isVolatile,
  parseSelectTree,
  parseStatement,
  type Statement,
  tableRefs,
  volatilePartsOf,
} from "../../sql/core/index.ts";
import { describeQuery } from "./describe.ts";
import type { StatementContext } from "./dynamic-tables-port.ts";
import { lakeQueryBody, lakeQueryWorkKind } from "./lake-query-executor.ts";
import { answerLocally, type LocalAnswer } from "./local-answer.ts";
import { RowStatements } from "./row-statements.ts";
import {
  type LakeStatementsDeps,
  refuseReserved,
  refuseTableName,
  type StatementOptions,
  StatementScope,
  timeoutMsDefault,
} from "./statement-scope.ts";
import { TableStatements } from "./table-statements.ts";

export class LakeStatements {
  readonly #deps: LakeStatementsDeps;

  constructor(deps: LakeStatementsDeps) {
    this.#deps = deps;
  }

  async run(text: string, options: StatementOptions, signal: AbortSignal): Promise<SqlResult> {
    const statement = parseStatement(text);
    if (statement.kind === "query") {
      return await this.#query(text, statement.query.text, options, signal);
    }
    if (statement.kind === "explain") {
      const explain = statement.analyze ? "analyze" : "plan";
      return await this.#query(text, statement.query.text, options, signal, explain);
    }
    const { clock } = this.#deps;
    const startedMs = clock.nowMs();
    if (!isReading(statement) && !options.mayWrite) throw mayNotWrite(); // 2
    const scope = new StatementScope(this.#deps, text, options, signal);
    const answer = await answerOf(scope, statement);
    return answerLocally(scope.queryId, answer, clock.nowMs() - startedMs);
  }

  /** `text` is the person's, comments and all. */
  async #query(
    text: string,
    sql: string,
    options: StatementOptions,
    signal: AbortSignal,
    explain?: "plan" | "analyze",
  ): Promise<SqlResult> {
    const scope = new StatementScope(this.#deps, text, options, signal);
    try {
      return await this.#answer(scope, sql, explain);
    } finally {
      await scope.rowFiles.discard();
    }
  }

  async #answer(
    scope: StatementScope,
    sql: string,
    explain: "plan" | "analyze" | undefined,
  ): Promise<SqlResult> {
    const { text, options, signal } = scope;
    const bound = await (explain === "plan" ? scope.bindReading(sql) : scope.bindFilled(sql, true));
    const { queryId, timeoutMs } = options;
    const asked = {
      ...(queryId === undefined ? {} : { queryId }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    const isPlain = bound.tables.length === 0 && bound.views === undefined;
    if (isPlain && explain === undefined) {
      return await runSql(this.#deps, text, asked, signal);
    }
    const work = {
      kind: lakeQueryWorkKind,
      body: lakeQueryBody(explain === undefined ? bound : { ...bound, explain }),
      text,
      affinityKey: `lake ${bound.tables[0]?.version.table.tableId}`,
    };
    return await runRows(this.#deps, work, asked, signal);
  }
}

function isReading({ kind }: Statement): boolean {
  return kind.startsWith("show") || kind.startsWith("describe") || kind.startsWith("explain");
}

async function answerOf(
  scope: StatementScope,
  statement: Exclude<Statement, { readonly kind: "explain" | "query" }>,
): Promise<LocalAnswer> {
  const tables = new TableStatements(scope);
  const rows = new RowStatements(scope);
  switch (statement.kind) {
    case "showTables":
      return await tables.showTables();
    case "showSnapshots":
      return await tables.showSnapshots();
    case "describeTable":
      return await tables.describeTable(statement.table);
    case "createTable":
      return await tables.createTable(statement);
    case "dropTable":
      if (statement.dynamic) break;
      return await tables.dropTable(statement);
    case "alterTable":
      return await tables.alterTable(statement, contextOf(scope));
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
    case "createDynamicTable":
      refuseTableName(statement.table.name);
      break;
    default:
      break;
  }
  return await scope.deps.dynamicTables.answer(statement, contextOf(scope));
}

function contextOf(scope: StatementScope): StatementContext {
  const { catalog, engine } = scope.deps;
  return {
    queryId: scope.queryId,
    text: scope.text,
    signal: scope.signal,
    timeoutMs: scope.options.timeoutMs ?? timeoutMsDefault,
    find: (name) => scope.find(name),
    check: async (definition, seen = (table) => table) => {
      const { snapshot } = await catalog.current();
      const tree = parseSelectTree(await engine.parse(definition, scope.signal), definition);
      const refs = tableRefs(tree);
      const past = refs.find(({ at }) => at.kind !== "current");
      if (past !== undefined) {
        const message = `a dynamic table reads its sources as they are now, not AT another moment: ${past.name}`;
        throw new OperatingError("bad_sql", "never", message);
      }
      const asItIs = await scope.bind(definition);
      const tables = asItIs.tables.map((each) => {
        const { version } = each;
        return { ...each, version: { ...version, table: seen(version.table) } };
      });
      const bound = { ...asItIs, tables };
      const columns = await describeQuery(engine, bound, scope.signal);
      refuseReserved(columns.map(({ name }) => name));
      const volatileParts = volatilePartsOf(tree);
      return { ...bound, snapshot, columns, refs, isVolatile: isVolatile(tree), volatileParts };
    },
  };
}

function mayNotWrite(): OperatingError {
  const hint = "ask with a token of the role `operate`";
  return new OperatingError("forbidden", "never", "this token may only read", { hint });
}
