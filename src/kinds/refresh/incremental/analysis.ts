/** Shared state of planning: the SQL tool, the sources, unused names, and types of expressions. */

import { quoteName } from "../../../data/sql/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Unsettled } from "./functions.ts";
import { type SourceSchema, withStubs } from "./inline.ts";
import type { From, Relation, Value } from "./relation.ts";
import { renderFromRows } from "./render.ts";
import { definite, type Rendering } from "./restriction.ts";
import { leavesRead } from "./scope.ts";
import { type ColumnType, emptySelect, type FunctionCatalog, type SqlTool } from "./sql-tool.ts";
import {
  columnReference,
  identityOf,
  listOf,
  NotIncremental,
  selectNode,
  type Tree,
  textsOf,
  treeOf,
} from "./syntax.ts";

export interface Analysed {
  readonly relation: Relation;
  readonly unsettled: Unsettled;
  /** For a block with groups: its expressions, from which a merge may be planned. */
  readonly grouped:
    | {
        readonly items: readonly Tree[];
        readonly keys: readonly Tree[];
        readonly isSettled: boolean;
      }
    | undefined;
}

export class Analysis {
  readonly sources: readonly SourceSchema[];
  readonly functions: FunctionCatalog;
  readonly tool: SqlTool;
  readonly #stubs: readonly Tree[];
  readonly #written = new Map<string, string>();
  #ids = 0;

  private constructor(
    tool: SqlTool,
    sources: readonly SourceSchema[],
    functions: FunctionCatalog,
    stubs: readonly Tree[],
  ) {
    this.tool = tool;
    this.sources = sources;
    this.functions = functions;
    this.#stubs = stubs;
  }

  static async start(tool: SqlTool, sources: readonly SourceSchema[]): Promise<Analysis> {
    // One round trip for all sources: each is a subquery of one SELECT.
    const items = sources.map(({ columns }) => `EXISTS (${emptySelect(columns)})`);
    const parsed = items.length === 0 ? {} : await tool.parse(`SELECT ${items.join(", ")}`);
    const stubs = listOf(parsed, "select_list").map((item) =>
      definite(treeOf(treeOf(item, "subquery") ?? {}, "node")),
    );
    return new Analysis(tool, sources, await tool.functions(), stubs);
  }

  nextId(): number {
    this.#ids += 1;
    return this.#ids;
  }

  async write(expression: Tree): Promise<string> {
    const [sql] = await this.#texts([expression]);
    return sql ?? "";
  }

  async value(expression: Tree): Promise<Value> {
    return definite((await this.values([expression]))[0]);
  }

  async values(expressions: readonly Tree[]): Promise<readonly Value[]> {
    const texts = await this.#texts(expressions);
    return expressions.map((expression, index) => {
      const leaves = [...leavesRead(expression)];
      const names = columnNames(expression);
      return {
        sql: definite(texts[index]),
        leaf: leaves.length === 1 ? leaves[0] : undefined,
        column: names.length === 2 ? names[1] : undefined,
      };
    });
  }

  /** Texts that were written before, and plain columns, need no round trip. */
  async #texts(expressions: readonly Tree[]): Promise<readonly string[]> {
    const open = new Map<string, Tree>();
    for (const expression of expressions) {
      const identity = identityOf(expression);
      const names = columnNames(expression);
      if (this.#written.has(identity)) continue;
      if (names.length === 2) this.#written.set(identity, names.map(quoteName).join("."));
      else open.set(identity, selectNode([{ ...expression, alias: "" }]));
    }
    const texts = await this.tool.write([...open.values()]);
    for (const [index, identity] of [...open.keys()].entries()) {
      this.#written.set(identity, definite(texts[index]).replace(/^SELECT /, ""));
    }
    return expressions.map((expression) => definite(this.#written.get(identityOf(expression))));
  }

  /** `describeDefinition` for a subquery. One that does not bind by itself is correlated. */
  async describe(node: Tree): Promise<readonly ColumnType[]> {
    return await this.#bound(this.describeDefinition(node));
  }

  async #bound<Result>(binding: Promise<Result>): Promise<Result> {
    try {
      return await binding;
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) || thrown.code !== "bad_sql") throw thrown;
      throw new NotIncremental(`a part of it does not bind by itself: ${thrown.message}`);
    }
  }

  /** The names and types of a query's result. Duplicate names are made unique as DuckDB does it. */
  async describeDefinition(node: Tree): Promise<readonly ColumnType[]> {
    const [sql] = await this.tool.write([withStubs(node, this.sources, this.#stubs)]);
    return await this.tool.describe(`SELECT * FROM (${sql}) AS described`);
  }

  async typesOf(
    expressions: readonly string[],
    from: From | undefined,
  ): Promise<readonly string[]> {
    if (expressions.length === 0) return [];
    const items = expressions.map((sql, index) => `${sql} AS "_t${index}"`).join(", ");
    const sql =
      from === undefined
        ? `SELECT ${items}`
        : renderFromRows(
            from,
            { image: "new", pick: undefined },
            stubRendering(this.sources),
            items,
          );
    return (await this.#bound(this.tool.describe(sql))).map(({ type }) => type);
  }
}

/** Renders every source as a table without rows, for a query that is bound and not run. */
export function stubRendering(sources: readonly SourceSchema[]): Rendering {
  return {
    source: (source) => {
      const columns = sources[source]?.columns ?? [];
      return `(${emptySelect([...columns, { name: "_row_id", type: "BIGINT" }])})`;
    },
    set: () => ({ table: "none", columns: [] }),
    comparison: "IS NOT DISTINCT FROM",
  };
}

function columnNames(expression: Tree): readonly string[] {
  return expression.class === "COLUMN_REF" ? textsOf(expression, "column_names") : [];
}

export function starOf(leaf: string, columns: readonly ColumnType[]): readonly Tree[] {
  return columns.map(({ name }) => columnReference(leaf, name));
}
