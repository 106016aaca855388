/** Names: which words need quotes, and when two names are the same. */

/** Words of the categories `reserved` and `type_function` in `duckdb_keywords()`. */
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

/** DuckDB treats names with equal keys as one: it ignores the case of ASCII letters only. */
export function nameKey(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}

/** Whether DuckDB might take the name for a file. It joins catalog, schema and table with dots. */
export function looksLikeFile(name: string): boolean {
  return /[/\\]/.test(name);
}

const systemTable =
  /^(duckdb_(columns|constraints|databases|indexes|logs|schemas|tables|types|views)|pragma_database_list|sqlite_(master|schema|temp_master|temp_schema)|pg_[a-z_]+)$/i;

/** Whether it is a view that every catalog of DuckDB has. */
export function isSystemTable(name: string): boolean {
  return systemTable.test(name);
}
