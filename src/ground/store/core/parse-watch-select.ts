/**
 * `[WATCH] SELECT a, b FROM table WHERE a = 'x' AND b > 2`, or `WATCH DYNAMIC TABLES WHERE …` and `WATCH WORKERS` for
 * all columns: text to `WatchSelect`. It is a defined subset of
 * SQL and nothing else is ever handed to the store: columns of one watched table, and a WHERE of comparisons
 * of a column with a literal, joined by AND. Names and keywords are not case-sensitive.
 */
import { OperatingError } from "../../kernel/errors.ts";
import { type WatchedColumns, type WatchedTables, watchedColumns } from "./schema.ts";
import type { ColumnType } from "./table-cells.ts";
import type { ComparisonOp, WatchCondition, WatchSelect } from "./watch-select.ts";

const textLengthMax = 4_096;
const conditionsMax = 32;
const inValuesMax = 100;

export function parseWatchSelect(text: string, watched: WatchedTables): WatchSelect {
  if (text.length > textLengthMax) {
    throw refuse(`a WATCH has at most ${textLengthMax} characters, this one has ${text.length}`);
  }
  return new Parser(tokenize(text), watched).parse();
}

type TokenKind = "word" | "quoted" | "text" | "number" | "symbol" | "end";

interface Token {
  readonly kind: TokenKind;
  /** Words in lower case; quoted names and texts without their quotes. */
  readonly value: string;
  /** As it was written, for messages. */
  readonly shown: string;
  /** Counted from 1. */
  readonly at: number;
}

const tokenPattern =
  /\s*(?:([A-Za-z_][A-Za-z0-9_]*)|"((?:[^"]|"")*)"|'((?:[^']|'')*)'|([+-]?\d+(?:\.\d+)?)|(<>|!=|<=|>=|[=<>(),*;]))/y;

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < end) {
    const start = tokenPattern.lastIndex;
    const match = tokenPattern.exec(text);
    if (match === null) throw unreadable(text, start);
    tokens.push(tokenOf(match));
  }
  tokens.push({ kind: "end", value: "", shown: "the end", at: end + 1 });
  return tokens;
}

function tokenOf(match: RegExpExecArray): Token {
  const [whole, word, quoted, text, number, symbol] = match;
  const shown = whole.trimStart();
  const at = match.index + whole.length - shown.length + 1;
  if (word !== undefined) return { kind: "word", value: word.toLowerCase(), shown, at };
  if (quoted !== undefined) {
    return { kind: "quoted", value: quoted.replaceAll('""', '"'), shown, at };
  }
  if (text !== undefined) return { kind: "text", value: text.replaceAll("''", "'"), shown, at };
  if (number !== undefined) return { kind: "number", value: number, shown, at };
  return { kind: "symbol", value: symbol ?? "", shown, at };
}

function unreadable(text: string, start: number): OperatingError {
  const rest = text.slice(start);
  const at = start + rest.length - rest.trimStart().length;
  const character = text[at] ?? "";
  const isQuote = character === "'" || character === '"';
  return refuse(
    isQuote
      ? `the ${character} at character ${at + 1} is never closed`
      : `${JSON.stringify(character)} at character ${at + 1} is not understood`,
  );
}

interface NamedTable extends WatchedColumns {
  readonly name: string;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #watched: WatchedTables;
  #next = 0;

  constructor(tokens: readonly Token[], watched: WatchedTables) {
    this.#tokens = tokens;
    this.#watched = watched;
  }

