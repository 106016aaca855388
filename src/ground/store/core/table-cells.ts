/** Tables described once, as data, from which row types and run-time columns are derived. */

/** A `?` marks a nullable column. A list holds the text values that the column may have. */
export type Cell = "text" | "number" | "text?" | "number?" | readonly (string | null)[];
export type TableCells = Readonly<Record<string, Readonly<Record<string, Cell>>>>;

type Value<Any> = Any extends readonly (infer One)[]
  ? One
  : Any extends "text"
    ? string
    : Any extends "number"
      ? number
      : Any extends "text?"
        ? string | null
        : number | null;

export type TablesOf<Cells extends TableCells> = {
  [T in keyof Cells]: { -readonly [C in keyof Cells[T]]: Value<Cells[T][C]> };
};

export type ColumnType = "text" | "number";

export type ColumnTypesOf<Cells extends TableCells> = {
  readonly [T in keyof Cells]: { readonly [C in keyof Cells[T]]: ColumnType };
};

/** The column types, without the `?`. */
export function columnTypesOf<const Cells extends TableCells>(tables: Cells): ColumnTypesOf<Cells> {
  return Object.fromEntries(
    Object.entries(tables).map(([table, cells]) => [
      table,
      Object.fromEntries(
        Object.entries(cells).map(([column, cell]) => [
          column,
          typeof cell === "string" ? cell.replace("?", "") : "text",
        ]),
      ),
    ]),
  ) as ColumnTypesOf<Cells>;
}
