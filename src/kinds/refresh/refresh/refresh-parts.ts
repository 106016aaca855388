/**
 * Parts of a full refresh, as subtasks. The lead's `spec` says which rows to compute and for which
 * table; the worker that takes the part writes the files and names them in its result. A spec is
 * self-contained, so that a worker of another version with the same ability computes the same.
 */

import { duckdbVersion, type Engine } from "../../../data/duckdb/index.ts";
import {
  type LakeCatalog,
  type LakeTable,
  LakeWriter,
  type NewDataFile,
  type ObjectStore,
  withFiles,
} from "../../../data/lake/index.ts";
import { quoteName } from "../../../data/sql/core/index.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { PartResult, SubtaskRunner } from "../core/index.ts";
import { bucketSql, type IncrementalPlan } from "../incremental/index.ts";
import { readSource } from "./read-sources.ts";
import { partRelations, partSource } from "./refresh-texts.ts";

export interface RefreshPartsDeps {
  readonly catalog: Pick<LakeCatalog, "changes" | "version">;
  readonly engine: Pick<Engine, "withSession">;
  readonly objects: ObjectStore;
  readonly stagingDir: string;
  readonly prng: Prng;
}

interface PartSpec {
  readonly select: string;
  readonly table: Pick<LakeTable, "path" | "columns">;
}

interface PartFiles {
  readonly files: readonly NewDataFile[];
}

export function partSpecs(
  plan: IncrementalPlan,
  columns: readonly string[],
  parts: number,
  { path, columns: tableColumns }: LakeTable,
): readonly string[] {
  return Array.from({ length: parts }, (_, part) => {
    const bucket = bucketSql(plan, { source: partSource }, columns, part, parts);
    const select = selectOf(tableColumns, bucket);
    const spec: PartSpec = { select, table: { path, columns: tableColumns } };
    return JSON.stringify(spec);
  });
}

/** Selects the table's columns, which may be fewer than those that the plan computes. */
export function selectOf(columns: readonly { readonly name: string }[], sql: string): string {
  return `SELECT ${columns.map(({ name }) => quoteName(name)).join(", ")} FROM (${sql}\n)`;
}

export function filesOfParts(results: readonly PartResult[]): readonly NewDataFile[] {
  return results.flatMap(({ result }) => (JSON.parse(result) as PartFiles).files);
}

/** All buckets of a refresh use one hash function, which differs between DuckDB versions. */
export function readAbility(): string {
  return `buckets by DuckDB ${duckdbVersion()}`;
}

export function createPartRunner(deps: RefreshPartsDeps, ability: string): SubtaskRunner {
  const { catalog, engine, objects, stagingDir, prng } = deps;
  return {
    ability,
    run: async ({ spec, refresh }, signal) => {
      const { select, table } = JSON.parse(spec) as PartSpec;
      const sources = await Promise.all(
        refresh.sources.map((source) => readSource(catalog, { ...source, from: undefined })),
      );
      const versions = sources.map(({ now }) => now);
      const files = await withFiles(objects, versions, signal, async (localPaths) => {
        const relations = partRelations(versions, localPaths);
        return await engine.withSession(relations, signal, async (session) => {
          const writer = new LakeWriter({ duckdb: session, objects, stagingDir, prng });
          return await writer.writeRows({ select, table, rowIds: "fresh" }, signal);
        });
      });
      const result: PartFiles = { files };
      return JSON.stringify(result);
    },
  };
}
