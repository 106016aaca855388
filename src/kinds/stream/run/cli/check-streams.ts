/** `capstan stream check FILE`: what the queries of a file would do, without doing it. */
import { processTerminal } from "../../../../ground/command/index.ts";
import {
  defaultDialect,
  explainPlan,
  formatExplanation,
  translateDialectError,
} from "../../language/core/index.ts";
import { planFile } from "../local/plan-file.ts";
import { readStatements } from "./read-statements.ts";

export async function checkStreams(file: string, options: { json?: boolean }): Promise<void> {
  const terminal = processTerminal();
  const text = await readStatements(file);
  try {
    const explained = (answer: string): void => terminal.out(`${answer}\n\n`);
    const planned = planFile(text, defaultDialect, { check: true, explained });
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
    terminal.err(count === 1 ? "1 query is valid\n" : `${count} queries are valid\n`);
  } catch (thrown) {
    throw translateDialectError(thrown);
  }
}
