/** Plans a definition with DuckDB, from its text and the columns of its sources. */

import type { Engine, EngineSession } from "../../../data/duckdb/index.ts";
import { type LakeTable, visibleColumns } from "../../../data/lake/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import {
  duckdbSqlTool,
  type FullPlan,
  type IncrementalPlan,
  planIncremental,
  type SourceSchema,
} from "../incremental/index.ts";

export type DefinitionPlan = IncrementalPlan | FullPlan;

/** A source under the name that the definition uses for it. */
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

/**
 * Refuses other columns than the table was created with. Files are written by position, so a
 * difference would go unnoticed.
 */
export function checkColumns(
  table: Pick<LakeTable, "columns" | "name">,
  columns: readonly { readonly name: string }[],
): void {
  const wanted = columns.map(({ name }) => name.toLowerCase());
  const there = table.columns.map(({ name }) => name.toLowerCase());
  if (wanted.join("\n") === there.join("\n")) return;
  const message = `the columns of ${table.name} are no longer those of its definition`;
  const hint = "CREATE OR REPLACE DYNAMIC TABLE makes it anew";
  throw new OperatingError("bad_sql", "never", message, { hint });
}

/** Caches plans by definition and source columns: planning takes longer than a small refresh. */
export class DefinitionPlans {
  readonly #engine: Pick<Engine, "withSession">;
  readonly #plans = new Map<string, DefinitionPlan>();

  constructor(engine: Pick<Engine, "withSession">) {
    this.#engine = engine;
  }

  async plan(
    definition: string,
    sources: readonly NamedSource[],
    signal: AbortSignal,
  ): Promise<DefinitionPlan> {
    const key = JSON.stringify([definition, sources.map(schemaOf)]);
    const plan = this.#plans.get(key) ?? (await this.#make(definition, sources, signal));
    this.#plans.delete(key);
    this.#plans.set(key, plan); // The newest is last.
    for (const oldest of this.#plans.keys()) {
      if (this.#plans.size <= plansMax) break;
      this.#plans.delete(oldest);
    }
    return plan;
  }

  async #make(
    definition: string,
    sources: readonly NamedSource[],
    signal: AbortSignal,
  ): Promise<DefinitionPlan> {
    return await this.#engine.withSession([], signal, (session) =>
      planDefinition(session, definition, sources, signal),
    );
  }
}

const plansMax = 1_000;
