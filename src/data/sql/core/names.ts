/** Names: which words may stand for one without quotes, and when two are the same. */

/** By `duckdb_keywords()`: words of the categories `reserved` and `type_function` name no table and no column. */
const keywordsOfGrammar: ReadonlySet<string> = new Set(
  `ALL ANALYSE ANALYZE AND ANTI ANY ARRAY AS ASC ASOF ASYMMETRIC AT AUTHORIZATION BINARY BOTH BY CASE CAST CHECK COLLATE
  COLLATION COLUMN COLUMNS CONCURRENTLY CONSTRAINT CREATE CROSS DEFAULT DEFERRABLE DESC DESCRIBE DISTINCT DO ELSE END
  EXCEPT FALSE FETCH FOR FOREIGN FREEZE FROM FULL GENERATED GLOB GROUP HAVING ILIKE IN INITIALLY INNER INTERSECT INTO IS
  ISNULL JOIN LAMBDA LATERAL LEADING LEFT LIKE LIMIT MAP NATURAL NOT NOTNULL NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS
  PIVOT PIVOT_LONGER PIVOT_WIDER PLACING POSITIONAL PRIMARY QUALIFY REFERENCES RETURNING RIGHT SELECT SEMI SHOW SIMILAR
  SOME STRUCT SUMMARIZE SYMMETRIC TABLE TABLESAMPLE THEN TO TRAILING TRUE TRY_CAST UNION UNIQUE UNPACK UNPIVOT USING
  VARIADIC VERBOSE WHEN WHERE WINDOW WITH`.split(/\s+/),
);

/** `keyword` in capitals. */
export function needsQuotes(keyword: string): boolean {
  return keywordsOfGrammar.has(keyword);
}

/** Two names are one to DuckDB if their keys are equal: it folds the case of ASCII letters and of no others. */
export function nameKey(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}

/** A name that DuckDB might take for a file. It joins catalog, schema and table with dots before it looks. */
export function looksLikeFile(name: string): boolean {
  return /[/\\]/.test(name);
}

const systemTable =
  /^(duckdb_(columns|constraints|databases|indexes|logs|schemas|tables|types|views)|pragma_database_list|sqlite_(master|schema|temp_master|temp_schema)|pg_[a-z_]+)$/i;

/** A view that every catalog of DuckDB has. */
export function isSystemTable(name: string): boolean {
  return systemTable.test(name);
}
