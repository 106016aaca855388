/** Commands in the fenced blocks of the documentation. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const root = dirname(dirname(import.meta.dirname));

export interface DocumentedCommand {
  readonly line: number;
  /** What follows `capstan`. */
  readonly args: readonly string[];
}

export function commandsIn(file: string): readonly DocumentedCommand[] {
  let isFenced = false;
  return readFileSync(join(root, file), "utf8")
    .split("\n")
    .flatMap((text, index) => {
      if (/^\s*```/.test(text)) isFenced = !isFenced;
      const [, command] = /^\s*(?:\w+=\S+ )*(?:npx )?capstan ([a-z-].*)$/.exec(text) ?? [];
      if (!isFenced || command === undefined || /[│─]/.test(text)) return []; // A drawing.
      return [{ line: index + 1, args: splitShell(command) }];
    });
}

/** Words as a shell has them, as far as documentation goes: both quotes, and comments. */
export function splitShell(command: string): readonly string[] {
  const words: string[] = [];
  for (const [token] of command.matchAll(/\s#.*$|(?:"(?:\\.|[^"\\])*"|'[^']*'|[^\s"'])+/g)) {
    if (/^\s*#/.test(token)) break;
    words.push(token.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'/g, (_, a = "", b = "") => a || b));
  }
  return words;
}

/** What is typed into `capstan sql` in a file's first session. */
export function statementsIn(file: string): readonly string[] {
  const text = readFileSync(join(root, file), "utf8");
  const [, session = ""] = /```\nnpx capstan sql\n([^`]*)```/.exec(text) ?? [];
  return session
    .replace(/^> /gm, "")
    .replace(/\s--\s.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
