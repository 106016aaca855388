/** The way from a statement to what runs: bound, checked and optimized. */

import { addDeadLetterSinks } from "./bind/dead-letters.ts";
import { bindPlan } from "./bind/plan-query.ts";
import type { Catalog } from "./catalog.ts";
import type { DialectSettings } from "./dialect-settings.ts";
import { optimizePlan } from "./optimize/optimize.ts";
import type { AstContinuousQuery } from "./parse/ast.ts";
import type { Plan } from "./plan.ts";

/** Throws a `DialectError` with the place in the text where the query is wrong. */
export function planQuery(
  query: AstContinuousQuery,
  catalog: Catalog,
  dialect: DialectSettings,
): Plan {
  return optimizeBound(bindPlan(query, catalog, dialect), catalog);
}

/** The rest of the way, from what `bindPlan` made. */
export function optimizeBound(bound: Plan, catalog: Catalog): Plan {
  return addDeadLetterSinks(optimizePlan(bound), catalog);
}
