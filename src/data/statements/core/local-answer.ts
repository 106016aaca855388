/** An answer with its rows in memory. */
export interface LocalAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

/** The answer of a statement without rows: what it did, and to how many rows. */
export function done(what: string, rowCount?: number): LocalAnswer {
  return {
    columns: [
      { name: "status", type: "VARCHAR" },
      ...(rowCount === undefined ? [] : [{ name: "rows", type: "BIGINT" }]),
    ],
    rows: [rowCount === undefined ? [what] : [what, rowCount]],
  };
}
