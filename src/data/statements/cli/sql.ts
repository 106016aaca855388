import { readFileSync } from "node:fs";
import type { CommandContext } from "../../../ground/command/index.ts";
import { exitCodes, Failure } from "../../../ground/command/index.ts";
import { isBlank, splitStatements } from "../../sql/core/index.ts";
import { runPrompt } from "./prompt.ts";
import { runStatement } from "./run-statement.ts";

export interface SqlOptions {
  readonly command?: readonly string[];
  readonly file?: string;
  readonly timeout?: string;
}

export async function runSqlCommand(
  context: CommandContext,
  options: SqlOptions,
  signal: AbortSignal,
): Promise<void> {
  const timeoutMs = options.timeout === undefined ? undefined : Number(options.timeout) * 1000;
  const script = await scriptOf(options);
  if (script === undefined) {
    await runPrompt(context, timeoutMs);
    return;
  }
  const { statements, rest } = splitStatements(script);
  const all = isBlank(rest) ? statements : [...statements, rest.trim()];
  if (all.length === 0) throw new Failure("usage", "there is no statement to run", exitCodes.usage);
  // Stops at the first failure.
  for (const statement of all) await runStatement(context, statement, timeoutMs, signal);
}

/** Undefined when the input is interactive. */
async function scriptOf({ command, file }: SqlOptions): Promise<string | undefined> {
  if (command !== undefined) return command.join(";\n");
  if (file === undefined || file === "-") {
    return process.stdin.isTTY === true && file === undefined ? undefined : await readInput();
  }
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new Failure("usage", `cannot read ${file}`, exitCodes.usage);
  }
}

async function readInput(): Promise<string> {
  process.stdin.setEncoding("utf8");
  let text = "";
  for await (const chunk of process.stdin) text += chunk;
  return text;
}
