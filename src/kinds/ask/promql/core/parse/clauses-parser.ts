/** Parses the clauses of operators: `by (…)`, `on (…)`, `group_left (…)`, `bool`, `fill (…)`. */
import type { VectorMatching } from "../ast.ts";
import { quoteText } from "../print/quote.ts";
import { readLiteral } from "./duration-parser.ts";
import { unquote } from "./literals.ts";
import { expressionStarts, labelNameTypes } from "./token.ts";
import type { TokenReader } from "./token-reader.ts";

const expectOpen = { name: "grouping opts", expected: '"("' };
const expectLabel = { name: "grouping opts", expected: "label" };
const expectMore = { name: "grouping opts", expected: '"," or ")"' };

export interface Grouping {
  readonly without: boolean;
  readonly labels: readonly string[];
}
export const noGrouping: Grouping = { without: false, labels: [] };

/** The next token is `by` or `without`. */
export function parseGrouping(reader: TokenReader): Grouping {
  const { type } = reader.take();
  return { without: type === "without", labels: parseLabels(reader) };
}

/** The modifiers between an operator and its right side. */
export interface BinaryModifiers {
  readonly returnBool: boolean;
  readonly on: boolean;
  readonly labels: readonly string[];
  readonly card: "one-to-one" | "many-to-one" | "one-to-many";
  readonly include: readonly string[];
  readonly fillLeft: number | undefined;
  readonly fillRight: number | undefined;
}

export function vectorMatching(
  modifiers: BinaryModifiers,
  isSetOperation: boolean,
): VectorMatching {
  const { card, labels, on, include, fillLeft, fillRight } = modifiers;
  const isManyToMany = isSetOperation && card === "one-to-one";
  return {
    card: isManyToMany ? "many-to-many" : card,
    labels,
    on,
    include,
    fillLeft,
    fillRight,
  };
}

export function parseBinaryModifiers(reader: TokenReader): BinaryModifiers {
  const returnBool = reader.peek().type === "bool";
  if (returnBool) reader.take();
  const matching = reader.peek().type;
  const hasMatching = matching === "on" || matching === "ignoring";
  if (hasMatching) reader.take();
  const labels = hasMatching ? parseLabels(reader) : [];
  const group = hasMatching ? reader.peek().type : "";
  const hasGroup = group === "group_left" || group === "group_right";
  if (hasGroup) reader.take();
  const include = hasGroup ? parseIncluded(reader) : [];
  const many = group === "group_left" ? "many-to-one" : "one-to-many";
  return {
    returnBool,
    on: matching === "on",
    labels,
    card: hasGroup ? many : "one-to-one",
    include,
    ...parseFill(reader),
  };
}

/** The labels may be omitted; then the right side follows. */
function parseIncluded(reader: TokenReader): string[] {
  const { type } = reader.peek();
  if (type === "(") return parseLabels(reader);
  if (!expressionStarts.has(type)) throw reader.unexpected(expectOpen);
  return [];
}

/** Parses `fill`, or `fill_left` and `fill_right` in any order. */
function parseFill(reader: TokenReader): Pick<BinaryModifiers, "fillLeft" | "fillRight"> {
  const first = reader.peek().type;
  if (first !== "fill" && first !== "fill_left" && first !== "fill_right") {
    return { fillLeft: undefined, fillRight: undefined };
  }
  reader.take();
  const value = parseFillValue(reader);
  if (first === "fill") return { fillLeft: value, fillRight: value };
  const isLeft = first === "fill_left";
  const hasOther = reader.peek().type === (isLeft ? "fill_right" : "fill_left");
  if (hasOther) reader.take();
  const other = hasOther ? parseFillValue(reader) : undefined;
  return { fillLeft: isLeft ? value : other, fillRight: isLeft ? other : value };
}

function parseFillValue(reader: TokenReader): number {
  reader.expect("(");
  const sign = reader.peek().type;
  if (sign === "+" || sign === "-") reader.take();
  const { type } = reader.peek();
  if (type !== "NUMBER" && type !== "DURATION") throw reader.unexpected();
  const value = readLiteral(reader, reader.take());
  reader.expect(")");
  return sign === "-" ? -value : value;
}

/** A list in parentheses, with an optional trailing comma. */
function parseLabels(reader: TokenReader): string[] {
  if (reader.peek().type !== "(") throw reader.unexpected(expectOpen);
  reader.take();
  const labels: string[] = [];
  while (reader.peek().type !== ")") {
    labels.push(parseLabel(reader));
    if (reader.peek().type === ",") reader.take();
    else if (reader.peek().type !== ")") throw reader.unexpected(expectMore);
  }
  reader.take();
  return labels;
}

function parseLabel(reader: TokenReader): string {
  const { type } = reader.peek();
  const isQuoted = type === "STRING";
  if (!isQuoted && !labelNameTypes.has(type)) throw reader.unexpected(expectLabel);
  const token = reader.take();
  if (!isQuoted) return token.text;
  const label = unquote(token.text);
  if (label === "" || !label.isWellFormed()) {
    throw reader.error(token, `invalid label name for grouping: ${quoteText(label)}`);
  }
  return label;
}
