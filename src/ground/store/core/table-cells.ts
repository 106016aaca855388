/**
 * Tables written down once, as data: the types of their rows and their columns at run time come
 * from it.
 */

/** A `?` marks what may be NULL; a list holds the values that the column may have, all of them text. */
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

/** Without the marks. */
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
