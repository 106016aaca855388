/**
 * Parses `[WATCH] SELECT a, b FROM table WHERE a = 'x' AND b > 2`, `WATCH DYNAMIC TABLES WHERE …`
 * and `WATCH WORKERS` (SR5). The store is never given anything outside this subset. Names and
 * keywords are not case-sensitive.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import {
  type ComparisonOp,
  type WatchCondition,
  type WatchedColumns,
  type WatchedTables,
  type WatchSelect,
  watchedColumns,
} from "../../../ground/store/core/index.ts";
import { scanTokens, TokenCursor } from "../../sql/core/index.ts";

const textLengthMax = 4_096;
const conditionsMax = 32;
const inValuesMax = 100;
/** Another name of the column that identifies a row, in tables without such a column. */
const keyAlias = "id";

export function parseWatch(text: string, watched: WatchedTables): WatchSelect {
  if (text.length > textLengthMax) {
    throw refuse(`a WATCH has at most ${textLengthMax} characters, this one has ${text.length}`);
  }
  const { tokens, unfinished } = scanTokens(text);
  if (unfinished !== undefined) {
    const { closing, position } = unfinished;
    throw refuse(`the ${closing} at character ${position + 1} is never closed`);
  }
  return new WatchParser(new TokenCursor(text, tokens), text, watched).parse();
}

interface Name {
  readonly value: string;
  /** The original text and its position, for messages. */
  readonly shown: string;
  readonly at: number;
}

interface NamedTable extends WatchedColumns {
  readonly name: string;
}

class WatchParser {
  readonly #cursor: TokenCursor;
  readonly #text: string;
  readonly #watched: WatchedTables;

  constructor(cursor: TokenCursor, text: string, watched: WatchedTables) {
    this.#cursor = cursor;
    this.#text = text;
    this.#watched = watched;
  }

  parse(): WatchSelect {
    const cursor = this.#cursor;
    const isWhole = cursor.take("WATCH") && !cursor.isAt("SELECT");
    if (!isWhole) this.#expect("SELECT");
    const names = isWhole ? undefined : this.#columnNames();
    if (!isWhole) this.#expect("FROM");
    const table = this.#table();
    const isAlias = (name: Name): boolean => name.value === keyAlias && !hasColumn(table, keyAlias);
    const columns = names
      ?.filter((name) => !isAlias(name))
      .map((name) => checkColumn(table, name).column);
    const keyAs = names?.some(isAlias) ? keyAlias : undefined;
    const where = cursor.take("WHERE") ? this.#conditions(table) : [];
    cursor.takeSymbol(";");
    if (!cursor.isAtEnd) throw this.#unexpected("AND, WHERE or the end");
    const { name, key } = table;
    return { table: name, key, columns, where, ...(keyAs === undefined ? {} : { keyAs }) };
  }

