/** `capstan stream check FILE`: what the queries of a file would do, without doing it. */
import { processTerminal } from "../../../../ground/command/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import {
  defaultDialect,
  explainPlan,
  formatExplanation,
  type LakeTable,
  translateDialectError,
} from "../../language/core/index.ts";
import { usesLake } from "../core/uses-lake.ts";
import { openStreamLake, type StreamLakeOptions } from "../lake/open-stream-lake.ts";
import { planFile } from "../local/plan-file.ts";
import { readStatements } from "./read-statements.ts";

export interface StreamCheckOptions extends StreamLakeOptions {
  readonly json?: boolean;
}

export async function checkStreams(
  file: string,
  options: StreamCheckOptions,
  clock: Clock,
): Promise<void> {
  const terminal = processTerminal();
  const text = await readStatements(file);
  try {
    const tables = usesLake(text) ? await readTables(options, clock) : undefined;
    let hasExplained = false;
    const explained = (answer: string): void => {
      hasExplained = true;
      terminal.out(`${answer}\n\n`);
    };
    const planned = planFile(text, defaultDialect, { check: true, explained, tables });
    const queries = planned.map(({ name, plan }) => ({
      query: name,
      ...explainPlan(plan),
    }));
    if (options.json === true) {
      terminal.out(`${JSON.stringify(queries)}\n`);
      return;
    }
    for (const { query, ...explained } of queries) {
      terminal.out(`${query}\n${formatExplanation(explained)}\n\n`);
    }
    const count = queries.length;
    if (count === 0 && hasExplained) return;
    terminal.err(count === 1 ? "1 query is valid\n" : `${count} queries are valid\n`);
  } catch (thrown) {
    throw translateDialectError(thrown);
  }
}

async function readTables(options: StreamLakeOptions, clock: Clock): Promise<readonly LakeTable[]> {
  const opened = await openStreamLake(options, clock);
  try {
    return await opened.tables();
  } finally {
    await opened.close();
  }
}
