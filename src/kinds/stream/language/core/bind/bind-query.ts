/** Binds queries: WITH, UNION and SELECT. */
import type { Catalog } from "../catalog.ts";
import { DialectError } from "../dialect-error.ts";
import type { DialectSettings } from "../dialect-settings.ts";
import type { AstQuery, AstQueryBody } from "../parse/ast.ts";
import { bindSelect } from "./bind-select.ts";
import { type BindContext, project } from "./context.ts";
import { castTo, column } from "./exprs.ts";
import { Graph } from "./graph.ts";
import { commonType } from "./promote.ts";
import { isSameName, type Relation, type ScopeColumn } from "./scope.ts";

export function newContext(
  catalog: Catalog,
  dialect: DialectSettings,
  keepsRows = false,
): BindContext {
  return {
    keepsRows,
    ...{ graph: new Graph(), catalog, dialect, bindQuery },
    ctes: new Map(),
    views: [],
    boundViews: new Map(),
    declaredBound: (source, name) => {
      const found = catalog.logicalSource(source);
      const watermark = found?.watermark;
      if (found === undefined || watermark === undefined) return 0;
      return isSameName(found.schema[watermark.column]?.name ?? "", name) ? watermark.boundMs : 0;
    },
  };
}

export function bindQuery(query: AstQuery, context: BindContext): Relation {
  if (query.ctes.length === 0) return bindBody(query.body, context);
  const ctes = new Map(context.ctes);
  const inner = { ...context, ctes };
  for (const { name, query: cte } of query.ctes) {
    ctes.set(name.text.toUpperCase(), bindQuery(cte, inner));
  }
  return bindBody(query.body, inner);
}

function bindBody(body: AstQueryBody, context: BindContext): Relation {
  switch (body.kind) {
    case "select":
      return bindSelect(body, context);
    case "nested":
      return bindQuery(body.query, context);
    case "union":
      return bindUnion(body, context);
  }
}

/** Columns go together by their places, and have the names of the first query. */
function bindUnion(
  body: AstQueryBody & { readonly kind: "union" },
  context: BindContext,
): Relation {
  const left = bindBody(body.left, context);
  const right = bindBody(body.right, context);
  if (left.columns.length !== right.columns.length) {
    throw new DialectError(
      2003,
      `UNION of ${left.columns.length} and ${right.columns.length} columns`,
      { position: body.position },
    );
  }
  const columns = left.columns.map((one, index): ScopeColumn => {
    const other = right.columns[index] as ScopeColumn;
    const name = commonType(one.type.name, other.type.name);
    if (name === undefined) {
      const types = `${one.type.name} and ${other.type.name}`;
      throw new DialectError(2003, `the column ${one.name} of UNION is ${types}`, {
        position: body.position,
      });
    }
    const nullable = one.type.nullable || other.type.nullable;
    return { name: one.name, qualifier: undefined, type: { name, nullable } };
  });
  const nodes = [left, right].map((side) => {
    const exprs = columns.map(({ type }, index) =>
      castTo(column(index, (side.columns[index] as ScopeColumn).type), type.name),
    );
    const names = columns.map(({ name }) => name);
    return project(context, side.node, exprs, names);
  });
  const schema = columns.map(({ name, type }) => ({ name, type }));
  return { node: context.graph.add({ kind: "union" }, flattened(nodes, context), schema), columns };
}

/** A union of unions is one union. */
function flattened(nodes: readonly number[], context: BindContext): readonly number[] {
  return nodes.flatMap((id) => {
    const { op, inputs } = context.graph.node(id);
    return op.kind === "union" ? inputs.map(({ node }) => node) : [id];
  });
}
