/**
 * Parses windows: `TUMBLING(ts, SIZE 5 SEC)`, `SLIDING(ts, SIZE 1 MINUTE, ADVANCE BY 1 SEC)`,
 * `SESSION(ts, GAP 10 SEC)`, and the spelling `size = 5s`. A join's window has two times.
 */
import { DialectError } from "../dialect-error.ts";
import { didYouMean } from "../suggest.ts";
import type { AstExpr, AstWatermark, AstWindow } from "./ast.ts";
import { isDurationAhead, parseDuration } from "./durations.ts";
import { parseExpr } from "./expr-parser.ts";
import type { TokenReader } from "./token-reader.ts";

const kinds = ["TUMBLING", "SLIDING", "SESSION"] as const;

/** Windows of other dialects, and what they are here. */
const windowsElsewhere: ReadonlyMap<string, string> = new Map([
  ["TUMBLE", "TUMBLING(time, SIZE 10 SEC)"],
  ["HOP", "SLIDING(time, SIZE 10 SEC, ADVANCE BY 1 SEC)"],
  ["HOPPING", "SLIDING(time, SIZE 10 SEC, ADVANCE BY 1 SEC)"],
]);

/** Reads the window behind the word WINDOW. */
export function parseWindow(reader: TokenReader): AstWindow {
  const token = reader.peek();
  const position = reader.position(token);
  const kind = kinds.find((name) => reader.isWords(name));
  if (kind === undefined) throw unknownWindow(reader);
  reader.take();
  reader.expectSymbol("(");
  const times: AstExpr[] = [];
  while (!isLength(reader)) {
    const word = kind === "SESSION" ? "GAP" : "SIZE";
    if (times.length === 2 || isDurationAhead(reader)) throw reader.unexpected(`${word} 10 SEC`);
    times.push(parseExpr(reader));
    if (!reader.takeSymbol(",")) throw reader.unexpected(`", ${word} 10 SEC"`);
  }
  const sizeMs = parseLength(reader, kind === "SESSION" ? "GAP" : "SIZE");
  let advanceMs: number | undefined;
  if (kind === "SLIDING") {
    if (!reader.takeSymbol(",")) throw reader.unexpected('", ADVANCE BY 1 SEC"');
    advanceMs = parseLength(reader, "ADVANCE");
  }
  reader.expectSymbol(")");
  const name = kind.toLowerCase() as AstWindow["kind"];
  return { kind: name, times, sizeMs, advanceMs, position };
}

function isLength(reader: TokenReader): boolean {
  if (!["SIZE", "GAP", "ADVANCE"].includes(reader.peek().word)) return false;
  return reader.peek(1).type === "number" || reader.isSymbol("=", 1);
}

function parseLength(reader: TokenReader, word: string): number {
  reader.expectWords(word);
  if (word === "ADVANCE") reader.takeWords("BY");
  reader.takeSymbol("=");
  const token = reader.peek();
  const unit = reader.peek(1);
  if (["ROWS", "ROW", "TUPLES", "TUPLE", "EVENTS"].includes(unit.word) || isBare(reader)) {
    throw new DialectError(2008, "windows over a count of rows are not supported", {
      position: reader.position(token),
      hint: "Give the size as a time, such as SIZE 10 SEC.",
    });
  }
  const ms = parseDuration(reader);
  if (ms === 0) throw reader.error(`${word} must be greater than 0`, token);
  return ms;
}

/** A number without a unit. */
function isBare(reader: TokenReader): boolean {
  return reader.peek().type === "number" && (reader.isSymbol(",", 1) || reader.isSymbol(")", 1));
}

function unknownWindow(reader: TokenReader): DialectError {
  const token = reader.peek();
  const position = reader.position(token);
  if (token.word === "THRESHOLD") {
    return new DialectError(2011, "THRESHOLD windows are not supported", { position });
  }
  if (token.type === "name" && reader.isSymbol("(", 1)) {
    const elsewhere = windowsElsewhere.get(token.word);
    const hint =
      (elsewhere && `It is ${elsewhere} here.`) ??
      didYouMean(token.text, kinds) ??
      `The windows are ${kinds.join(", ")}.`;
    return new DialectError(2011, `there is no window ${token.text}`, { position, hint });
  }
  return reader.unexpected("TUMBLING, SLIDING or SESSION", kinds);
}

/** Reads `WATERMARK(ts, 5 SEC)`, or nothing. */
export function parseWatermark(reader: TokenReader): AstWatermark | undefined {
  if (!(reader.isWords("WATERMARK") && reader.isSymbol("(", 1))) return undefined;
  const position = reader.position(reader.take());
  reader.expectSymbol("(");
  const column = parseExpr(reader);
  reader.expectSymbol(",");
  const boundMs = parseDuration(reader);
  reader.expectSymbol(")");
  return { position, column, boundMs };
}
