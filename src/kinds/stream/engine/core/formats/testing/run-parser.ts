/** Runs a parser over text and gathers what came out, for tests. */
import type { Schema, Settings, TypeName } from "../../../../language/core/index.ts";
import type { Plain } from "../../expressions/testing/naive-expr.ts";
import { rowsOf } from "../../expressions/testing/plain-batch.ts";
import type { RecordParser, RecordParserContext } from "../../records.ts";
import { compileCsvParser } from "../compile-csv-parser.ts";
import { compileJsonParser } from "../compile-json-parser.ts";
import { csvInputSettings, jsonInputSettings } from "../settings.ts";

export interface Parsed {
  readonly rows: Plain[][];
  readonly skipped: { readonly record: string; readonly offset: number; readonly reason: string }[];
  nulled: number;
}

/** `a INT32, b VARSIZED!`: an exclamation mark means NOT NULL. */
export function schemaOf(text: string): Schema {
  return text.split(", ").map((field) => {
    const [name = "", type = ""] = field.split(" ");
    const typeName = type.replace("!", "") as TypeName;
    return { name, type: { name: typeName, nullable: !type.endsWith("!") } };
  });
}

export function gather(
  make: (context: RecordParserContext) => RecordParser,
  chunks: readonly Uint8Array[],
): Parsed {
  const parsed: Parsed = { rows: [], skipped: [], nulled: 0 };
  const parser = make({
    emit: (batch) => parsed.rows.push(...rowsOf(batch)),
    malformed: {
      skipped: (record, offset, reason) => {
        parsed.skipped.push({ record: new TextDecoder().decode(record), offset, reason });
      },
      nulled: (count) => {
        parsed.nulled += count;
      },
    },
  });
  for (const chunk of chunks) parser.push(chunk.slice());
  parser.end();
  return parsed;
}

/** Cuts bytes after each of the places. */
export function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places, bytes.length];
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

export function parseCsv(
  schema: Schema,
  text: string | Uint8Array,
  settings: Settings = {},
  options: { readonly columns?: readonly number[]; readonly cuts?: readonly number[] } = {},
): Parsed {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const columns = options.columns ?? schema.map((_, index) => index);
  return gather(
    (context) => compileCsvParser(schema, columns, csvInputSettings(settings), context),
    cut(bytes, options.cuts ?? []),
  );
}

export function parseJson(
  schema: Schema,
  text: string | Uint8Array,
  settings: Settings = {},
  options: { readonly columns?: readonly number[]; readonly cuts?: readonly number[] } = {},
): Parsed {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const columns = options.columns ?? schema.map((_, index) => index);
  return gather(
    (context) => compileJsonParser(schema, columns, jsonInputSettings(settings), context),
    cut(bytes, options.cuts ?? []),
  );
}
