/** The number of a checkpoint, as SHOW CHECKPOINTS has it. */
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
