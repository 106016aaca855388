/** Parses what names checkpoints, by the numbers that SHOW CHECKPOINTS has. */
import type { AstFromCheckpoint, AstName } from "./ast.ts";
import { parseName } from "./settings-parser.ts";
import type { TokenReader } from "./token-reader.ts";

export function parseCheckpointNumber(reader: TokenReader): number {
  const token = reader.peek();
  const number = token.type === "number" ? Number(token.text) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < 1) {
    throw reader.unexpected("the number of a checkpoint");
  }
  reader.take();
  return number;
}

/** `FROM CHECKPOINT 7 [FOR q]`, or nothing. */
export function parseFromCheckpoint(reader: TokenReader): AstFromCheckpoint | undefined {
  const position = reader.position();
  if (!reader.takeWords("FROM", "CHECKPOINT")) return undefined;
  const checkpoint = parseCheckpointNumber(reader);
  const query = reader.takeWords("FOR") ? parseQueryName(reader) : undefined;
  return { position, checkpoint, query };
}

/** Queries without a name are named by a number. */
export function parseQueryName(reader: TokenReader): AstName {
  const token = reader.peek();
  if (token.type !== "number" && token.type !== "text") return parseName(reader, "a query");
  reader.take();
  return { text: token.text, position: reader.position(token) };
}
