/**
 * Binds a query with a window: keys, aggregates and what is computed from them. Behind the window
 * its `start` and `end`, the keys and aggregates can be named, and nothing else.
 */
import type { Field } from "../data-type.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import type { AstCall, AstExpr, AstSelect, AstWindow } from "../parse/ast.ts";
import type { AggregateCall, WindowAggregateOp } from "../plan.ts";
import { aggregateOf, aggregateType } from "./aggregates.ts";
import { astKey } from "./ast-key.ts";
import { bindCondition, bindExpr, type ExprScope, numberOfText } from "./bind-expr.ts";
import { bindTime, windowBounds, windowSpec } from "./bind-join.ts";
import { type BindContext, ColumnAdder, scopeOf } from "./context.ts";
import { placeEventTime } from "./event-time.ts";
import { column } from "./exprs.ts";
import { columnAt, findColumn, matchingColumns, type Relation, type ScopeColumn } from "./scope.ts";

interface Key {
  readonly ast: AstExpr;
  readonly expr: Expr;
  readonly column: ScopeColumn;
}

interface Aggregate {
  readonly call: AggregateCall;
  readonly field: Field;
}

export class AggregateBinder {
  readonly #context: BindContext;
  readonly #keys: readonly Key[];
  readonly #input: {
    node: number;
    readonly columns: readonly ScopeColumn[];
    readonly adder: ColumnAdder;
  };
  readonly #window: AstWindow;
  readonly #time: number;
  readonly #keyColumns: readonly number[];
  readonly #aggregates: Aggregate[] = [];
  readonly #known = new Map<string, number>();
  /** The columns behind the window that have names: its bounds and the keys. */
  readonly columns: readonly ScopeColumn[];
  readonly scope: ExprScope;
  #computedArgs = 0;

  constructor(ast: AstSelect, window: AstWindow, input: Relation, context: BindContext) {
    this.#context = context;
    this.#window = window;
    const whole = context.keepsRows ? context.graph.schema(input.node) : undefined;
    this.#input = { node: input.node, columns: input.columns, adder: new ColumnAdder(whole) };
    this.#keys = (ast.groupBy ?? []).map((key) => this.#bindKey(key, ast));
    if (window.times.length > 1) {
      throw new DialectError(2000, "this window has one time column", {
        position: window.position,
        hint: "Two times belong to the window of a JOIN.",
      });
    }
    this.#time = bindTime(this.#input, window.times[0], window, context);
    this.#keyColumns = this.#keys.map(({ expr, column: { name } }) =>
      this.#input.adder.add(expr, name),
    );
    this.columns = [...windowBounds, ...this.#keys.map((key) => key.column)];
    this.scope = {
      intercept: (expr) => this.#intercept(expr),
      resolve: (qualifier, name, position) => this.#resolve(qualifier, name, position),
    };
  }

  /** A name may also be the alias of an expression of the list. */
  #bindKey(key: AstExpr, { items }: AstSelect): Key {
    const { columns } = this.#input;
    if (key.kind === "name" && matchingColumns(columns, key.qualifier, key.name).length === 0) {
      for (const item of items) {
        if (item.kind !== "expr" || item.alias?.toUpperCase() !== key.name.toUpperCase()) continue;
        const expr = bindExpr(item.expr, scopeOf(columns));
        return { ast: item.expr, expr, column: keyColumn(item.alias, expr, undefined) };
      }
    }
    const expr = bindExpr(key, scopeOf(columns));
    if (key.kind !== "name") return { ast: key, expr, column: keyColumn("key", expr, "") };
    const found = columns[findColumn(columns, key.qualifier, key.name, key.position)];
    return { ast: key, expr, column: keyColumn(found?.name ?? key.name, expr, found?.qualifier) };
  }

  #intercept(ast: AstExpr): Expr | undefined {
    if (ast.kind === "call" && ast.over === undefined) {
      const fn = aggregateOf(ast.name);
      if (fn !== undefined) return this.#bindAggregate(ast);
    }
    if (ast.kind === "name" || this.#keys.length === 0) return undefined;
    const text = astKey(ast);
    const index = this.#keys.findIndex(
      (key) => key.ast.kind !== "name" && astKey(key.ast) === text,
    );
    return index === -1 ? undefined : column(2 + index, (this.#keys[index] as Key).expr.type);
  }

  #resolve(qualifier: string | undefined, name: string, position: Position): Expr {
    const found = matchingColumns(this.columns, qualifier, name);
    if (found.length > 0) {
      return columnAt(this.columns, findColumn(this.columns, qualifier, name, position));
    }
    if (matchingColumns(this.#input.columns, qualifier, name).length > 0) {
      throw new DialectError(2003, `the column ${name} is neither a key nor in an aggregate`, {
        position,
        hint: `Add ${name} to GROUP BY, or aggregate it, for example with LAST(${name}).`,
      });
    }
    const known = [...this.columns, ...this.#input.columns];
    return columnAt(known, findColumn(known, qualifier, name, position));
  }

  #bindAggregate(ast: AstCall): Expr {
    const { position } = ast;
    const scope = scopeOf(this.#input.columns);
    const isAll = ast.star || (ast.name.toUpperCase() === "COUNT" && ast.args.length === 0);
    if (!isAll && ast.args.length !== 1) {
      throw new DialectError(2002, `${ast.name} has ${ast.args.length} arguments, expected 1`, {
        position,
      });
    }
    const fn = ast.star ? "count_all" : (aggregateOf(ast.name) as AggregateCall["fn"]);
    if ((ast.star && ast.name.toUpperCase() !== "COUNT") || (isAll && !ast.star)) {
      throw new DialectError(2002, `${ast.name} needs a column`, { position });
    }
    const arg = ast.star ? undefined : bindExpr(ast.args[0] as AstExpr, scope);
    const filter = ast.filter && bindCondition(ast.filter, scope, "FILTER");
    const type = aggregateType(fn, arg?.type, filter !== undefined);
    if (type === undefined) {
      throw new DialectError(2007, `${ast.name} does not take ${arg?.type.name}`, {
        position,
        hint: arg?.type.name === "VARSIZED" ? numberOfText : undefined,
      });
    }
    const call: AggregateCall = {
      fn,
      arg: arg && this.#input.adder.add(arg, "argument"),
      filter: filter && this.#input.adder.add(filter, "filter"),
      distinct: ast.distinct,
    };
    const key = JSON.stringify(call);
    let index = this.#known.get(key);
    if (index === undefined) {
      index = this.#aggregates.length;
      this.#aggregates.push({ call, field: { name: ast.name, type } });
      this.#known.set(key, index);
    }
    return column(2 + this.#keys.length + index, type);
  }

  /** The name of an aggregate without an alias: that of its column and its own. */
  nameOf(ast: AstCall): string {
    const word = ast.name.toUpperCase();
    if (ast.star) return word;
    const arg = ast.args[0];
    if (arg?.kind === "name") return `${arg.name}_${word}`;
    this.#computedArgs += 1;
    return `_AGG_INPUT_${this.#computedArgs - 1}_${word}`;
  }

  /** Adds the node, once everything behind it is bound. */
  build(): number {
    const { graph, declaredBound } = this.#context;
    const below = this.#input.adder.build(this.#context, this.#input.node);
    const input = placeEventTime(graph, below, this.#time, declaredBound);
    const op: WindowAggregateOp = {
      kind: "windowAggregate",
      window: windowSpec(this.#window),
      time: this.#time,
      keys: this.#keyColumns,
      aggregates: this.#aggregates.map(({ call }) => call),
    };
    const schema: readonly Field[] = [
      ...this.columns.map(({ name, type }) => ({ name, type })),
      ...this.#aggregates.map(({ field }) => field),
    ];
    return graph.add(op, [input], schema);
  }
}

function keyColumn(name: string, expr: Expr, qualifier: string | undefined): ScopeColumn {
  return { name, qualifier, type: expr.type };
}
