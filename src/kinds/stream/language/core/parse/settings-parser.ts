/**
 * Parses schemas and settings: `SET('x' AS "SOURCE".KEY, …)`, and those of anonymous connectors.
 */
import { secretName } from "../secrets.ts";
import type { AstField, AstName, AstSetting } from "./ast.ts";
import { isUnit } from "./durations.ts";
import { parseList, parseType } from "./expr-parser.ts";
import type { TokenReader } from "./token-reader.ts";

export function parseName(reader: TokenReader, what: string): AstName {
  const token = reader.peek();
  if (token.type !== "name" && token.type !== "quoted") throw reader.unexpected(what);
  reader.take();
  return { text: token.text, position: reader.position(token) };
}

/** The name of a source or view; that of a stream of the system has two parts. */
export function parseSourceName(reader: TokenReader, what: string): AstName {
  const name = parseName(reader, what);
  if (!reader.takeSymbol(".")) return name;
  const { text } = parseName(reader, what);
  return { ...name, text: `${name.text}.${text}` };
}

/** The fields of a schema with their parentheses. */
export function parseFields(reader: TokenReader): readonly AstField[] {
  reader.expectSymbol("(");
  if (reader.takeSymbol(")")) return [];
  const fields = parseList(reader, parseField);
  reader.expectSymbol(")");
  return fields;
}

function parseField(reader: TokenReader): AstField {
  const name = parseName(reader, "the name of a column");
  const type = parseType(reader);
  if (reader.takeWords("NOT")) {
    reader.expectWords("NULL");
    return { name, type, nullable: false };
  }
  reader.takeWords("NULL");
  return { name, type, nullable: true };
}

/** The settings behind SET, or none. */
export function parseSet(reader: TokenReader): readonly AstSetting[] {
  return reader.takeWords("SET") ? parseSettings(reader) : [];
}

/** Settings with their parentheses. */
export function parseSettings(reader: TokenReader): readonly AstSetting[] {
  reader.expectSymbol("(");
  if (reader.takeSymbol(")")) return [];
  const settings = parseList(reader, parseSetting);
  reader.expectSymbol(")");
  return settings;
}

function parseSetting(reader: TokenReader): AstSetting {
  const position = reader.position();
  const value = parseValue(reader);
  reader.expectWords("AS");
  const path = [parseName(reader, "the name of a setting")];
  while (reader.takeSymbol(".")) path.push(parseName(reader, "the name of a setting"));
  return { path, value, position };
}

function parseValue(reader: TokenReader): AstSetting["value"] {
  const token = reader.peek();
  if (token.type === "text") {
    reader.take();
    return { kind: "text", value: token.text };
  }
  const sign = reader.takeSymbol("-") ? "-" : "";
  if (sign === "") reader.takeSymbol("+");
  const number = reader.peek();
  if (number.type === "number") {
    reader.take();
    const unit = reader.peek();
    // `5 SEC` is what `'5 SEC'` is.
    if (sign === "" && isUnit(unit)) {
      reader.take();
      return { kind: "text", value: `${number.text} ${unit.text}` };
    }
    return { kind: "number", text: sign + number.text };
  }
  if (reader.takeWords("TRUE")) return { kind: "boolean", value: true };
  if (reader.takeWords("FALSE")) return { kind: "boolean", value: false };
  if (reader.takeWords("SCHEMA")) return { kind: "schema", fields: parseFields(reader) };
  if (reader.isWords("SECRET") && reader.isSymbol("(", 1)) return parseSecret(reader);
  const expected = "a value: a text, a number, TRUE, FALSE, SCHEMA(…) or SECRET(…)";
  if (number.type !== "name" && number.type !== "quoted") throw reader.unexpected(expected);
  const hint = "The value comes first: SET('value' AS \"SECTION\".KEY).";
  throw reader.error(
    `unexpected "${number.text.slice(0, 40)}", expected ${expected}`,
    number,
    hint,
  );
}

/** `SECRET('name')`: the value is where the worker finds it by this name. */
function parseSecret(reader: TokenReader): AstSetting["value"] {
  reader.expectWords("SECRET");
  reader.expectSymbol("(");
  const token = reader.peek();
  if (token.type !== "text" || !secretName.test(token.text)) {
    throw reader.error(
      "a secret has a name of up to 100 letters, digits, and _ . - in single quotes",
      token,
    );
  }
  reader.take();
  reader.expectSymbol(")");
  return { kind: "secret", name: token.text };
}