  /** Undefined for all. */
  #columnNames(): Name[] | undefined {
    if (this.#cursor.takeSymbol("*")) return undefined;
    const names = [this.#name("a column")];
    while (this.#cursor.takeSymbol(",")) names.push(this.#name("a column"));
    return names;
  }

  /** A table by its name or by its words, such as DYNAMIC TABLES. */
  #table(): NamedTable {
    for (const [name, columns] of Object.entries(this.#watched)) {
      const words = name.toUpperCase().split("_");
      if (words.length > 1 && this.#cursor.take(...words)) return { ...columns, name };
    }
    const { value, shown, at } = this.#name("a table");
    const columns = watchedColumns(this.#watched, value);
    if (columns !== undefined) return { ...columns, name: value };
    const known = Object.keys(this.#watched).join(", ");
    throw refuse(`${shown} at character ${at} cannot be watched; these can: ${known}`);
  }

  #conditions(table: NamedTable): WatchCondition[] {
    const conditions = [this.#condition(table)];
    while (this.#cursor.take("AND")) conditions.push(this.#condition(table));
    const count = conditions.length;
    if (count <= conditionsMax) return conditions;
    throw refuse(`a WHERE has at most ${conditionsMax} comparisons, this one has ${count}`);
  }

  #condition(table: NamedTable): WatchCondition {
    const { column, type } = checkColumn(table, this.#name("a column"));
    if (this.#cursor.take("IS")) {
      const negated = this.#cursor.take("NOT");
      this.#expect("NULL");
      return { kind: "null", column, negated };
    }
    if (this.#cursor.take("IN")) return { kind: "in", column, values: this.#list(column, type) };
    const written = this.#cursor.peek()?.text.replace("<>", "!=");
    const op = operators.find((each) => each === written);
    if (op === undefined) throw this.#unexpected("a comparison: = != < <= > >=, IN or IS");
    this.#cursor.next();
    return { kind: "compare", column, op, value: this.#literal(column, type) };
  }

  #list(column: string, type: string): (string | number)[] {
    const at = this.#at();
    if (!this.#cursor.takeSymbol("(")) throw this.#unexpected('"("');
    const values = [this.#literal(column, type)];
    while (this.#cursor.takeSymbol(",")) values.push(this.#literal(column, type));
    if (!this.#cursor.takeSymbol(")")) throw this.#unexpected('"," or ")"');
    const count = values.length;
    if (count <= inValuesMax) return values;
    throw refuse(`the IN at character ${at} has ${count} values, at most ${inValuesMax} are taken`);
  }

  #literal(column: string, type: string): string | number {
    const at = this.#at();
    const sign = ["-", "+"].find((each) => this.#cursor.takeSymbol(each)) ?? "";
    const value = this.#value(sign);
    if (value === undefined) throw this.#unexpected("a text in single quotes or a number");
    if ((typeof value === "string" ? "text" : "number") !== type) {
      const shown = `${sign}${this.#cursor.peek()?.text}`;
      throw refuse(`${column} is a ${type}, and ${shown} at character ${at} is not`);
    }
    this.#cursor.next();
    return value;
  }

  /** Flags are 0 and 1 in the store, so TRUE and FALSE are accepted for them. */
  #value(sign: string): string | number | undefined {
    const { kind, text = "", value } = this.#cursor.peek() ?? {};
    if (kind === "number" && /^\d+(\.\d+)?$/.test(text)) return Number(`${sign}${text}`);
    if (sign !== "") return undefined;
    if (kind === "text") return value;
    if (this.#cursor.isAt("TRUE")) return 1;
    return this.#cursor.isAt("FALSE") ? 0 : undefined;
  }

  #name(what: string): Name {
    const at = this.#at();
    const { kind, text: shown = "", value = "" } = this.#cursor.peek() ?? {};
    const isName =
      kind === "quotedName" || (kind === "word" && !keywords.has(this.#cursor.keyword()));
    if (!isName) throw this.#unexpected(what);
    this.#cursor.next();
    return { value: kind === "word" ? value.toLowerCase() : value, shown, at };
  }

  #expect(keyword: string): void {
    if (!this.#cursor.take(keyword)) throw this.#unexpected(keyword);
  }

  /** The position, counted from 1. */
  #at(): number {
    return (this.#cursor.peek()?.position ?? this.#text.trimEnd().length) + 1;
  }

  #unexpected(wanted: string): OperatingError {
    const token = this.#cursor.peek();
    const found = token === undefined ? "it ends" : `it says ${token.text}`;
    return refuse(`expected ${wanted} at character ${this.#at()}, where ${found}`);
  }
}

const keywords = new Set(["WATCH", "SELECT", "FROM", "WHERE", "AND", "IS", "NOT", "NULL", "IN"]);

const operators: readonly ComparisonOp[] = ["=", "!=", "<", "<=", ">", ">="];

function checkColumn(
  table: NamedTable,
  { value, shown, at }: Name,
): { readonly column: string; readonly type: string } {
  const { name, columns, key } = table;
  const column = value === keyAlias && !hasColumn(table, value) ? key : value;
  const type = hasColumn(table, column) ? columns[column] : undefined;
  if (type !== undefined) return { column, type };
  const known = Object.keys(columns).join(", ");
  throw refuse(`${name} has no column ${shown} (character ${at}); it has ${known}`);
}

function hasColumn({ columns }: NamedTable, name: string): boolean {
  return Object.hasOwn(columns, name);
}

function refuse(message: string): OperatingError {
  return new OperatingError("bad_request", "never", message, {
    hint: "SELECT columns FROM table WHERE column = literal AND …",
  });
}
