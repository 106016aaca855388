/** Binds what stands behind FROM: sources with all that feed them, views, queries and joins. */

import type { LogicalSource } from "../catalog.ts";
import { defineSource } from "../connectors/define.ts";
import { isSystemName, systemPrefix } from "../connectors/system-streams.ts";
import type { Schema } from "../data-type.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { AstRelation } from "../parse/ast.ts";
import type { SourceOp } from "../plan.ts";
import { meantOrKnown } from "../suggest.ts";
import { bindJoin } from "./bind-join.ts";
import type { BindContext } from "./context.ts";
import { checkLakeSource } from "./lake-tables.ts";
import { isSameName, type Relation } from "./scope.ts";

export function bindRelation(ast: AstRelation, context: BindContext): Relation {
  switch (ast.kind) {
    case "named":
      return bindNamed(ast.name, ast.alias, ast.position, context);
    case "query": {
      const relation = context.bindQuery(ast.query, context);
      return ast.alias === undefined ? relation : qualified(relation, ast.alias);
    }
    case "anonymous":
      return bindAnonymous(ast, context);
    case "join":
      return bindJoin(ast, context, bindRelation);
  }
}

function qualified(relation: Relation, qualifier: string): Relation {
  const columns = relation.columns.map(({ name, type }) => ({ name, type, qualifier }));
  return { node: relation.node, columns };
}

function bindNamed(
  name: string,
  alias: string | undefined,
  position: Position,
  context: BindContext,
): Relation {
  const cte = context.ctes.get(name.toUpperCase());
  if (cte !== undefined) return qualified(cte, alias ?? name);
  const view = context.catalog.view(name);
  if (view !== undefined) {
    const relation = bindView(view.name, view.query, position, context);
    return qualified(relation, alias ?? view.name);
  }
  const source = context.catalog.logicalSource(name);
  if (source === undefined) throw unknownSource(name, position, context);
  const relation =
    source.query === undefined
      ? bindSource(source, position, context)
      : bindView(source.name, source.query, position, context);
  return qualified(relation, alias ?? unprefixed(source.name));
}

/** `system.heartbeats` qualifies its columns as `heartbeats`. */
function unprefixed(name: string): string {
  return isSystemName(name) ? name.slice(systemPrefix.length) : name;
}

function bindView(
  name: string,
  query: Parameters<BindContext["bindQuery"]>[0],
  position: Position,
  context: BindContext,
): Relation {
  if (context.views.some((open) => isSameName(open, name))) {
    throw new DialectError(2008, `the view ${name} contains itself`, { position });
  }
  const bound = context.boundViews.get(name.toUpperCase());
  if (bound !== undefined) return bound;
  const views = [...context.views, name];
  const relation = context.bindQuery(query, { ...context, ctes: new Map(), views });
  context.boundViews.set(name.toUpperCase(), relation);
  return relation;
}

function unknownSource(name: string, position: Position, context: BindContext): DialectError {
  const known = [...context.catalog.names("source"), ...context.ctes.keys()];
  return new DialectError(2030, `there is no source ${name}`, {
    position,
    hint: meantOrKnown(name, known, "source"),
  });
}

/** One node for each physical source, and a union where there are several. */
function bindSource(source: LogicalSource, position: Position, context: BindContext): Relation {
  const physical = context.catalog.physicalSources(source.name);
  const nodes = physical.map(({ type, config, parser }) =>
    addSource(context, source.name, { type, config, parser }, source.schema, position),
  );
  if (nodes.length === 0) {
    throw new DialectError(2030, `the source ${source.name} has nothing to read from`, {
      position,
      hint: `CREATE PHYSICAL SOURCE FOR ${source.name} TYPE File SET('…' AS "SOURCE".FILE_PATH)`,
    });
  }
  return relationOf(union(context, nodes, source.schema), source.schema);
}

function union(context: BindContext, nodes: readonly number[], schema: Schema): number {
  if (nodes.length === 1) return nodes[0] as number;
  return context.graph.add({ kind: "union" }, nodes, schema);
}

function addSource(
  context: BindContext,
  name: string,
  from: Pick<SourceOp, "type" | "config" | "parser">,
  record: Schema,
  position: Position,
): number {
  if (from.type === "Lake") checkLakeSource(from.config, record, context.catalog, position);
  const columns = record.map((_, index) => index);
  const op: SourceOp = { kind: "source", name, ...from, record, columns, ingestionTime: false };
  return context.graph.add(op, [], record);
}

function relationOf(node: number, schema: Schema): Relation {
  const columns = schema.map(({ name, type }) => ({ name, type, qualifier: undefined }));
  return { node, columns };
}

function bindAnonymous(
  ast: AstRelation & { readonly kind: "anonymous" },
  context: BindContext,
): Relation {
  const { type, settings, position } = ast;
  const { schema, ...from } = defineSource(type, settings, context.dialect, 2017, position);
  if (schema === undefined) {
    throw new DialectError(1000, `the source ${type}(…) needs a schema`, {
      position,
      hint: 'Add SCHEMA(name TYPE, …) AS "SOURCE"."SCHEMA".',
    });
  }
  const node = addSource(context, from.type, from, schema, position);
  return qualified(relationOf(node, schema), ast.alias ?? from.type);
}
