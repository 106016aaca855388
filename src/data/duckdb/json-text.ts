/**
 * SQL expressions that write a value as JSON. DuckDB builds the text of whole rows, several million
 * a second; values that cross into JavaScript one by one cost ten times as much. SQL NULL stays SQL
 * NULL; the caller writes `null`.
 *
 * Numbers keep every digit (and DECIMALs their trailing zeros). NaN and the infinities are the
 * texts "NaN", "Infinity" and "-Infinity". Timestamps are ISO 8601, TIMESTAMPTZ in UTC with a `Z`;
 * years before 1 and infinities are in DuckDB's notation. BLOBs are base64. A UNION is an object
 * with its tag as the one key, a STRUCT without names an array, a MAP an object with text keys.
 */
import { quoteText } from "../sql/core/index.ts";
import type { ColumnShape, NamedShape } from "./column-shape.ts";

/** `value` is an expression of that shape. `depth` makes names of nested lambdas unique. */
export function jsonText(shape: ColumnShape, value: string, depth = 0): string {
  if (typeof shape !== "string") {
    return isPlain(shape) ? `to_json(${value})::VARCHAR` : nestedText(shape, value, depth);
  }
  switch (shape) {
    case "bare":
    case "decimal":
      return `(${value})::VARCHAR`;
    case "float":
      return finiteOr(value, `(${value})::VARCHAR`);
    case "double":
      return finiteOr(value, `to_json(${value})::VARCHAR`);
    case "quoted":
      return `('"' || (${value})::VARCHAR || '"')`;
    case "text":
      return `to_json((${value})::VARCHAR)::VARCHAR`;
    case "timestamp":
      return timestampText(`(${value})::TIMESTAMP`);
    case "timestamp_ns":
      return `('"' || ${withT(value)} || '"')`;
    case "timestamptz":
      return `('"' || replace(${withT(value)}, '+00', 'Z') || '"')`;
    case "blob":
      return `('"' || base64(${value}) || '"')`;
    case "json":
      // In JSON a line break can only stand between tokens.
      return `replace(replace((${value})::VARCHAR, chr(10), ' '), chr(13), ' ')`;
    case "variant":
      return `(${value})::JSON::VARCHAR`;
    case "encoded":
      return `(${value})`;
  }
}

/** A row as a JSON array. */
export function rowText(pieces: readonly string[]): string {
  return `concat('[', ${pieces.map(orNull).join(", ',', ")}, ']')`;
}

function nestedText(shape: Exclude<ColumnShape, string>, value: string, depth: number): string {
  const item = `v${depth}`;
  if ("list" in shape) {
    const each = orNull(jsonText(shape.list, item, depth + 1));
    return `('[' || ${joinedEach(value, item, each)} || ']')`;
  }
  if ("map" in shape) {
    const key = `to_json((${item}.key)::VARCHAR)::VARCHAR`;
    const each = `(${key} || ':' || ${orNull(jsonText(shape.map, `${item}.value`, depth + 1))})`;
    return `('{' || ${joinedEach(`map_entries(${value})`, item, each)} || '}')`;
  }
  if ("struct" in shape) {
    const fields = shape.struct.map((field) => memberText("struct_extract", field, value, depth));
    return unlessNull(value, `concat('{', ${fields.join(", ',', ")}, '}')`);
  }
  if ("tuple" in shape) {
    const items = shape.tuple.map((each, index) =>
      orNull(jsonText(each, `struct_extract(${value}, ${index + 1})`, depth)),
    );
    return unlessNull(value, `concat('[', ${items.join(", ',', ")}, ']')`);
  }
  const cases = shape.union.map((member) => {
    const [tag] = member;
    const text = memberText("union_extract", member, value, depth);
    return `WHEN ${quoteText(tag)} THEN concat('{', ${text}, '}')`;
  });
  return `(CASE union_tag(${value})::VARCHAR ${cases.join(" ")} END)`;
}

/** `"name":value`, as arguments of `concat`. */
function memberText(
  extract: string,
  [name, shape]: NamedShape,
  value: string,
  depth: number,
): string {
  const key = quoteText(`${JSON.stringify(name)}:`);
  const member = `${extract}(${value}, ${quoteText(name)})`;
  return `${key}, ${orNull(jsonText(shape, member, depth))}`;
}

function joinedEach(list: string, item: string, each: string): string {
  return `array_to_string(list_transform(${list}, lambda ${item}: ${each}), ',')`;
}

function finiteOr(value: string, finiteText: string): string {
  return `(CASE WHEN isfinite(${value}) THEN ${finiteText} WHEN ${value} IS NULL THEN NULL \
WHEN isnan(${value}) THEN '"NaN"' WHEN ${value} > 0 THEN '"Infinity"' ELSE '"-Infinity"' END)`;
}

function withT(value: string): string {
  return `replace(replace(replace((${value})::VARCHAR, ' ', 'T'), 'T(BC)', ' (BC)'), '(BC) ', '(BC)T')`;
}

/** Formats date and time separately, which is faster than replacing the space between them. */
function timestampText(value: string): string {
  return `(CASE WHEN isfinite(${value}) \
THEN concat('"', (${value})::DATE, 'T', (${value})::TIME, '"') \
WHEN ${value} IS NULL THEN NULL ELSE '"' || (${value})::VARCHAR || '"' END)`;
}

function unlessNull(value: string, text: string): string {
  return `(CASE WHEN ${value} IS NULL THEN NULL ELSE ${text} END)`;
}

function orNull(piece: string): string {
  return `coalesce(${piece}, 'null')`;
}

/** Whether DuckDB's `to_json` writes the same text. */
function isPlain(shape: ColumnShape): boolean {
  if (shape === "bare" || shape === "text" || shape === "quoted") return true;
  if (typeof shape === "string") return false;
  if ("list" in shape) return isPlain(shape.list);
  if ("map" in shape) return isPlain(shape.map);
  if ("struct" in shape) return shape.struct.every(([, each]) => isPlain(each));
  return false;
}
