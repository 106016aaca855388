/** An answer whose rows are at hand. */
export interface LocalAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Of a statement that gives no rows: what it did, in a word or two, and how many rows that were. */
export function done(what: string, rowCount?: number): LocalAnswer {
  return {
    columns: [
      { name: "status", type: "VARCHAR" },
      ...(rowCount === undefined ? [] : [{ name: "rows", type: "BIGINT" }]),
    ],
    rows: [rowCount === undefined ? [what] : [what, rowCount]],
  };
}
