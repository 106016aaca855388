/** From a parsed query to its plan. */
import type { Catalog } from "../catalog.ts";
import { querySettings } from "../connectors/query-settings.ts";
import { readSection, splitSettings } from "../connectors/read-settings.ts";
import { type Schema, widthOf } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import type { DialectSettings } from "../dialect-settings.ts";
import type { AstContinuousQuery, AstQuery, AstSetting } from "../parse/ast.ts";
import {
  type LatePolicy,
  type Plan,
  type PlanNode,
  planVersion,
  type QuerySettings,
} from "../plan.ts";
import { bindQuery, newContext } from "./bind-query.ts";
import { bindSink } from "./bind-sink.ts";
import { addLateSink } from "./late-sink.ts";

/** The plan as it is written, before it is optimized. */
export function bindPlan(
  query: AstContinuousQuery,
  catalog: Catalog,
  dialect: DialectSettings,
): Plan {
  const { lateSinkName, ...settings } = readQuerySettings(query.settings, dialect);
  const isAside = settings.late === "side";
  const context = newContext(catalog, dialect, isAside);
  const relation = bindQuery(query.query, context);
  const sinks = query.sinks.map((sink) => bindSink(sink, relation, context));
  const { nodes } = context.graph.extract(sinks);
  refuseWideRows(nodes, settings.bufferBytes);
  if (!isAside) return { version: planVersion, nodes, settings };
  const late = addLateSink(lateSinkName, nodes, context, query.position);
  const all = context.graph.extract([...sinks, late]);
  const lateSink = all.places.get(late);
  return { version: planVersion, nodes: all.nodes, settings: { ...settings, lateSink } };
}

/** The columns that a query gives. */
export function schemaOfQuery(query: AstQuery, catalog: Catalog, dialect: DialectSettings): Schema {
  const { columns } = bindQuery(query, newContext(catalog, dialect));
  return columns.map(({ name, type }) => ({ name, type }));
}

function readQuerySettings(
  settings: readonly AstSetting[],
  dialect: DialectSettings,
): QuerySettings & { readonly lateSinkName: string | undefined } {
  const given = splitSettings(settings, ["QUERY"]);
  const values = readSection(querySettings, given, dialect.query, "A query", undefined);
  return {
    late: values.LATE as LatePolicy,
    lateSink: undefined,
    lateSinkName: values.LATE_SINK as string | undefined,
    idleTimeoutMs: values.IDLE_TIMEOUT as number,
    parallelism: values.PARALLELISM as number,
    checkpointIntervalMs: values.CHECKPOINT_INTERVAL as number,
    checkpointPauseMs: values.CHECKPOINT_PAUSE as number,
    checkpointTimeoutMs: values.CHECKPOINT_TIMEOUT as number,
    checkpointsKept: values.CHECKPOINTS_KEPT as number,
    replaceAfterMs: values.REPLACE_AFTER as number,
    bufferBytes: values.BUFFER_SIZE as number,
    memoryBytesMax: values.MEMORY_LIMIT as number,
  };
}

/** A row without the content of its texts must fit into a buffer. */
function refuseWideRows(nodes: readonly PlanNode[], bufferBytes: number): void {
  for (const { op, schema } of nodes) {
    if (op.kind !== "source" && op.kind !== "sink") continue;
    const bytes = schema.reduce((sum, { type }) => sum + widthOf(type.name), 0);
    if (bytes <= bufferBytes) continue;
    throw new DialectError(
      3005,
      `a row of the ${op.kind} ${op.name} has ${bytes} bytes, the most is ${bufferBytes}`,
      { hint: `Give the query larger buffers: SET(${bytes} AS "QUERY".BUFFER_SIZE).` },
    );
  }
}
