/**
 * Cuts a script into statements at the semicolons that are not inside a string, a quoted name or a comment.
 * It knows DuckDB's quoting and nothing else of SQL.
 */
export interface Split {
  /** Whole statements, without their semicolons; empty ones are left out. */
  readonly statements: readonly string[];
  /** What follows the last semicolon: an unfinished statement, or blank. */
  readonly rest: string;
}

const skips: readonly { readonly open: RegExp; readonly close: (opened: string) => RegExp }[] = [
  { open: /--/y, close: () => /\n|$/g },
  { open: /\/\*/y, close: () => /\*\//g },
  { open: /[eE]'/y, close: () => /(?<!\\)(?:\\\\)*'(?!')/g },
  { open: /'/y, close: () => /'/g },
  { open: /"/y, close: () => /"/g },
  { open: /\$[A-Za-z_]*\$/y, close: (tag) => new RegExp(tag.replaceAll("$", "\\$"), "g") },
];

export function splitStatements(script: string): Split {
  const statements: string[] = [];
  let start = 0;
  let at = 0;
  while (at < script.length) {
    const skipped = skipFrom(script, at);
    if (skipped === "unfinished") break;
    if (skipped !== undefined) {
      at = skipped;
      continue;
    }
    if (script[at] === ";") {
      const statement = script.slice(start, at).trim();
      if (!isBlank(statement)) statements.push(statement);
      start = at + 1;
    }
    at += 1;
  }
  return { statements, rest: script.slice(start) };
}

/** Whether there is nothing in it but white space and comments. */
export function isBlank(text: string): boolean {
  return (
    text
      .replace(/\/\*[\s\S]*?\*\//g, "")
      .replace(/--.*/g, "")
      .trim() === ""
  );
}

/** Where the quoted or commented part that begins at `at` ends; `undefined`: none begins here. */
function skipFrom(script: string, at: number): number | "unfinished" | undefined {
  for (const { open, close } of skips) {
    open.lastIndex = at;
    const opened = open.exec(script)?.[0];
    if (opened === undefined) continue;
    const end = close(opened);
    end.lastIndex = at + opened.length;
    const closed = end.exec(script);
    return closed === null ? "unfinished" : Math.max(closed.index + closed[0].length, at + 1);
  }
  return undefined;
}
