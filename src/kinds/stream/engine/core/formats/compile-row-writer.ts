/**
 * Batches to JSON arrays, one line for each row, as people and programs are shown them. Numbers
 * keep every digit.
 */
import type { Schema } from "../../../language/core/index.ts";
import type { RecordWriter } from "../records.ts";
import { compileWriter } from "./compile-writer.ts";

const encoder = new TextEncoder();

export function compileRowWriter(schema: Schema): RecordWriter {
  const write = compileWriter(schema, {
    before: schema.map((_, index) => encoder.encode(index === 0 ? "[" : ",")),
    after: encoder.encode(schema.length === 0 ? "[]\n" : "]\n"),
    nullWord: encoder.encode("null"),
    floats: "shortest",
    charAsText: true,
    // JSON cannot express them, and `null` would mean NULL.
    notFinite: encoder.encode('"not finite"'),
    text: "json",
    special: new Uint8Array(0),
  });
  return { header: new Uint8Array(0), write };
}
