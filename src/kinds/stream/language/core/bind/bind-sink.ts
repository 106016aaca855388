/**
 * Binds sinks. A sink with a schema takes the columns of the query by their names, in any order: it
 * wants all of its columns and no others. A value becomes the type of its column where that type
 * holds every value; anything else is error 2003.
 */
import { defineSink } from "../connectors/define.ts";
import type { Schema } from "../data-type.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import type { AstSink } from "../parse/ast.ts";
import type { SinkOp } from "../plan.ts";
import { meantOrKnown } from "../suggest.ts";
import { type BindContext, project } from "./context.ts";
import { castTo } from "./exprs.ts";
import { lakeSinkSchema } from "./lake-tables.ts";
import { isWidening } from "./promote.ts";
import { columnAt, isSameName, type Relation } from "./scope.ts";

interface ResolvedSink {
  readonly op: SinkOp;
  readonly schema: Schema | undefined;
}

export function bindSink(ast: AstSink, query: Relation, context: BindContext): number {
  const { op, schema: declared } = resolveSink(ast, context);
  const { graph } = context;
  const schema =
    op.type === "Lake"
      ? lakeSinkSchema(op, declared ?? query.columns, context.catalog, ast.position)
      : declared;
  if (schema === undefined) {
    const own = query.columns.map(({ name, type }) => ({ name, type }));
    return graph.add(op, [query.node], written(own, op));
  }
  const exprs = convert(query, schema, op.name, ast.position);
  const names = schema.map(({ name }) => name);
  return graph.add(op, [project(context, query.node, exprs, names)], written(schema, op));
}

/** The schema with the names as the sink writes them. */
function written(schema: Schema, { formatter }: SinkOp): Schema {
  if (formatter.NAMES !== "upper") return schema;
  return schema.map(({ name, type }) => ({ name: name.toUpperCase(), type }));
}

function resolveSink(ast: AstSink, context: BindContext): ResolvedSink {
  if (ast.kind === "preview") {
    const config = { ROWS: ast.rowsMax };
    const op = { kind: "sink", name: "preview", type: "Preview", config, formatter: {} } as const;
    return { op, schema: undefined };
  }
  if (ast.kind === "anonymous") {
    const { type, settings, position } = ast;
    const { schema, ...sink } = defineSink(type, settings, context.dialect, 1000, position);
    return { op: { kind: "sink", name: `${sink.type}()`, ...sink }, schema };
  }
  const found = context.catalog.sink(ast.name);
  if (found === undefined) {
    throw new DialectError(2033, `there is no sink ${ast.name}`, {
      position: ast.position,
      hint: meantOrKnown(ast.name, context.catalog.names("sink"), "sink"),
    });
  }
  const { schema, ...sink } = found;
  return { op: { kind: "sink", ...sink }, schema };
}

function convert(
  { columns }: Relation,
  schema: Schema,
  sink: string,
  position: Position,
): readonly Expr[] {
  for (const { name } of columns) {
    if (schema.some((field) => isSameName(field.name, name))) continue;
    throw mismatch(`the sink ${sink} has no column ${name}`, schema, position);
  }
  return schema.map((field) => {
    const index = columns.findIndex(({ name }) => isSameName(name, field.name));
    if (index === -1) {
      throw mismatch(
        `the query has no column ${field.name} for the sink ${sink}`,
        schema,
        position,
      );
    }
    const expr = columnAt(columns, index);
    const { name: from, nullable } = expr.type;
    if (!isWidening(from, field.type.name)) {
      throw new DialectError(2003, `${field.name} is ${from}, the sink wants ${field.type.name}`, {
        position,
        hint: `Convert it: CAST(${field.name} AS ${field.type.name}) AS ${field.name}.`,
      });
    }
    if (nullable && !field.type.nullable) {
      throw new DialectError(2003, `${field.name} can be NULL, the sink says NOT NULL`, {
        position,
        hint: `Leave NOT NULL out, or replace NULL: COALESCE(${field.name}, …) AS ${field.name}.`,
      });
    }
    return castTo(expr, field.type.name);
  });
}

function mismatch(message: string, schema: Schema, position: Position): DialectError {
  const names = schema.map(({ name }) => name).join(", ");
  return new DialectError(2003, message, { position, hint: `Its columns are ${names}.` });
}
