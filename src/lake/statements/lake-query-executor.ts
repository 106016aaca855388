/** Work of kind `lake_query`: a SELECT over versions of the lake's tables, on a worker; or DuckDB's plan of it, a row a line. */
import { OperatingError } from "../../kernel/errors.ts";
import { withoutPaths } from "../../queries/core/index.ts";
import type { Engine, Executor } from "../../queries/index.ts";
import { quoteText } from "../../sql/core/index.ts";
import type { WorkSpec } from "../../workcoord/core/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { withFiles } from "../duckdb/local-files.ts";
import { tableSql } from "../duckdb/relation-sql.ts";
import type { BoundQuery } from "./bound-query.ts";

export const lakeQueryWorkKind = "lake_query";

interface LakeQuery extends BoundQuery {
  /** Its plan is the answer; `analyze`: after it ran, with times. */
  readonly explain?: "plan" | "analyze";
}

export function lakeQueryBody(query: LakeQuery): string {
  return JSON.stringify(query);
}

export function createLakeQueryExecutor(
  engine: Pick<Engine, "executeToParquet" | "openSession" | "parse">,
  objects: ObjectStore,
): Executor {
  return {
    async execute(work, path, signal, bytesMax) {
      const { sql, tables, explain } = parseBody(work);
      const versions = tables.map(({ version }) => version);
      return await withFiles(objects, versions, signal, async (localPaths) => {
        const relations = tables.map(({ schema, name, version }) => ({
          schema,
          name,
          sql: tableSql(version, { rowIds: false, localPaths }),
        }));
        if (explain === undefined) {
          return await engine.executeToParquet(sql, path, signal, bytesMax, relations);
        }
        const plan = await planOf(engine, sql, explain, relations, signal);
        return await engine.executeToParquet(linesSql(plan), path, signal, bytesMax);
      });
    },
  };
}

async function planOf(
  engine: Pick<Engine, "openSession" | "parse">,
  sql: string,
  explain: "plan" | "analyze",
  relations: Parameters<Engine["openSession"]>[0],
  signal: AbortSignal,
): Promise<string> {
  await engine.parse(sql, signal); // In a session DuckDB would run whatever it is.
  const session = await engine.openSession(relations, signal);
  try {
    const verb = explain === "analyze" ? "EXPLAIN ANALYZE" : "EXPLAIN";
    const [row] = await session.run(`${verb} ${sql}`, signal);
    return withoutPaths(String(row?.[1] ?? "")).trimEnd();
  } finally {
    await session.close();
  }
}

/** A statement has its limits; a plan that exceeds them is cut. */
const planCharsMax = 40_000;

function linesSql(plan: string): string {
  return `SELECT unnest(string_split(${quoteText(plan.slice(0, planCharsMax))}, chr(10))) AS plan`;
}

function parseBody(work: WorkSpec): LakeQuery {
  if (work.kind !== lakeQueryWorkKind) {
    const message = `this worker cannot execute work of kind ${work.kind}`;
    throw new OperatingError("bad_request", "never", message);
  }
  return JSON.parse(work.body) as LakeQuery; // Written by a controller of the cluster: `lakeQueryBody`.
}
