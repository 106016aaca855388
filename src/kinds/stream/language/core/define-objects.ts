/**
 * What CREATE statements define, checked against a catalog: whoever keeps definitions, in memory or
 * in a store, makes them here. Whether a name is taken is up to the caller.
 */
import { schemaOfQuery } from "./bind/plan-query.ts";
import type {
  Catalog,
  LogicalSource,
  PhysicalSource,
  SinkDefinition,
  ViewDefinition,
} from "./catalog.ts";
import { defineSink, defineSource, schemaOf } from "./connectors/define.ts";
import { isInteger, type Schema } from "./data-type.ts";
import { DialectError, type Position } from "./dialect-error.ts";
import type { DialectSettings } from "./dialect-settings.ts";
import type { AstWatermark, Statement } from "./parse/ast.ts";
import { didYouMean, meantOrKnown } from "./suggest.ts";

type Of<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;

export function defineLogicalSource(
  { name, query, fields, watermark }: Of<"createLogicalSource">,
  catalog: Catalog,
  dialect: DialectSettings,
): LogicalSource {
  const schema =
    query === undefined ? schemaOf(fields ?? []) : schemaOfQuery(query, catalog, dialect);
  return {
    name: name.text,
    schema,
    watermark: watermark && watermarkOf(watermark, schema),
    query,
  };
}

export function defineView(
  { name, query }: Of<"createView">,
  catalog: Catalog,
  dialect: DialectSettings,
): ViewDefinition & { readonly schema: Schema } {
  return { name: name.text, query, schema: schemaOfQuery(query, catalog, dialect) };
}

/** Its logical source has to be there, and to have rows of its own. */
export function definePhysicalSource(
  { logical, type, settings, position }: Of<"createPhysicalSource">,
  catalog: Catalog,
  dialect: DialectSettings,
): Omit<PhysicalSource, "id"> {
  const source = catalog.logicalSource(logical.text);
  if (source === undefined) {
    throw new DialectError(2030, `there is no logical source ${logical.text}`, {
      position: logical.position,
      hint: meantOrKnown(logical.text, catalog.names("source"), "source"),
    });
  }
  if (source.query !== undefined) {
    throw new DialectError(2029, `the source ${source.name} is made by a query`, {
      position: logical.position,
    });
  }
  const defined = defineSource(type.text, settings, dialect, 2017, type.position);
  checkPaths(defined.parser, source.schema, position);
  const { config, parser } = defined;
  return { logical: source.name, type: defined.type, config, parser };
}

export function defineNamedSink(
  { name, fields, type, settings }: Of<"createSink">,
  dialect: DialectSettings,
): SinkDefinition {
  const defined = defineSink(type.text, settings, dialect, 2016, type.position);
  const schema = fields === undefined ? defined.schema : schemaOf(fields);
  return { ...defined, name: name.text, schema };
}

function watermarkOf(
  { column, boundMs, position }: AstWatermark,
  schema: Schema,
): LogicalSource["watermark"] {
  const name = column.kind === "name" ? column.name.toUpperCase() : undefined;
  const index = schema.findIndex((field) => field.name.toUpperCase() === name);
  const type = schema[index]?.type.name;
  if (type === undefined || !isInteger(type)) {
    const what = type === undefined ? "" : `, and ${schema[index]?.name} is ${type}`;
    throw new DialectError(2003, `WATERMARK takes an integer column of the source${what}`, {
      position,
      hint: "A time is milliseconds since 1970, in a column such as ts UINT64.",
    });
  }
  return { column: index, boundMs };
}

function checkPaths(parser: PhysicalSource["parser"], schema: Schema, position: Position): void {
  const names = schema.map(({ name }) => name);
  const paths = Object.keys(parser).flatMap((key) =>
    key.startsWith("FIELD.") ? key.slice(6) : [],
  );
  for (const name of paths) {
    if (names.some((one) => one.toUpperCase() === name.toUpperCase())) continue;
    throw new DialectError(1000, `the source has no column ${name}`, {
      position,
      hint: didYouMean(name, names),
    });
  }
}
