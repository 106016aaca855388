/** What sources, sinks and joins must fit: the tables of the lake. */
import type { Catalog, FilledTable, LakeTable } from "../catalog.ts";
import type { Field, Schema } from "../data-type.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { Settings, SinkOp } from "../plan.ts";
import { didYouMean } from "../suggest.ts";
import { isWidening } from "./promote.ts";
import { isSameName } from "./scope.ts";

export function findTable(name: string, catalog: Catalog, position: Position): LakeTable {
  refuseWithoutLake(name, catalog, position);
  const table = catalog.table(name);
  if (table !== undefined) return table;
  throw new DialectError(2030, `there is no table ${name} in the lake`, {
    position,
    hint: didYouMean(name, catalog.names("table")),
  });
}

/** Columns compare by name; a value becomes the declared type where that holds all values. */
export function checkLakeSource(
  config: Settings,
  record: Schema,
  catalog: Catalog,
  position: Position,
): void {
  const from = String(config.START);
  if (!/^(earliest|latest|\d{1,15})$/i.test(from)) {
    throw new DialectError(
      1000,
      `START is earliest, latest or the number of a snapshot, not '${from}'`,
      { position },
    );
  }
  const table = findTable(String(config.TABLE), catalog, position);
  for (const { name, type } of record) {
    const found = columnOf(table, name, position);
    if (isWidening(found.type.name, type.name)) continue;
    throw new DialectError(
      2003,
      `${name} is ${found.type.name} in the table ${table.name}, the source says ${type.name}`,
      { position, hint: `Declare it as ${name} ${found.type.name}.` },
    );
  }
}

/**
 * The columns that a query must give to a Lake sink: those of the table that are among `wanted`
 * (what the sink declares, or else the query's own) and those that cannot be left out. A table that
 * does not exist will have `wanted`.
 */
export function lakeSinkSchema(
  { config }: SinkOp,
  wanted: Schema,
  catalog: Catalog,
  position: Position,
): Schema {
  const name = String(config.TABLE);
  refuseWithoutLake(name, catalog, position);
  const table = catalog.table(name);
  // The lake has no type for single characters.
  if (table === undefined) return wanted.map(withoutChar);
  if (table.filled !== undefined) throw filledBySomebody(table.name, table.filled, position);
  for (const one of wanted) {
    const found = columnOf(table, one.name, position);
    const type = table.unwritable?.get(found.name);
    if (type !== undefined) {
      throw new DialectError(2003, `${found.name} is ${type}, which a stream cannot write`, {
        position,
        hint: "Streams write integers, floating-point numbers, BOOLEAN and VARCHAR.",
      });
    }
    if (isWidening(one.type.name, found.type.name)) continue;
    throw new DialectError(
      2003,
      `${one.name} is ${one.type.name}, the table ${table.name} has ${found.type.name}`,
      { position, hint: `Convert it: CAST(${one.name} AS ${found.type.name}) AS ${one.name}.` },
    );
  }
  return table.schema.filter((field) => {
    if (wanted.some((one) => isSameName(one.name, field.name))) return true;
    if (field.type.nullable && table.required?.has(field.name) !== true) return false;
    throw new DialectError(2003, `${field.name} of the table ${table.name} cannot be left out`, {
      position,
      hint: `Add an expression AS ${field.name} to the query.`,
    });
  });
}

/** Of a sink for such a table. */
export function filledBySomebody(
  table: string,
  { what, hint }: FilledTable,
  position?: Position,
): DialectError {
  return new DialectError(2008, `${table} is ${what}, so no sink writes to it`, { position, hint });
}

function withoutChar({ name, type }: Field): Field {
  return type.name === "CHAR" ? { name, type: { ...type, name: "VARSIZED" } } : { name, type };
}

function columnOf(table: LakeTable, name: string, position: Position): Field {
  const found = table.schema.find((field) => isSameName(field.name, name));
  if (found !== undefined) return found;
  const names = table.schema.map((field) => field.name);
  throw new DialectError(2003, `the table ${table.name} has no column ${name}`, {
    position,
    hint: didYouMean(name, names) ?? `Its columns are ${names.join(", ")}.`,
  });
}

function refuseWithoutLake(table: string, { hasLake }: Catalog, position: Position): void {
  if (hasLake) return;
  throw new DialectError(2008, `there is no lake here that could have the table ${table}`, {
    position,
    hint: "Name the directory of a Capstan with --data-dir, or its --store and --lake.",
  });
}
