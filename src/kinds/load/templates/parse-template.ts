/**
 * What people write, made a template; and a template a scenario. Whoever gets one of them needs no
 * further checks.
 *
 * Everything that is wrong is said at once, each with its place: parts are read one by one, so that
 * a fault in one hides none in another.
 */

import type { z } from "zod";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { isRead } from "../core/operation.ts";
import type { LoadMode, Scenario, WorkloadPreset } from "../core/scenario.ts";
import {
  checkDataSql,
  checkPools,
  checkScaling,
  checkSlos,
  checkTarget,
  checkWorkload,
} from "./check-template.ts";
import type { OperationDocument, TemplateDocument, TemplateProblem } from "./document.ts";
import { problemsOf } from "./fields.ts";
import {
  operationsAtReadPercent,
  presetLoadSql,
  presetOperations,
  presetResetSql,
} from "./presets.ts";
import { resolveScenario } from "./resolve.ts";
import {
  findMaxSchema,
  guardrailSchema,
  headSchema,
  poolsSchema,
  scalingSchema,
  sectionNames,
  slosSchema,
  targetSchema,
  unknownSection,
  verdictSchema,
  workloadSchema,
} from "./schema.ts";
import { kindOfUrl } from "./target-url.ts";

export type ReadTemplate =
  | { readonly kind: "template"; readonly document: TemplateDocument; readonly scenario: Scenario }
  | { readonly kind: "problems"; readonly problems: readonly TemplateProblem[] };

/** `pools`: names of those that are kept elsewhere. */
export function readTemplate(input: unknown, pools: readonly string[] = []): ReadTemplate {
  const reader = new SectionReader(input);
  const head = reader.head();
  const target = reader.read("target", targetSchema, undefined);
  const workload = reader.read("workload", workloadSchema, {});
  const scaling = reader.read("scaling", scalingSchema, {});
  const findMax = reader.read("find_max", findMaxSchema, {});
  const guardrails = reader.read("guardrails", guardrailSchema, {});
  const slos = reader.read("slos", slosSchema, []);
  const verdict = reader.read("verdict", verdictSchema, {});
  const ownPools = reader.read("pools", poolsSchema, {});
  const { problems } = reader;

  const load = workload && normalWorkload(workload, findMax?.enabled, problems);
  const isOwnTable = load?.isOwnTable ?? false;
  const kind = target && (target.kind ?? kindOfUrl(target.url) ?? "postgres");
  const resetSql = target?.reset_sql ?? (isOwnTable ? presetResetSql : []);
  const place = target &&
    kind && {
      ...target,
      kind,
      load_sql: target.load_sql ?? (isOwnTable ? presetLoadSql : []),
      reset_sql: resetSql,
      // What a run inserted would stand in the way of the next one's keys.
      reset_data: target.reset_data ?? (isOwnTable && resetSql.length > 0),
    };
  if (place) problems.push(...checkTarget(place), ...checkDataSql(place));
  if (load) problems.push(...checkWorkload(load.workload, place));
  if (scaling) problems.push(...checkScaling(scaling));
  if (load && slos) problems.push(...checkSlos(slos, load.workload));
  if (load && ownPools) {
    problems.push(...checkPools(load.workload, [...pools, ...Object.keys(ownPools)]));
  }
  const isWhole =
    head && place && load && scaling && findMax && guardrails && slos && verdict && ownPools;
  if (!isWhole || problems.length > 0) return { kind: "problems", problems };
  const document: TemplateDocument = {
    ...head,
    target: place,
    workload: load.workload,
    scaling,
    find_max: { ...findMax, enabled: load.workload.load_mode === "FIND_MAX_CONCURRENCY" },
    guardrails,
    slos,
    verdict,
    pools: ownPools,
  };
  return { kind: "template", document, scenario: resolveScenario(document) };
}

/** Throws `bad_request` with every problem. */
export function parseTemplate(input: unknown, pools: readonly string[] = []): TemplateDocument {
  const read = readTemplate(input, pools);
  if (read.kind === "template") return read.document;
  throw problemError(read.problems);
}

export function parseScenario(input: unknown, pools: readonly string[] = []): Scenario {
  return resolveScenario(parseTemplate(input, pools));
}

export function problemError(problems: readonly TemplateProblem[]): OperatingError {
  const lines = problems.map(({ path, message }) =>
    path === "" ? message : `${path}: ${message}`,
  );
  const many = problems.length === 1 ? "one problem" : `${problems.length} problems`;
  return new OperatingError(
    "bad_request",
    "never",
    `the template has ${many}:\n${lines.map((line) => `  ${line}`).join("\n")}`,
  );
}

class SectionReader {
  readonly #given: Readonly<Record<string, unknown>>;
  readonly problems: TemplateProblem[] = [];

