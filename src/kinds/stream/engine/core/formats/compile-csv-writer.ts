/** Batches to CSV. A text that would read back as NULL needs quotes, too. */
import type { Schema } from "../../../language/core/index.ts";
import type { RecordWriter } from "../records.ts";
import { compileWriter } from "./compile-writer.ts";
import { beginsWith, type CsvOutputSettings, writtenName } from "./settings.ts";
import { writeAsNeeded, writePlain, writeQuoted } from "./write-text.ts";

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

export function compileCsvWriter(schema: Schema, settings: CsvOutputSettings): RecordWriter {
  const { fieldDelimiter, tupleDelimiter, quoteStrings, floats } = settings;
  const special = specialBytes(settings);
  const write = compileWriter(schema, {
    before: schema.map((_, index) => (index === 0 ? nothing : fieldDelimiter)),
    after: tupleDelimiter,
    nullWord: encoder.encode(settings.nullText),
    floats,
    charAsText: quoteStrings !== "never",
    notFinite: undefined,
    text: quoteStrings === "always" ? "quoted" : quoteStrings === "never" ? "plain" : "needed",
    special,
  });
  return { header: settings.header ? headerOf(schema, settings, special) : nothing, write };
}

/**
 * Delimiters' first bytes, quotes and line ends. Where the delimiter of records begins with that of
 * fields, a text that follows the latter must not complete it.
 */
function specialBytes({ fieldDelimiter, tupleDelimiter }: CsvOutputSettings): Uint8Array {
  const special = new Uint8Array(256);
  const behind = beginsWith(tupleDelimiter, fieldDelimiter) ? fieldDelimiter.length : 0;
  for (const code of [34, 10, 13, fieldDelimiter[0], tupleDelimiter[0], tupleDelimiter[behind]]) {
    if (code !== undefined) special[code] = 1;
  }
  return special;
}

function headerOf(schema: Schema, settings: CsvOutputSettings, special: Uint8Array): Uint8Array {
  const { fieldDelimiter, tupleDelimiter, quoteStrings } = settings;
  const names = schema.map(({ name }) => encoder.encode(writtenName(name, settings.names)));
  const length = names.reduce((sum, name) => sum + name.length * 2 + 2 + fieldDelimiter.length, 0);
  const out = new Uint8Array(length + tupleDelimiter.length);
  let place = 0;
  names.forEach((name, index) => {
    if (index > 0) {
      out.set(fieldDelimiter, place);
      place += fieldDelimiter.length;
    }
    if (quoteStrings === "always") place = writeQuoted(out, place, name, 0, name.length);
    else if (quoteStrings === "never") place = writePlain(out, place, name, 0, name.length);
    else place = writeAsNeeded(out, place, name, 0, name.length, special, nothing);
  });
  out.set(tupleDelimiter, place);
  return out.slice(0, place + tupleDelimiter.length);
}
