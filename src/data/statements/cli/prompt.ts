/** The interactive prompt: a statement ends with a semicolon, Ctrl-C cancels, Ctrl-D leaves. */
import { appendFileSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { CommandContext } from "../../../ground/command/index.ts";
import { failureOf, formatFailure } from "../../../ground/command/index.ts";
import { isBlank, type OtherLanguage, splitStatements } from "../../sql/core/index.ts";
import { Bundles } from "./bundles.ts";
import { runStatement } from "./run-statement.ts";

const historyMax = 1_000;
const help = `Statements end with a semicolon. Ctrl-C cancels the running one.
  BEGIN; …; COMMIT   statements about streams, all of them or none
  .help or \\?   this
  .quit or \\q   leave (so does Ctrl-D)
`;

const helps = new Set([".help", "\\?", "\\h"]);
const quits = new Set([".quit", ".exit", "\\q"]);

export async function runPrompt(
  context: CommandContext,
  timeoutMs: number | undefined,
  languages: readonly OtherLanguage[],
): Promise<void> {
  const { terminal } = context;
  const bundles = new Bundles();
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    history: readHistory(),
    historySize: historyMax,
    removeHistoryDuplicates: true,
  });
  terminal.out(`Connected to ${context.client.url}. .help shows what the prompt understands.\n`);
  let pending = "";
  let running: AbortController | undefined;
  lines.on("SIGINT", () => {
    if (running !== undefined) {
      running.abort();
      return;
    }
    pending = "";
    bundles.discard();
    discardLine(lines);
    terminal.out("^C\n");
    prompt(lines, pending);
  });
  prompt(lines, pending);
  for await (const line of lines) {
    const command = pending === "" ? line.trim() : "";
    if (quits.has(command)) break;
    if (helps.has(command)) terminal.out(help);
    else pending += `${line}\n`;
    const { statements, rest } = splitStatements(pending, languages);
    pending = isBlank(rest) ? "" : rest;
    for (const statement of statements) {
      remember(statement);
      running = new AbortController();
      await runAndReport(context, bundles, statement, timeoutMs, running.signal);
      running = undefined;
    }
    prompt(lines, pending);
  }
  lines.close();
}

/** Discards the typed line. Readline keeps it over a new prompt, so its own keys remove it. */
export function discardLine(lines: Interface): void {
  lines.write(null, { ctrl: true, name: "e" }); // To the end,
  lines.write(null, { ctrl: true, name: "u" }); // and from there to the start.
}

async function runAndReport(
  context: CommandContext,
  bundles: Bundles,
  statement: string,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { terminal } = context;
  try {
    const next = bundles.take(statement);
    if (next !== undefined) await runStatement(context, next, timeoutMs, signal);
  } catch (thrown) {
    if (signal.aborted) {
      terminal.err(terminal.paintError.yellow("cancelled\n"));
      return;
    }
    const failure = failureOf(thrown);
    if (failure === undefined) throw thrown;
    terminal.err(formatFailure(failure, terminal.paintError));
  }
}

function prompt(lines: Interface, pending: string): void {
  lines.setPrompt(pending === "" ? "capstan> " : "    ...> ");
  lines.prompt();
}

const historyFile = (): string => join(homedir(), ".capstan_history");

function readHistory(): string[] {
  try {
    const kept = readFileSync(historyFile(), "utf8").split("\n");
    return kept
      .filter((line) => line !== "")
      .slice(-historyMax)
      .reverse();
  } catch {
    return []; // No history yet, or no home: the prompt works without.
  }
}

function remember(statement: string): void {
  try {
    appendFileSync(historyFile(), `${statement.replace(/\s+/g, " ")};\n`, { mode: 0o600 });
  } catch {
    // A home that cannot be written to has no history.
  }
}
