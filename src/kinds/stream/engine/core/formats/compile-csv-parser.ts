/** CSV to batches. The parser is generated for the record, and reads only the columns asked for. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Field, Schema } from "../../../language/core/index.ts";
import { batchRowsMax } from "../batch.ts";
import { compileShape } from "../compile-shape.ts";
import { powersOfTen } from "../numbers/parse-float.ts";
import type { RecordParser, RecordParserContext } from "../records.ts";
import { ChunkedRecords, type ParseRecords } from "./chunked-records.ts";
import { RowBuffer } from "./column-buffers.ts";
import { CsvFields } from "./csv-fields.ts";
import { csvParserText } from "./generate-csv.ts";
import type { CsvInputSettings } from "./settings.ts";
import { type FieldSkipper, fieldSkipper } from "./skip-fields.ts";

type Factory = (
  rows: RowBuffer,
  fields: CsvFields,
  settings: CsvInputSettings,
  powers: Float64Array,
  rowsMax: number,
  skipper: FieldSkipper | undefined,
) => ParseRecords;

const parameters = ["rows", "fields", "settings", "powersOfTen", "rowsMax", "skipper"];

export function compileCsvParser(
  record: Schema,
  columns: readonly number[],
  settings: CsvInputSettings,
  context: RecordParserContext,
): RecordParser {
  const order = record.map((_, index) => {
    const column = columns.indexOf(index);
    return column < 0 ? undefined : column;
  });
  const rows = new RowBuffer(
    columns.map((index) => {
      const field: Field | undefined = record[index];
      assert(field !== undefined, "columns are fields of the record");
      return field;
    }),
    settings.isoTimes,
    context.emit,
  );
  const fields = new CsvFields(rows, order, settings, context);
  const factory = compileShape<Factory>(parameters, csvParserText(record, order, settings));
  const parse = factory(rows, fields, settings, powersOfTen, batchRowsMax, fieldSkipper());
  const { tupleDelimiter, recordBytesMax, header } = settings;
  const records = new ChunkedRecords(tupleDelimiter, recordBytesMax, header, parse);
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
