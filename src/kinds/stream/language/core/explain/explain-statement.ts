/** What an EXPLAIN statement answers. */
import { bindPlan } from "../bind/plan-query.ts";
import type { Catalog } from "../catalog.ts";
import type { DialectSettings } from "../dialect-settings.ts";
import { insertExchanges } from "../parallel/insert-exchanges.ts";
import type { AstContinuousQuery, AstExplain, ExplainStage } from "../parse/ast.ts";
import { planQuery } from "../plan-statement.ts";
import { explainPlan, formatExplanation } from "./explain-plan.ts";
import { explainStages, formatStages } from "./explain-stages.ts";

type Shown = Exclude<ExplainStage, "ALL">;

const all: readonly Shown[] = ["LOGICAL", "OPTIMIZED", "STAGES"];

/** As text, or as one line of JSON. */
export function explainStatement(
  { query: written, stages, format }: AstExplain,
  catalog: Catalog,
  dialect: DialectSettings,
): string {
  const query = withSink(written);
  const chosen = stages.includes("ALL") ? all : all.filter((stage) => stages.includes(stage));
  const shown: readonly Shown[] = chosen.length === 0 ? ["OPTIMIZED"] : chosen;
  if (format === "json") {
    const parts = shown.map((stage) => [
      stage.toLowerCase(),
      asData(stage, query, catalog, dialect),
    ]);
    return JSON.stringify(Object.fromEntries(parts));
  }
  return shown
    .map((stage) => {
      const text = asText(stage, query, catalog, dialect);
      return shown.length === 1 ? text : `${stage}\n${text}`;
    })
    .join("\n\n");
}

function asData(
  stage: Shown,
  query: AstContinuousQuery,
  catalog: Catalog,
  dialect: DialectSettings,
): object {
  if (stage === "LOGICAL") return explainPlan(bindPlan(query, catalog, dialect));
  const plan = planQuery(query, catalog, dialect);
  return stage === "OPTIMIZED" ? explainPlan(plan) : explainStages(insertExchanges(plan));
}

function asText(
  stage: Shown,
  query: AstContinuousQuery,
  catalog: Catalog,
  dialect: DialectSettings,
): string {
  if (stage === "LOGICAL") {
    return formatExplanation(explainPlan(bindPlan(query, catalog, dialect)));
  }
  const plan = planQuery(query, catalog, dialect);
  if (stage === "OPTIMIZED") return formatExplanation(explainPlan(plan));
  return formatStages(explainStages(insertExchanges(plan)));
}

/** A query without a sink is explained as if its rows went nowhere. */
function withSink(query: AstContinuousQuery): AstContinuousQuery {
  if (query.sinks.length > 0) return query;
  const { position } = query;
  return { ...query, sinks: [{ kind: "anonymous", type: "Void", settings: [], position }] };
}
