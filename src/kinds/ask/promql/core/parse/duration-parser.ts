/** Parses durations in `[…]` and after `offset`: literals, or expressions of them. */
import type { DurationExpr } from "../ast.ts";
import { durationSecondsMax, readDuration, secondsToMs } from "../durations.ts";
import type { Position } from "../model.ts";
import { readNumber } from "./literals.ts";
import type { Token } from "./token.ts";
import type { TokenReader } from "./token-reader.ts";

type DurationBinary = DurationExpr & { readonly kind: "durationBinary" };
type DurationLiteral = DurationExpr & { readonly kind: "duration" };

const powerPrecedence = 3;
const precedences: ReadonlyMap<string, number> = new Map([
  ["+", 1],
  ["-", 1],
  ["*", 2],
  ["/", 2],
  ["%", 2],
  ["^", powerPrecedence],
]);

const offsetContext = { name: "offset", expected: "number, duration, step(), or range()" };

/** The value of a number or duration token, in seconds. */
export function readLiteral(reader: TokenReader, token: Token): number {
  if (token.type === "NUMBER") {
    const value = readNumber(token.text);
    if (typeof value === "number") return value;
    throw reader.error(token, value.error);
  }
  const ms = readDuration(token.text);
  if (typeof ms === "number") return ms / 1000;
  throw reader.error(token, ms.error);
}

/** The length of a window, or the step of a subquery. */
export function parsePositiveDuration(reader: TokenReader): DurationExpr {
  const duration = parseDurationExpr(reader);
  if (duration.kind === "duration" && duration.seconds <= 0) {
    throw reader.error(duration.position, "duration must be greater than 0");
  }
  return duration;
}

/**
 * An operator after it belongs to the duration only if that begins with a parenthesis or two signs:
 * `foo offset -2 ^ 2` is the square of `foo offset -2`.
 */
export function parseOffsetDuration(reader: TokenReader): DurationExpr {
  const duration = reader.within(offsetContext, () => parseOffset(reader));
  // In an expression, NaN is refused at evaluation.
  if (duration.kind === "duration" && Number.isNaN(duration.seconds)) {
    throw reader.error(duration.position, "duration out of range");
  }
  return duration;
}

function parseOffset(reader: TokenReader): DurationExpr {
  const first = reader.peek();
  if (isLiteral(first)) return literal(reader, reader.take());
  if (isCallName(first)) return parseCall(reader);
  if (first.type === "(") return parseDurationExpr(reader);
  if (first.type !== "+" && first.type !== "-") throw reader.unexpected();
  const sign = reader.take();
  const second = reader.peek();
  if (isLiteral(second)) return signed(reader, sign, literal(reader, reader.take(), sign));
  if (isCallName(second)) return signedCall(reader, sign);
  if (second.type === "(") {
    reader.take();
    const inner = parseDurationExpr(reader);
    reader.expect(")");
    return signed(reader, sign, wrapped(reader, inner));
  }
  return continueBinary(reader, signed(reader, sign, parseBinary(reader, powerPrecedence)), 1);
}

function parseDurationExpr(reader: TokenReader): DurationExpr {
  return parseBinary(reader, 1);
}

function parseBinary(reader: TokenReader, precedenceMin: number): DurationExpr {
  return reader.nested(() => continueBinary(reader, parseOperand(reader), precedenceMin));
}

function continueBinary(
  reader: TokenReader,
  first: DurationExpr,
  precedenceMin: number,
): DurationExpr {
  let left = first;
  for (;;) {
    const operator = reader.peek();
    const precedence = precedences.get(operator.type) ?? 0;
    if (precedence === 0 || precedence < precedenceMin) return left;
    reader.take();
    // `^` is right-associative, the others are left-associative.
    const right = parseBinary(reader, precedence === powerPrecedence ? precedence : precedence + 1);
    left = binary(reader, operator, left, right);
  }
}

