/** Parses `PREVIEW SELECT … [LIMIT n] [SET(…)]`; the word PREVIEW may be left out by the API. */
import { DialectError } from "../dialect-error.ts";
import type { AstPreview } from "./ast.ts";
import { parseQuery } from "./query-parser.ts";
import { parseSet } from "./settings-parser.ts";
import { TokenReader } from "./token-reader.ts";

/** The most rows that a preview shows. */
export const previewRowsMax = 100_000;

/** One preview, with or without the word PREVIEW before it. */
export function parsePreviewText(text: string): AstPreview {
  const reader = new TokenReader(text);
  reader.takeWords("PREVIEW");
  const preview = parsePreview(reader);
  while (reader.takeSymbol(";")) {}
  if (reader.peek().type !== "end") throw reader.unexpected("the end of the statement");
  return preview;
}

/** Reads what stands behind the word PREVIEW. */
export function parsePreview(reader: TokenReader): AstPreview {
  const position = reader.position();
  const query = parseQuery(reader, true);
  if (reader.isWords("INTO")) {
    const hint =
      "Leave INTO out: PREVIEW SELECT … FROM …. With INTO it is a query: SELECT … INTO …";
    throw reader.error("a preview writes into no sink", reader.peek(), hint);
  }
  const rowsMax = reader.takeWords("LIMIT") ? parseRowsMax(reader) : undefined;
  const settings = parseSet(reader);
  return { kind: "preview", query: { position, query, sinks: [], settings }, rowsMax };
}

function parseRowsMax(reader: TokenReader): number {
  const token = reader.peek();
  const position = reader.position(token);
  if (token.type !== "number") throw reader.unexpected("a number of rows");
  reader.take();
  const rowsMax = Number(token.text);
  if (Number.isInteger(rowsMax) && rowsMax >= 1 && rowsMax <= previewRowsMax) return rowsMax;
  throw new DialectError(1000, `a preview shows 1 to ${previewRowsMax} rows, not ${token.text}`, {
    position,
    hint: "To keep more, write them into a sink: SELECT … INTO sink.",
  });
}
