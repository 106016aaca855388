/** The parser of a source and the writer of a sink, by the format that their settings name. */
import {
  DialectError,
  type Schema,
  type SinkOp,
  type SourceOp,
} from "../../../language/core/index.ts";
import type { RecordParser, RecordParserContext, RecordWriter } from "../records.ts";
import { compileCsvParser } from "./compile-csv-parser.ts";
import { compileCsvWriter } from "./compile-csv-writer.ts";
import { compileJsonParser } from "./compile-json-parser.ts";
import { compileJsonWriter } from "./compile-json-writer.ts";
import {
  csvInputSettings,
  csvOutputSettings,
  jsonInputSettings,
  jsonOutputSettings,
} from "./settings.ts";

export function createRecordParser(
  { parser, record, columns }: SourceOp,
  context: RecordParserContext,
): RecordParser {
  const type = formatOf(parser.TYPE);
  if (type === "CSV") return compileCsvParser(record, columns, csvInputSettings(parser), context);
  if (type === "JSON")
    return compileJsonParser(record, columns, jsonInputSettings(parser), context);
  throw new DialectError(2021, `there is no input format ${type}`);
}

export function createRecordWriter({ formatter }: SinkOp, schema: Schema): RecordWriter {
  const type = formatOf(formatter.TYPE);
  if (type === "CSV") return compileCsvWriter(schema, csvOutputSettings(formatter));
  if (type === "JSON") return compileJsonWriter(schema, jsonOutputSettings(formatter));
  throw new DialectError(2036, `there is no output format ${type}`);
}

function formatOf(type: string | number | boolean | undefined): string {
  return String(type ?? "CSV").toUpperCase();
}
