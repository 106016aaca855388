import { readFileSync } from "node:fs";
import type { CommandContext } from "../../../ground/command/index.ts";
import { exitCodes, Failure } from "../../../ground/command/index.ts";
import { isBlank, type OtherLanguage, splitStatements } from "../../sql/core/index.ts";
import { Bundles } from "./bundles.ts";
import { runPrompt } from "./prompt.ts";
import { runStatement } from "./run-statement.ts";

export interface SqlOptions {
  readonly command?: readonly string[];
  readonly file?: string;
  readonly timeout?: string;
  /** All statements are one bundle. */
  readonly atomic?: boolean;
}

export async function runSqlCommand(
  context: CommandContext,
  options: SqlOptions,
  signal: AbortSignal,
  languages: readonly OtherLanguage[] = [],
): Promise<void> {
  const timeoutMs = options.timeout === undefined ? undefined : Number(options.timeout) * 1000;
  const script = await scriptOf(options);
  if (script === undefined) {
    await runPrompt(context, timeoutMs, languages);
    return;
  }
  const { statements, rest } = splitStatements(script, languages);
  const all = isBlank(rest) ? statements : [...statements, rest.trim()];
  if (all.length === 0) throw new Failure("usage", "there is no statement to run", exitCodes.usage);
  const bundles = new Bundles();
  const whole = options.atomic === true ? ["BEGIN", ...all, "COMMIT"] : all;
  // Stops at the first failure.
  for (const statement of whole) {
    const next = bundles.take(statement);
    if (next !== undefined) await runStatement(context, next, timeoutMs, signal);
  }
  if (bundles.isOpen) {
    throw new Failure("usage", "BEGIN without COMMIT: nothing was done", exitCodes.usage);
  }
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
