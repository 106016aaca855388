/** What the parts of the binder share while one query is bound. */
import type { Catalog } from "../catalog.ts";
import type { Field, Schema } from "../data-type.ts";
import type { DialectSettings } from "../dialect-settings.ts";
import type { Expr } from "../expr.ts";
import type { AstQuery } from "../parse/ast.ts";
import type { ExprScope } from "./bind-expr.ts";
import type { DeclaredBound } from "./event-time.ts";
import type { Graph } from "./graph.ts";
import { columnAt, findColumn, type Relation, type ScopeColumn } from "./scope.ts";

export interface BindContext {
  readonly graph: Graph;
  readonly catalog: Catalog;
  readonly dialect: DialectSettings;
  /** Queries of WITH that are visible here, by their names in capital letters. */
  readonly ctes: ReadonlyMap<string, Relation>;
  /** Views that are being bound, so that none contains itself. */
  readonly views: readonly string[];
  /** Views that were bound, by their names in capital letters: each is bound once. */
  readonly boundViews: Map<string, Relation>;
  readonly declaredBound: DeclaredBound;
  /** Whether windows get whole rows, because late ones go to a sink. */
  readonly keepsRows: boolean;
  readonly bindQuery: (query: AstQuery, context: BindContext) => Relation;
}

export function scopeOf(columns: readonly ScopeColumn[]): ExprScope {
  return {
    intercept: undefined,
    resolve: (qualifier, name, position) =>
      columnAt(columns, findColumn(columns, qualifier, name, position)),
  };
}

/** A node that computes columns, unless they are those of its input. */
export function project(
  context: BindContext,
  input: number,
  exprs: readonly Expr[],
  names: readonly string[],
): number {
  const schema = exprs.map(({ type }, index): Field => ({ name: names[index] as string, type }));
  if (isIdentity(exprs, schema, context.graph.schema(input))) return input;
  return context.graph.add({ kind: "project", exprs }, [input], schema);
}

function isIdentity(exprs: readonly Expr[], schema: Schema, input: Schema): boolean {
  if (schema.length !== input.length) return false;
  return exprs.every(
    (expr, index) =>
      expr.kind === "column" && expr.index === index && schema[index]?.name === input[index]?.name,
  );
}

/** Adds computed columns behind those of a node, each once; plain columns are found, not added. */
export class ColumnAdder {
  readonly #exprs: Expr[];
  readonly #names: string[];
  readonly #known = new Map<string, number>();

  /** Without `schema` nothing but what is added becomes a column. */
  constructor(schema: Schema | undefined) {
    this.#exprs = (schema ?? []).map(({ type }, index) => ({ kind: "column", index, type }));
    this.#names = (schema ?? []).map(({ name }) => name);
    for (const [index, expr] of this.#exprs.entries()) this.#known.set(JSON.stringify(expr), index);
  }

  add(expr: Expr, name: string): number {
    const key = JSON.stringify(expr);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#exprs.push(expr);
    this.#names.push(name);
    this.#known.set(key, this.#exprs.length - 1);
    return this.#exprs.length - 1;
  }

  build(context: BindContext, input: number): number {
    return project(context, input, this.#exprs, this.#names);
  }
}
