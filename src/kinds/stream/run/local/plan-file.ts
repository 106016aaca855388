/** The statements of a file, applied to a catalog of their own, and the queries among them. */
import {
  type DialectSettings,
  LocalCatalog,
  type Plan,
  parseStatements,
  planQuery,
} from "../../language/core/index.ts";

export interface PlannedQuery {
  readonly name: string;
  readonly plan: Plan;
}

/** Statements take effect in their order, so a query sees what stands before it. */
export function planFile(text: string, dialect: DialectSettings): readonly PlannedQuery[] {
  const catalog = new LocalCatalog(dialect);
  const queries: PlannedQuery[] = [];
  for (const statement of parseStatements(text)) {
    if (catalog.apply(statement)) continue;
    if (statement.kind !== "query" && statement.kind !== "createQuery") continue;
    const name =
      statement.kind === "createQuery" ? statement.name.text : `query-${queries.length + 1}`;
    queries.push({ name, plan: planQuery(statement.query, catalog, dialect) });
  }
  return queries;
}