  parse(): WatchSelect {
    const isWhole = this.#takeWord("watch") && !this.#isAtWord("select");
    if (!isWhole) this.#expectWord("select");
    const names = isWhole ? undefined : this.#columnNames();
    if (!isWhole) this.#expectWord("from");
    const table = this.#table();
    const columns = names?.map((name) => checkColumn(table, name).value);
    const where = this.#takeWord("where") ? this.#conditions(table) : [];
    this.#takeSymbol(";");
    if (this.#peek().kind !== "end") throw this.#unexpected("AND, WHERE or the end");
    return { table: table.name, key: table.key, columns, where };
  }

  /** `undefined`: all. */
  #columnNames(): Token[] | undefined {
    if (this.#takeSymbol("*")) return undefined;
    const names = [this.#name("a column")];
    while (this.#takeSymbol(",")) names.push(this.#name("a column"));
    return names;
  }

  /** `dynamic_tables` is also written as two words. */
  #table(): NamedTable {
    const token = this.#name("a table");
    const next = this.#peek();
    const twoWords = `${token.value}_${next.value}`;
    const name =
      next.kind === "word" && Object.hasOwn(this.#watched, twoWords) ? twoWords : token.value;
    if (name === twoWords) this.#next += 1;
    const columns = watchedColumns(this.#watched, name);
    if (columns !== undefined) return { ...columns, name };
    const known = Object.keys(this.#watched).join(", ");
    throw refuse(`${token.shown} at character ${token.at} cannot be watched; these can: ${known}`);
  }

  #conditions(table: NamedTable): WatchCondition[] {
    const conditions = [this.#condition(table)];
    while (this.#takeWord("and")) conditions.push(this.#condition(table));
    if (conditions.length > conditionsMax) {
      throw refuse(
        `a WHERE has at most ${conditionsMax} comparisons, this one has ${conditions.length}`,
      );
    }
    return conditions;
  }

  #condition(table: NamedTable): WatchCondition {
    const { value: column, type } = checkColumn(table, this.#name("a column"));
    if (this.#takeWord("is")) {
      const negated = this.#takeWord("not");
      this.#expectWord("null");
      return { kind: "null", column, negated };
    }
    if (this.#takeWord("in")) return { kind: "in", column, values: this.#list(column, type) };
    return { kind: "compare", column, op: this.#operator(), value: this.#literal(column, type) };
  }

  #operator(): ComparisonOp {
    const token = this.#peek();
    const op = token.kind === "symbol" ? operators.get(token.value) : undefined;
    if (op === undefined) throw this.#unexpected("a comparison: = != < <= > >=, IN or IS");
    this.#next += 1;
    return op;
  }

  #list(column: string, type: ColumnType): (string | number)[] {
    const at = this.#peek().at;
    if (!this.#takeSymbol("(")) throw this.#unexpected('"("');
    const values = [this.#literal(column, type)];
    while (this.#takeSymbol(",")) values.push(this.#literal(column, type));
    if (!this.#takeSymbol(")")) throw this.#unexpected('"," or ")"');
    if (values.length > inValuesMax) {
      throw refuse(
        `the IN at character ${at} has ${values.length} values, at most ${inValuesMax} are taken`,
      );
    }
    return values;
  }

  #literal(column: string, type: ColumnType): string | number {
    const token = this.#peek();
    const value = literalOf(token);
    if (value === undefined) throw this.#unexpected("a text in single quotes or a number");
    if ((typeof value === "string" ? "text" : "number") !== type) {
      throw refuse(`${column} is a ${type}, and ${token.shown} at character ${token.at} is not`);
    }
    this.#next += 1;
    return value;
  }

  #name(what: string): Token {
    const token = this.#peek();
    const isName = token.kind === "quoted" || (token.kind === "word" && !keywords.has(token.value));
    if (!isName) throw this.#unexpected(what);
    this.#next += 1;
    return token;
  }

  #expectWord(word: string): void {
    if (!this.#takeWord(word)) throw this.#unexpected(word.toUpperCase());
  }

  #isAtWord(word: string): boolean {
    const { kind, value } = this.#peek();
    return kind === "word" && value === word;
  }

  #takeWord(word: string): boolean {
    return this.#take("word", word);
  }

  #takeSymbol(symbol: string): boolean {
    return this.#take("symbol", symbol);
  }

  #take(kind: TokenKind, value: string): boolean {
    const token = this.#peek();
    if (token.kind !== kind || token.value !== value) return false;
    this.#next += 1;
    return true;
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token; // The end is never taken.
  }

  #unexpected(wanted: string): OperatingError {
    const token = this.#peek();
    const found = token.kind === "end" ? "it ends" : `it says ${token.shown}`;
    return refuse(`expected ${wanted} at character ${token.at}, where ${found}`);
  }
}

const keywords = new Set(["watch", "select", "from", "where", "and", "is", "not", "null", "in"]);

const operators = new Map<string, ComparisonOp>([
  ["=", "="],
  ["!=", "!="],
  ["<>", "!="],
  ["<", "<"],
  ["<=", "<="],
  [">", ">"],
  [">=", ">="],
]);

/** Flags are 0 and 1 in the store, so TRUE and FALSE are other ways to write these. */
function literalOf(token: Token): string | number | undefined {
  if (token.kind === "text") return token.value;
  if (token.kind === "number") return Number(token.value);
  if (token.kind === "word" && token.value === "true") return 1;
  if (token.kind === "word" && token.value === "false") return 0;
  return undefined;
}

function checkColumn(
  { name, columns }: NamedTable,
  token: Token,
): { value: string; type: ColumnType } {
  const type = Object.hasOwn(columns, token.value) ? columns[token.value] : undefined;
  if (type !== undefined) return { value: token.value, type };
  const known = Object.keys(columns).join(", ");
  throw refuse(`${name} has no column ${token.shown} (character ${token.at}); it has ${known}`);
}

function refuse(message: string): OperatingError {
  return new OperatingError("bad_request", "never", message, {
    hint: "SELECT columns FROM table WHERE column = literal AND …",
  });
}
