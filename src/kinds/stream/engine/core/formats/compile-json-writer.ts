/** Batches to JSON: one object for each row, with the names as the schema spells them. */
import type { Schema } from "../../../language/core/index.ts";
import type { RecordWriter } from "../records.ts";
import { compileWriter } from "./compile-writer.ts";
import { type JsonOutputSettings, writtenName } from "./settings.ts";

const encoder = new TextEncoder();

export function compileJsonWriter(schema: Schema, settings: JsonOutputSettings): RecordWriter {
  const delimiter = new TextDecoder().decode(settings.tupleDelimiter);
  const write = compileWriter(schema, {
    before: schema.map(({ name }, index) =>
      encoder.encode(
        `${index === 0 ? "{" : ","}${JSON.stringify(writtenName(name, settings.names))}:`,
      ),
    ),
    after: encoder.encode(`${schema.length === 0 ? "{" : ""}}${delimiter}`),
    nullWord: encoder.encode("null"),
    floats: settings.floats,
    charAsText: true,
    // JSON has no word for them.
    notFinite: encoder.encode("null"),
    text: "json",
    special: new Uint8Array(0),
  });
  return { header: new Uint8Array(0), write };
}
