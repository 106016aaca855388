/** How a definition is refreshed, planned with DuckDB from the definition and the columns of what it reads. */
import { type LakeTable, visibleColumns } from "../../lake/index.ts";
import type { EngineSession } from "../../queries/index.ts";
import {
  duckdbSqlTool,
  type FullPlan,
  type IncrementalPlan,
  planIncremental,
  type SourceSchema,
} from "../incremental/index.ts";

export type DefinitionPlan = IncrementalPlan | FullPlan;

/** A source under the name that the definition has for it. */
export interface NamedSource {
  readonly schema: string;
  readonly name: string;
  readonly table: LakeTable;
}

export async function planDefinition(
  session: Pick<EngineSession, "objects">,
  definition: string,
  sources: readonly NamedSource[],
  signal: AbortSignal,
): Promise<DefinitionPlan> {
  const tool = duckdbSqlTool((sql) => session.objects(sql, signal));
  return await planIncremental(definition, sources.map(schemaOf), tool);
}

function schemaOf({ schema, name, table }: NamedSource): SourceSchema {
  const columns = visibleColumns(table).map((column) => ({ name: column.name, type: column.type }));
  return { schema, name, columns };
}
