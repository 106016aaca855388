/** JSON objects, one in each record, to batches. Only the columns asked for are read. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Field, Schema } from "../../../language/core/index.ts";
import { batchRowsMax } from "../batch.ts";
import { compileShape } from "../compile-shape.ts";
import { powersOfTen } from "../numbers/parse-float.ts";
import type { RecordParser, RecordParserContext } from "../records.ts";
import { ChunkedRecords, type ParseRecords } from "./chunked-records.ts";
import { RowBuffer } from "./column-buffers.ts";
import { jsonParserText } from "./generate-json.ts";
import { type JsonNode, keyTree } from "./json-keys.ts";
import { JsonValues } from "./json-values.ts";
import type { JsonInputSettings } from "./settings.ts";

type Factory = (
  rows: RowBuffer,
  values: JsonValues,
  nodes: readonly JsonNode[],
  settings: JsonInputSettings,
  powers: Float64Array,
  rowsMax: number,
) => ParseRecords;

const parameters = ["rows", "values", "nodes", "settings", "powersOfTen", "rowsMax"];

export function compileJsonParser(
  record: Schema,
  columns: readonly number[],
  settings: JsonInputSettings,
  context: RecordParserContext,
): RecordParser {
  const fields = columns.map((index) => {
    const field: Field | undefined = record[index];
    assert(field !== undefined, "columns are fields of the record");
    return field;
  });
  const { tupleDelimiter, recordBytesMax } = settings;
  const rows = new RowBuffer(fields, settings.isoTimes, context.emit);
  const values = new JsonValues(rows, settings, context);
  const { root, nodes } = keyTree(record, columns, settings.paths);
  const text = jsonParserText({
    root,
    nodes,
    types: fields.map(({ type }) => type.name),
    blanks: [32, 9, 13, 10].filter((code) => code !== tupleDelimiter[0]),
    delimiterLength: tupleDelimiter.length,
  });
  const factory = compileShape<Factory>(parameters, text);
  const parse = factory(rows, values, nodes, settings, powersOfTen, batchRowsMax);
  const records = new ChunkedRecords(tupleDelimiter, recordBytesMax, false, parse);
  return {
    push: (chunk) => records.push(chunk),
    flush: () => rows.flush(),
    end: () => {
      records.end();
      rows.flush();
    },
    get pendingBytes() {
      return records.pendingBytes;
    },
  };
}
