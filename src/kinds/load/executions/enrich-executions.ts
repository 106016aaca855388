/**
 * Asks a server once for its own figures of a run's queries, and writes down what is new. Rules:
 * EX1 and EX2.
 */

import { createHash } from "node:crypto";
import type { ColumnsOfRows, LakeAppender } from "../../../data/lake/index.ts";
import type { ColumnValues } from "../../../data/parquet/index.ts";
import { quoteText } from "../../../data/sql/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { operationOf } from "../core/compile-workload.ts";
import type { RunId } from "../core/ids.ts";
import { type MatchedExecution, matchExecutions } from "../core/match-executions.ts";
import type { Scenario } from "../core/scenario.ts";
import type { ExecutedQuery, Target } from "../core/target.ts";
import type { EnrichmentPoll } from "../orchestrator/ports.ts";
import { type FinalFiguresDeps, finalFigures } from "./final-figures.ts";
import { withExecutions } from "./with-executions.ts";

/** Maximum held in memory; the rest comes with the next poll. */
const executionsMax = 1_000_000;
/** Margin for different clocks, and because a history lists queries by their end. */
const marginMs = 60_000;

export async function enrichExecutions(
  deps: FinalFiguresDeps & { readonly appender: Pick<LakeAppender, "append"> },
  { runId, scenario }: { readonly runId: RunId; readonly scenario: Scenario },
  target: Target,
  signal: AbortSignal,
): Promise<EnrichmentPoll> {
  if (target.queryHistory === undefined) {
    const message = `a target of kind ${target.kind} tells nothing of single queries`;
    throw new OperatingError("unsupported", "never", message);
  }
  const state = await readState(deps, runId, signal);
  if (state === undefined || state.recorded === 0) return { ratio: 0 };
  const window = { startMs: state.startMs - marginMs, endMs: state.endMs + marginMs };
  const queries: ExecutedQuery[] = [];
  for await (const page of target.queryHistory(window, signal)) {
    queries.push(...page.filter(({ queryId }) => !state.usedIds.has(queryId)));
  }
  const matched = matchExecutions(state.missing, queries, statementTexts(scenario));
  if (matched.length > 0) {
    const rows = rowsOf(runId, matched);
    await deps.appender.append(rows, tokenOf(runId, matched), signal); // EX2
  }
  const { app_overhead: overhead } = await finalFigures(deps, runId, signal);
  return {
    ratio: (state.enriched + matched.length) / state.recorded,
    ...(overhead === null
      ? {}
      : { overhead: { p50: overhead.p50_ms, p95: overhead.p95_ms, p99: overhead.p99_ms } }),
  };
}

async function readState(deps: FinalFiguresDeps, runId: RunId, signal: AbortSignal) {
  const of = `FROM all_runs WHERE run_id = ${quoteText(runId)}`;
  return await withExecutions(deps, signal, async (session) => {
    const [bounds] = await session.run(
      `SELECT count(*), count(sf_query_id), min(start_ms), max(start_ms + service_ms) ${of}`,
      signal,
    );
    const [recorded, enriched, startMs, endMs] = (bounds ?? []).map(Number);
    const used = await session.run(`SELECT sf_query_id ${of} AND sf_query_id IS NOT NULL`, signal);
    const missing = await session.run(
      `SELECT execution_id, operation, start_ms ${of} AND sf_query_id IS NULL ORDER BY start_ms LIMIT ${executionsMax}`,
      signal,
    );
    return {
      recorded: recorded ?? 0,
      enriched: enriched ?? 0,
      startMs: startMs ?? 0,
      endMs: endMs ?? 0,
      usedIds: new Set(used.flatMap(([ids]) => String(ids).split(","))), // EX1
      missing: missing.map(([executionId, operation, start]) => ({
        executionId: String(executionId),
        operation: String(operation),
        startMs: Number(start),
      })),
    };
  });
}

/** Statements as they are sent to targets with a query history, with `?` for values. */
function statementTexts({ workload }: Scenario): ReadonlyMap<string, readonly string[]> {
  return new Map(
    workload.operations.map((each) => [
      each.name,
      operationOf(each).statements.map(({ texts }) => texts.join("?")),
    ]),
  );
}

function rowsOf(runId: RunId, matched: readonly MatchedExecution[]): ColumnsOfRows {
  const numbers = (of: (each: MatchedExecution) => number): Float64Array =>
    Float64Array.from(matched, of);
  return new Map<string, ColumnValues>([
    ["run_id", matched.map(() => runId)],
    ["execution_id", matched.map(({ executionId }) => executionId)],
    ["sf_query_id", matched.map(({ queryIds }) => queryIds)],
    ["sf_total_elapsed_ms", numbers(({ totalElapsedMs }) => totalElapsedMs)],
    ["sf_execution_ms", numbers(({ executionMs }) => executionMs)],
    ["sf_compilation_ms", numbers(({ compilationMs }) => compilationMs)],
    ["sf_queued_ms", numbers(({ queuedMs }) => queuedMs)],
    ["sf_cluster_number", matched.map(({ clusterNumber: each }) => each?.toString() ?? null)],
  ]);
}

function tokenOf(runId: RunId, matched: readonly MatchedExecution[]): string {
  const hash = createHash("sha256");
  for (const { executionId, queryIds } of matched) hash.update(`${executionId}=${queryIds}\n`);
  return `load/enrich/${runId}/${hash.digest("hex").slice(0, 24)}`;
}
