/** Prints an expression in one line like Prometheus. Parsing it again gives the same expression. */
import type {
  Aggregate,
  AtModifier,
  Binary,
  DurationExpr,
  Expr,
  MatrixSelector,
  NumberLiteral,
  Subquery,
  VectorMatching,
  VectorSelector,
} from "../ast.ts";
import { formatDuration } from "../durations.ts";
import { formatFixed, formatFloat } from "../format-float.ts";
import { formatGeneral } from "../go-format.ts";
import { compareText, metricNameLabel } from "../labels.ts";
import type { Matcher } from "../leaf.ts";
import { quoteText } from "./quote.ts";

export function printExpr(expr: Expr): string {
  return printWith(expr, printExpr);
}

/** Operands are printed by `print`, so that a caller can cache them. */
export function printWith(expr: Expr, print: (expr: Expr) => string): string {
  switch (expr.kind) {
    case "number":
      return printNumber(expr);
    case "string":
      return quoteText(expr.value);
    case "vectorSelector":
      return printSelector(expr);
    case "matrixSelector":
      return printMatrix(expr);
    case "subquery":
      return `${print(expr.expr)}${printSubquerySuffix(expr)}`;
    case "call":
      return `${expr.name}(${expr.args.map(print).join(", ")})`;
    case "aggregate": {
      const param = expr.param === undefined ? "" : `${print(expr.param)}, `;
      return `${printAggregation(expr)}(${param}${print(expr.expr)})`;
    }
    case "unary":
      return `${expr.op}${print(expr.expr)}`;
    case "paren":
      return `(${print(expr.expr)})`;
    case "binary":
      return `${print(expr.left)} ${printOperator(expr)} ${print(expr.right)}`;
  }
}

/** The operator and its modifiers. */
export function printOperator({ op, returnBool, matching }: Binary): string {
  const bool = returnBool ? " bool" : "";
  return `${op}${bool}${matching === undefined ? "" : printMatching(matching)}`;
}

/** The operator and its grouping, with a trailing space. */
export function printAggregation({ op, grouping, without }: Aggregate): string {
  if (!without && grouping.length === 0) return op;
  return `${op} ${without ? "without" : "by"} (${printLabels(grouping)}) `;
}

/** The part after the inner expression: range, step and modifiers. */
export function printSubquerySuffix({ range, step, at, offset }: Subquery): string {
  const inner = `${printWindow(range)}:${step === undefined ? "" : printWindow(step)}`;
  return `[${inner}]${printAt(at)}${printOffset(offset)}`;
}

function printNumber({ value, isDuration }: NumberLiteral): string {
  return isDuration ? printSeconds(value) : formatFloat(value);
}

/** Rounds through whole nanoseconds, like Prometheus. */
function printSeconds(seconds: number): string {
  const ms = Math.trunc(Math.trunc(Math.abs(seconds) * 1e9) / 1e6);
  return `${seconds < 0 ? "-" : ""}${formatDuration(ms)}`;
}

function printSelector(selector: VectorSelector): string {
  const { at, bounds, offset } = selector;
  const suffix = bounds === undefined ? "" : ` ${bounds}`;
  return `${printPlainSelector(selector)}${printAt(at)}${suffix}${printOffset(offset)}`;
}

function printMatrix({ vector, range }: MatrixSelector): string {
  const { at, bounds, offset } = vector;
  const suffix = bounds === undefined ? "" : ` ${bounds}`;
  const window = `[${printWindow(range)}]`;
  return `${printPlainSelector(vector)}${window}${suffix}${printAt(at)}${printOffset(offset)}`;
}

function printPlainSelector({ name, matchers }: VectorSelector): string {
  const shown = matchers
    .filter((matcher) => !isName(matcher, name))
    .map(printMatcher)
    .sort(compareText);
  return `${name ?? ""}${shown.length === 0 ? "" : `{${shown.join(",")}}`}`;
}

function isName(matcher: Matcher, name: string | undefined): boolean {
  return matcher.name === metricNameLabel && matcher.op === "=" && matcher.value === name;
}

export function printMatcher({ name, op, value }: Matcher): string {
  return `${printLabel(name)}${op}${quoteText(value)}`;
}

function printLabels(labels: readonly string[]): string {
  return labels.map(printLabel).join(", ");
}

function printLabel(label: string): string {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) ? label : quoteText(label);
}

function printMatching(matching: VectorMatching): string {
  const { card, labels, on, include } = matching;
  const isGrouped = card === "many-to-one" || card === "one-to-many";
  let text = "";
  if (labels.length > 0 || on || isGrouped) {
    text += ` ${on ? "on" : "ignoring"} (${printLabels(labels)})`;
  }
  if (isGrouped) {
    text += ` group_${card === "many-to-one" ? "left" : "right"} (${printLabels(include)})`;
  }
  return `${text}${printFill(matching)}`;
}

function printFill({ fillLeft, fillRight }: VectorMatching): string {
  if (fillLeft !== undefined && fillLeft === fillRight) return ` fill (${formatGeneral(fillLeft)})`;
  const left = fillLeft === undefined ? "" : ` fill_left (${formatGeneral(fillLeft)})`;
  const right = fillRight === undefined ? "" : ` fill_right (${formatGeneral(fillRight)})`;
  return `${left}${right}`;
}

function printAt(at: AtModifier | undefined): string {
  if (at === undefined) return "";
  return at.kind === "at" ? ` @ ${formatFixed(at.ms / 1000, 3)}` : ` @ ${at.kind}()`;
}

function printOffset(offset: DurationExpr | undefined): string {
  if (offset === undefined) return "";
  if (offset.kind !== "duration") return ` offset ${printDuration(offset)}`;
  const sign = offset.seconds < 0 ? "-" : "";
  return ` offset ${sign}${formatDuration(Math.abs(offset.ms))}`;
}

/** A literal is shown as a duration, even if it was written as a number. */
function printWindow(duration: DurationExpr): string {
  return duration.kind === "duration" ? formatDuration(duration.ms) : printDuration(duration);
}

export function printDuration(duration: DurationExpr): string {
  if (duration.kind === "duration") {
    const { isDuration, seconds } = duration;
    return isDuration ? printSeconds(seconds) : formatFloat(seconds);
  }
  const text = printUnwrapped(duration);
  return duration.wrapped ? `(${text})` : text;
}

function printUnwrapped(duration: Exclude<DurationExpr, { kind: "duration" }>): string {
  switch (duration.kind) {
    case "durationCall":
      return `${duration.name}(${duration.args.map(printDuration).join(", ")})`;
    case "durationUnary":
      return `${duration.op === "-" ? "-" : ""}${printDuration(duration.operand)}`;
    case "durationBinary":
      return `${printDuration(duration.left)} ${duration.op} ${printDuration(duration.right)}`;
  }
}
