/**
 * A parsed statement. Expressions and SELECTs stay texts, which DuckDB parses and binds. Positions
 * are in characters into the statement's text.
 */
export interface TextSpan {
  readonly text: string;
  readonly position: number;
}

export interface TableName {
  readonly schema: string | undefined;
  readonly name: string;
  readonly position: number;
}

export interface ColumnDefinition {
  readonly name: string;
  /** The type in DuckDB's notation. */
  readonly type: TextSpan;
  readonly nullable: boolean;
  readonly defaultValue: TextSpan | undefined;
}

export type Statement =
  /** SELECT, VALUES, FROM, WITH, DESCRIBE, SUMMARIZE, PIVOT …, which DuckDB parses. */
  | { readonly kind: "query"; readonly query: TextSpan }
  | { readonly kind: "explain"; readonly analyze: boolean; readonly query: TextSpan }
  | {
      readonly kind: "createTable";
      readonly table: TableName;
      readonly orReplace: boolean;
      readonly ifNotExists: boolean;
      /** Exactly one of the two is present. */
      readonly columns: readonly ColumnDefinition[] | undefined;
      readonly query: TextSpan | undefined;
    }
  | { readonly kind: "dropTable"; readonly table: TableName; readonly ifExists: boolean }
  | { readonly kind: "alterTable"; readonly table: TableName; readonly change: AlterTable }
  | {
      readonly kind: "insert";
      readonly table: TableName;
      /** Undefined for all columns, in order. */
      readonly columns: readonly string[] | undefined;
      /** Matches the query's columns by name. `columns` is absent then. */
      readonly byName: boolean;
      /** A SELECT or VALUES. */
      readonly query: TextSpan;
    }
  | {
      readonly kind: "update";
      readonly table: TableName;
      readonly alias: string | undefined;
      readonly set: readonly { readonly column: string; readonly value: TextSpan }[];
      readonly from: TextSpan | undefined;
      readonly where: TextSpan | undefined;
    }
  | {
      readonly kind: "delete";
      readonly table: TableName;
      readonly alias: string | undefined;
      readonly using: TextSpan | undefined;
      readonly where: TextSpan | undefined;
    }
  | {
      readonly kind: "copy";
      readonly table: TableName;
      readonly columns: readonly string[] | undefined;
      readonly file: string;
      /** Upper-case names; values as texts. Without FORMAT, the file's name decides. */
      readonly options: ReadonlyMap<string, string>;
    }
  | { readonly kind: "showTables" }
  | { readonly kind: "showSnapshots" }
  | { readonly kind: "describeTable"; readonly table: TableName };

export type AlterTable =
  | { readonly kind: "addColumn"; readonly column: ColumnDefinition; readonly ifNotExists: boolean }
  | { readonly kind: "dropColumn"; readonly column: string; readonly ifExists: boolean }
  | { readonly kind: "renameColumn"; readonly column: string; readonly to: string }
  | { readonly kind: "renameTable"; readonly to: string };
