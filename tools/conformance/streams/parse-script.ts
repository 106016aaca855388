/**
 * Reads a script of the streams suite: statements, the data attached to physical sources, settings,
 * and cases with what they expect. The format is described beside the suite.
 */

export interface StreamScript {
  readonly name: string;
  readonly items: readonly ScriptItem[];
}

export type ScriptItem =
  | {
      readonly kind: "statement";
      readonly line: number;
      readonly text: string;
      readonly attached: Attached | undefined;
    }
  | { readonly kind: "configuration"; readonly key: string; readonly values: readonly string[] }
  | StreamCase;

export interface StreamCase {
  readonly kind: "case";
  readonly line: number;
  readonly query: string;
  readonly expected: Expected;
}

export type Expected =
  | { readonly kind: "rows"; readonly rows: readonly string[] }
  | { readonly kind: "error"; readonly number: number }
  | { readonly kind: "query"; readonly query: string };

export type Attached =
  | { readonly kind: "inline"; readonly text: string }
  | { readonly kind: "file"; readonly path: string };

const configurationPattern = /^GlobalConfiguration\s+(\S+?):?\s*\[(.*)\]\s*$/i;
const errorPattern = /^error\s+(\d+)/i;
const queryStart = /^\(*\s*(SELECT|WITH)\b/i;

class LineReader {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#lines = text.split(/\r?\n/);
  }

  /** The number of the next line, counted from 1. */
  get line(): number {
    return this.#next + 1;
  }

  peek(): string | undefined {
    return this.#lines[this.#next];
  }

  take(): string {
    const line = this.#lines[this.#next] ?? "";
    this.#next += 1;
    return line;
  }

  /** The lines in front of the next empty one. */
  takeBlock(): string[] {
    const block: string[] = [];
    while (this.peek() !== undefined && this.peek()?.trim() !== "") block.push(this.take());
    return block;
  }
}

export function parseStreamScript(name: string, text: string): StreamScript {
  const reader = new LineReader(text);
  const items: ScriptItem[] = [];
  while (reader.peek() !== undefined) {
    const first = (reader.peek() ?? "").trim();
    if (first === "" || first.startsWith("#") || /^SEQUENTIAL_EXECUTION\b/i.test(first)) {
      reader.take();
      continue;
    }
    const configuration = configurationPattern.exec(first);
    if (configuration !== null) {
      const [, key = "", values = ""] = configuration;
      reader.take();
      items.push({
        kind: "configuration",
        key,
        values: values.split(",").map((each) => each.trim()),
      });
    } else if (queryStart.test(first)) items.push(takeCase(reader));
    else items.push(takeStatement(reader));
  }
  return { name, items };
}

function takeCase(reader: LineReader): StreamCase {
  const { line } = reader;
  const query: string[] = [];
  for (;;) {
    const next = reader.peek();
    if (next === undefined) throw new Error(`line ${line}: a query without a result`);
    if (/^(----|====)\s*$/.test(next.trim())) break;
    reader.take();
    if (!next.trim().startsWith("#")) query.push(next);
  }
  const isPair = reader.take().trim() === "====";
  const text = query.join("\n").trim();
  if (isPair) {
    return {
      kind: "case",
      line,
      query: text,
      expected: { kind: "query", query: takeOther(reader) },
    };
  }
  const block = reader.takeBlock().filter((each) => !each.trim().startsWith("#"));
  const error = errorPattern.exec(block[0]?.trim() ?? "");
  const expected: Expected =
    error === null ? { kind: "rows", rows: block } : { kind: "error", number: Number(error[1]) };
  return { kind: "case", line, query: text, expected };
}

/** The second query of a pair, which may have empty lines and ends with a semicolon. */
function takeOther(reader: LineReader): string {
  const lines: string[] = [];
  while (reader.peek() !== undefined) {
    const next = reader.take();
    if (!next.trim().startsWith("#")) lines.push(next);
    if (next.trimEnd().endsWith(";")) break;
  }
  return lines.join("\n").trim();
}

/** A statement and, for a physical source, the data that follows it. */
function takeStatement(reader: LineReader): ScriptItem {
  const { line } = reader;
  const lines: string[] = [];
  while (reader.peek() !== undefined && reader.peek()?.trim() !== "") {
    const next = reader.take();
    if (!next.trim().startsWith("#")) lines.push(next);
    if (next.trimEnd().endsWith(";")) break;
  }
  const text = lines.join("\n");
  const attach = /^ATTACH\b\s*(INLINE|FILE)?\s*;?\s*(.*?)\s*;?$/i.exec(reader.peek()?.trim() ?? "");
  if (attach === null) return { kind: "statement", line, text, attached: undefined };
  reader.take();
  if (attach[1]?.toUpperCase() === "FILE") {
    const attached: Attached = { kind: "file", path: attach[2] ?? "" };
    return { kind: "statement", line, text, attached };
  }
  const rows = reader.takeBlock();
  const content = rows.map((row) => `${row}\n`).join("");
  return { kind: "statement", line, text, attached: { kind: "inline", text: content } };
}