function binary(
  reader: TokenReader,
  operator: Token,
  left: DurationExpr,
  right: DurationExpr,
): DurationExpr {
  if (right.kind === "duration" && right.seconds === 0) {
    if (operator.type === "/") throw reader.error(operator, "division by zero");
    if (operator.type === "%") throw reader.error(operator, "modulo by zero");
  }
  const position = { start: left.position.start, end: right.position.end };
  const op = operator.type as DurationBinary["op"];
  return reader.made({ kind: "durationBinary", op, left, right, wrapped: false, position }, [
    left,
    right,
  ]);
}

function parseOperand(reader: TokenReader): DurationExpr {
  const first = reader.peek();
  if (isLiteral(first)) return literal(reader, reader.take());
  if (isCallName(first)) return parseCall(reader);
  if (first.type === "+" || first.type === "-") {
    const sign = reader.take();
    return signed(reader, sign, parseBinary(reader, powerPrecedence));
  }
  if (first.type !== "(") throw reader.unexpected();
  reader.take();
  const inner = parseDurationExpr(reader);
  reader.expect(")");
  return wrapped(reader, inner);
}

/** Parses `step()`, `range()`, `min_of(…, …)` and `max_of(…, …)`. */
function parseCall(reader: TokenReader): DurationExpr & { readonly kind: "durationCall" } {
  const token = reader.take();
  const name = token.type as "step" | "range" | "min_of" | "max_of";
  const args: DurationExpr[] = [];
  reader.expect("(");
  if (name === "min_of" || name === "max_of") {
    args.push(parseDurationExpr(reader));
    reader.expect(",");
    args.push(parseDurationExpr(reader));
  }
  const { end } = reader.expect(")");
  // In Prometheus, the position of a call with arguments is that of its arguments.
  const position = {
    start: args.at(0)?.position.start ?? token.start,
    end: args.at(-1)?.position.end ?? end,
  };
  return reader.made({ kind: "durationCall", name, args, wrapped: false, position }, args);
}

/** After `offset`, a sign before a call is kept even if it changes nothing. */
function signedCall(reader: TokenReader, sign: Token): DurationExpr {
  const operand = parseCall(reader);
  const op = sign.type as "+" | "-";
  const position = { start: sign.start, end: operand.position.end };
  return reader.made({ kind: "durationUnary", op, operand, wrapped: false, position }, [operand]);
}

function signed(reader: TokenReader, sign: Token, operand: DurationExpr): DurationExpr {
  if (operand.kind === "duration") {
    const seconds = sign.type === "-" ? -operand.seconds : operand.seconds;
    const position = { start: sign.start, end: operand.position.end };
    return checkedLiteral(reader, { ...operand, seconds, position }, sign);
  }
  if (sign.type === "+") return operand;
  const position = { start: sign.start, end: operand.position.end };
  return reader.made({ kind: "durationUnary", op: "-", operand, wrapped: false, position }, [
    operand,
  ]);
}

/** Parentheses around literals are dropped. */
function wrapped(reader: TokenReader, inner: DurationExpr): DurationExpr {
  if (inner.kind === "duration") return inner;
  return reader.remade(inner, { ...inner, wrapped: true });
}

/** `blamed` is the position of an error, if not that of the literal. */
function literal(reader: TokenReader, token: Token, blamed: Position = token): DurationLiteral {
  const position = { start: token.start, end: token.end };
  const seconds = readLiteral(reader, token);
  const isDuration = token.type === "DURATION";
  return checkedLiteral(reader, { kind: "duration", ms: 0, seconds, isDuration, position }, blamed);
}

function checkedLiteral(
  reader: TokenReader,
  unchecked: DurationLiteral,
  blamed: Position,
): DurationLiteral {
  if (Math.abs(unchecked.seconds) > durationSecondsMax) {
    throw reader.error(blamed, "duration out of range");
  }
  return { ...unchecked, ms: secondsToMs(unchecked.seconds) };
}

function isLiteral({ type }: Token): boolean {
  return type === "NUMBER" || type === "DURATION";
}

function isCallName({ type }: Token): boolean {
  return type === "step" || type === "range" || type === "min_of" || type === "max_of";
}
