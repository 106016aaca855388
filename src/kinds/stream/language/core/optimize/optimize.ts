/** The rules that make a plan cheaper. Each keeps the results, and the schemas of the sinks. */
import type { Plan } from "../plan.ts";
import { foldConstants } from "./fold-constants.ts";
import { mergeProjections } from "./merge-projections.ts";
import { pruneColumns } from "./prune-columns.ts";
import { pushFilters } from "./push-filters.ts";

export const rules: readonly {
  readonly name: string;
  readonly apply: (plan: Plan) => Plan;
}[] = [
  { name: "fold constants", apply: foldConstants },
  { name: "push filters down", apply: pushFilters },
  { name: "merge projections", apply: mergeProjections },
  { name: "push filters down", apply: pushFilters },
  { name: "leave out unused columns", apply: pruneColumns },
  { name: "merge projections", apply: mergeProjections },
];

export function optimizePlan(plan: Plan): Plan {
  // Whoever receives late rows wants all of their columns.
  const isAside = plan.settings.lateSink !== undefined;
  const chosen = isAside ? rules.slice(0, 2) : rules;
  return chosen.reduce((current, { apply }) => apply(current), plan);
}
