/** Lengths of time: a number and a unit, apart or together. */
import { DialectError } from "../dialect-error.ts";
import type { Token } from "./lexer.ts";
import type { TokenReader } from "./token-reader.ts";

const unitMs: ReadonlyMap<string, number> = new Map([
  ...["MS", "MSEC", "MILLIS", "MILLISECOND", "MILLISECONDS"].map((unit) => [unit, 1] as const),
  ...["S", "SEC", "SECS", "SECOND", "SECONDS"].map((unit) => [unit, 1000] as const),
  ...["M", "MIN", "MINS", "MINUTE", "MINUTES"].map((unit) => [unit, 60_000] as const),
  ...["H", "HOUR", "HOURS"].map((unit) => [unit, 3_600_000] as const),
  ...["D", "DAY", "DAYS"].map((unit) => [unit, 86_400_000] as const),
]);

/** The longest duration: with it, sums of times stay exact. */
const durationMsMax = 2 ** 52;

export function isDurationAhead(reader: TokenReader): boolean {
  return reader.peek().type === "number" && isUnit(reader.peek(1));
}

/** Whether it is the name of a unit of time. */
export function isUnit(token: Token): boolean {
  return token.type === "name" && unitMs.has(token.word);
}

export function parseDuration(reader: TokenReader): number {
  const token = reader.peek();
  if (token.type !== "number") throw reader.unexpected("a duration such as 5 SEC");
  reader.take();
  const unit = reader.peek();
  const ms = unit.type === "name" ? unitMs.get(unit.word) : undefined;
  if (ms === undefined) {
    throw reader.unexpected("a unit of time (MS, SEC, MINUTE, HOUR or DAY)", [...unitMs.keys()]);
  }
  reader.take();
  const total = Number(token.text) * ms;
  if (!Number.isInteger(total) || total > durationMsMax) {
    throw new DialectError(2010, `${token.text} ${unit.text} is no whole number of milliseconds`, {
      position: reader.position(token),
    });
  }
  return total;
}

/** A duration in a text, such as `'5 SEC'` or `'250ms'`; a bare number is milliseconds. */
export function durationOfText(text: string): number | undefined {
  const parts = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$/.exec(text);
  if (parts === null) return undefined;
  const ms = parts[2] === "" ? 1 : unitMs.get((parts[2] as string).toUpperCase());
  if (ms === undefined) return undefined;
  const total = Number(parts[1]) * ms;
  return Number.isInteger(total) && total <= durationMsMax ? total : undefined;
}