  constructor(input: unknown) {
    const isMapping = typeof input === "object" && input !== null && !Array.isArray(input);
    this.#given = isMapping ? (input as Record<string, unknown>) : {};
    if (!isMapping) this.problems.push({ path: "", message: "expected a mapping" });
    for (const key of Object.keys(this.#given)) {
      if (!sectionNames.includes(key)) {
        this.problems.push({ path: "", message: unknownSection(key) });
      }
    }
  }

  /** `name` is short for `template_name`. */
  head(): z.output<typeof headSchema> | undefined {
    const { template_id, template_name, name, description } = this.#given;
    const given = { template_id, template_name: template_name ?? name, description };
    const isGiven = Object.entries(given).filter(([, value]) => value !== undefined);
    return this.#parse([], headSchema, Object.fromEntries(isGiven));
  }

  read<Schema extends z.ZodType>(
    section: string,
    schema: Schema,
    fallback: unknown,
  ): z.output<Schema> | undefined {
    return this.#parse([section], schema, this.#given[section] ?? fallback);
  }

  #parse<Schema extends z.ZodType>(
    path: readonly string[],
    schema: Schema,
    value: unknown,
  ): z.output<Schema> | undefined {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    this.problems.push(...problemsOf(parsed.error, path));
    return undefined;
  }
}

type WorkloadInput = z.output<typeof workloadSchema>;

/** With the operations that a preset stands for, and every mirror set. */
function normalWorkload(
  input: WorkloadInput,
  findMaxEnabled: boolean | undefined,
  problems: TemplateProblem[],
): { readonly workload: TemplateDocument["workload"]; readonly isOwnTable: boolean } {
  const mode: LoadMode =
    input.load_mode ?? (findMaxEnabled === true ? "FIND_MAX_CONCURRENCY" : modeOf(input));
  if (findMaxEnabled !== undefined && findMaxEnabled !== (mode === "FIND_MAX_CONCURRENCY")) {
    const message = `mirrors load_mode, which is ${mode}`;
    problems.push({ path: "find_max.enabled", message });
  }
  const own = input.operations && weighted(input.operations, problems);
  const operations = own ?? ownOperations(input, problems);
  const mirror = readPercentOf(operations);
  checkMirrors(input, mirror, problems);
  return {
    isOwnTable: own === undefined,
    workload: {
      ...input,
      load_mode: mode,
      preset: "CUSTOM",
      concurrent_connections: input.concurrent_connections ?? (mode === "CONCURRENCY" ? 10 : 100),
      read_percent: mirror,
      write_percent: round(100 - mirror),
      operations,
    },
  };
}

function modeOf({ target_qps: rate }: WorkloadInput): LoadMode {
  return rate === null ? "CONCURRENCY" : "QPS";
}

function ownOperations(
  { preset, read_percent: reads, write_percent: writes }: WorkloadInput,
  problems: TemplateProblem[],
): readonly OperationDocument[] {
  if (preset === "CUSTOM") {
    const message = "expected operations: CUSTOM has none of its own";
    problems.push({ path: "workload.operations", message });
  }
  if (preset !== undefined && preset !== "CUSTOM") return presetOperations(preset);
  if (reads !== undefined) return operationsAtReadPercent(reads);
  return writes === undefined
    ? presetOperations("MIXED" satisfies WorkloadPreset)
    : operationsAtReadPercent(100 - writes);
}

type OperationInput = NonNullable<WorkloadInput["operations"]>[number];

/** Weights are shares of their sum. Percentages are shares of 100, and have to be. */
function weighted(
  operations: readonly OperationInput[],
  problems: TemplateProblem[],
): readonly OperationDocument[] {
  const path = "workload.operations";
  const percents = operations.filter(({ percent }) => percent !== undefined);
  const total = round(percents.reduce((sum, { percent = 0 }) => sum + percent, 0));
  const isMixed = percents.length > 0 && percents.length < operations.length;
  if (isMixed || percents.some(({ weight }) => weight !== undefined)) {
    problems.push({ path, message: "expected percent for all operations, or weight" });
  } else if (percents.length > 0 && total !== 100) {
    problems.push({ path, message: `percent adds up to ${total}; expected 100` });
  }
  return operations.map(({ percent, weight, ...operation }) => ({
    ...operation,
    weight: percent ?? weight ?? 1,
    parameters: Object.fromEntries(
      Object.entries(operation.parameters).map(([name, value]) => [name, withLength(value)]),
    ) as OperationDocument["parameters"],
  }));
}

/** A text of one length needs only one. */
function withLength(value: unknown): unknown {
  const { kind, length_max: most } = value as { kind: string; length_max?: number };
  return kind === "text" ? { length_min: most, ...(value as object) } : value;
}

function checkMirrors(
  { read_percent: reads, write_percent: writes }: WorkloadInput,
  mirror: number,
  problems: TemplateProblem[],
): void {
  if (reads !== undefined && writes !== undefined && round(reads + writes) !== 100) {
    const message = `read_percent and write_percent add up to ${round(reads + writes)}; expected 100`;
    problems.push({ path: "workload.read_percent", message });
  } else if (Math.abs((reads ?? 100 - (writes ?? 100 - mirror)) - mirror) > 0.5) {
    const message = `the operations' weights make it ${mirror}`;
    problems.push({ path: "workload.read_percent", message });
  }
}

function readPercentOf(operations: readonly OperationDocument[]): number {
  const weights = (which: readonly OperationDocument[]): number =>
    which.reduce((sum, { weight }) => sum + weight, 0);
  const total = weights(operations);
  if (total === 0) return 0;
  return round((weights(operations.filter(({ kind }) => isRead(kind))) / total) * 100);
}

/** Percentages are told apart to two places. */
function round(percent: number): number {
  return Math.round(percent * 100) / 100;
}
