/** Executes work of kind `lake_query`: a SELECT over table versions, or DuckDB's plan of it. */
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import { withoutPaths } from "../../../ground/kernel/without-paths.ts";
import {
  type ProducedFile,
  type WorkSpec,
  workLogFields,
} from "../../../ground/work/core/index.ts";
import type { Executor } from "../../../ground/work/index.ts";
import type { Engine, EngineFor } from "../../duckdb/index.ts";
import { quoteText } from "../../sql/core/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { neededFiles, withLocalFiles } from "../duckdb/local-files.ts";
import { tableSql } from "../duckdb/relation-sql.ts";
import type { BoundQuery, BoundView } from "./bound-query.ts";
import { rowsFile } from "./readable-relations.ts";

export const lakeQueryWorkKind = "lake_query";

interface LakeQuery extends BoundQuery {
  /** Answers with the plan; `analyze` runs the query and adds times. */
  readonly explain?: "plan" | "analyze";
}

export function lakeQueryBody(query: LakeQuery): string {
  return JSON.stringify(query);
}

export function createLakeQueryExecutor(
  engine: EngineFor<"executeToParquet" | "parse" | "withSession">,
  objects: ObjectStore,
): Executor {
  return {
    async execute(work, path, signal, bytesMax) {
      const { sql, tables, explain, views = [] } = parseBody(work);
      const fields = workLogFields(work);
      const own = engine.with(fields);
      const versions = tables.map(({ version }) => version);
      const rowFiles = views.flatMap(({ name, rows }) =>
        rows === undefined ? [] : [{ ...rows, owner: `relation ${name}`, fields }],
      );
      const run = async (localPaths: ReadonlyMap<string, string>): Promise<ProducedFile> => {
        const read = tables.map(({ schema, name, version }) => ({
          schema,
          name,
          sql: tableSql(version, { rowIds: false, localPaths }),
        }));
        const relations = [...read, ...views.map((view) => openedView(view, localPaths))];
        if (explain === undefined) {
          return await own.executeToParquet(sql, path, signal, bytesMax, relations);
        }
        const plan = await planOf(own, sql, explain, relations, signal);
        return await own.executeToParquet(linesSql(plan), path, signal, bytesMax);
      };
      const files = [...neededFiles(versions, fields), ...rowFiles];
      return await withLocalFiles(objects, files, signal, run);
    },
  };
}

function openedView(
  { schema, name, sql, rows }: BoundView,
  localPaths: ReadonlyMap<string, string>,
) {
  if (rows === undefined) return { schema, name, sql };
  const localPath = localPaths.get(rows.path);
  assert(localPath !== undefined, "files that a statement needs are there while it runs");
  return { schema, name, sql: sql.replace(rowsFile, () => quoteText(localPath)) };
}

async function planOf(
  engine: Pick<Engine, "withSession" | "parse">,
  sql: string,
  explain: "plan" | "analyze",
  relations: Parameters<Engine["withSession"]>[0],
  signal: AbortSignal,
): Promise<string> {
  await engine.parse(sql, signal); // A session would run any statement.
  return await engine.withSession(relations, signal, async (session) => {
    const verb = explain === "analyze" ? "EXPLAIN ANALYZE" : "EXPLAIN";
    const [row] = await session.run(`${verb} ${sql}`, signal);
    return withoutPaths(String(row?.[1] ?? "")).trimEnd();
  });
}

/** A longer plan is truncated. */
const planCharsMax = 40_000;

function linesSql(plan: string): string {
  return `SELECT unnest(string_split(${quoteText(plan.slice(0, planCharsMax))}, chr(10))) AS plan`;
}

function parseBody(work: WorkSpec): LakeQuery {
  if (work.kind !== lakeQueryWorkKind) {
    const message = `this worker cannot execute work of kind ${work.kind}`;
    throw new OperatingError("bad_request", "never", message);
  }
  return JSON.parse(work.body) as LakeQuery; // Written by `lakeQueryBody`.
}
