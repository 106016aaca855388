/** Checks the types of operands and arguments. Throws the first error that Prometheus shows. */
import type { Aggregate, Binary, Call, Expr, ValueType, VectorSelector } from "../ast.ts";
import { compileRegex } from "../compile-regex.ts";
import type { PromqlError } from "../engine-types.ts";
import { functionSignatures } from "../functions.ts";
import { metricNameLabel } from "../labels.ts";
import type { Matcher } from "../leaf.ts";
import type { Position } from "../model.ts";
import { quoteText } from "../print/quote.ts";
import type { BinaryModifiers } from "./clauses-parser.ts";
import type { ParsedExpr } from "./expr-parser.ts";
import { isSpace } from "./lexer.ts";
import type { Source } from "./source.ts";
import { typeOf } from "./type-of.ts";

const comparisons: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);
const setOperators: ReadonlySet<string> = new Set(["and", "or", "unless"]);
const documentedTypes: Readonly<Record<ValueType, string>> = {
  matrix: "range vector",
  scalar: "scalar",
  string: "string",
  vector: "instant vector",
};

export function checkTypes(source: Source, { expr, modifiers }: ParsedExpr): void {
  new TypeChecker(source, modifiers).check(expr);
}

class TypeChecker {
  readonly #source: Source;
  readonly #modifiers: ParsedExpr["modifiers"];

  constructor(source: Source, modifiers: ParsedExpr["modifiers"]) {
    this.#source = source;
    this.#modifiers = modifiers;
  }

  check(expr: Expr): ValueType {
    switch (expr.kind) {
      case "number":
        return "scalar";
      case "string":
        return "string";
      case "paren":
        return this.check(expr.expr);
      case "unary": {
        const type = this.check(expr.expr);
        if (type === "scalar" || type === "vector") return type;
        const allowed =
          "unary expression only allowed on expressions of type scalar or instant vector";
        throw this.#error(expr, `${allowed}, got ${quoteText(documentedTypes[type])}`);
      }
      case "subquery": {
        const type = this.check(expr.expr);
        if (type === "vector") return "matrix";
        throw this.#error(expr, `subquery is only allowed on instant vector, got ${type} instead`);
      }
      case "matrixSelector":
        this.#checkSelector(expr.vector, false);
        return "matrix";
      case "vectorSelector":
        this.#checkSelector(expr, false);
        return "vector";
      case "aggregate":
        return this.#checkAggregate(expr);
      case "call":
        return this.#checkCall(expr);
      case "binary":
        return this.#checkBinary(expr);
    }
  }

  #checkAggregate({ op, expr, param }: Aggregate): ValueType {
    this.#expect(expr, "vector", "aggregation expression");
    if (param !== undefined) {
      this.#expect(param, op === "count_values" ? "string" : "scalar", "aggregation parameter");
    }
    return "vector";
  }

  #checkBinary(binary: Binary): ValueType {
    const { op, left, right, returnBool } = binary;
    const leftType = this.check(left);
    const rightType = this.check(right);
    const areScalars = leftType === "scalar" && rightType === "scalar";
    if (returnBool && !comparisons.has(op)) {
      throw this.#operatorError(binary, "bool modifier can only be used on comparison operators");
    }
    if (comparisons.has(op) && !returnBool && areScalars) {
      throw this.#operatorError(binary, "comparisons between scalars must use BOOL modifier");
    }
    const modifiers = this.#modifiers.get(binary);
    if (modifiers !== undefined) this.#checkLabels(binary, modifiers);
    for (const [side, type] of [[left, leftType] as const, [right, rightType] as const]) {
      if (type === "scalar" || type === "vector") continue;
      const allowed = "binary expression must contain only scalar and instant vector types";
      throw this.#error(side, allowed);
    }
    if (modifiers !== undefined) this.#checkModifiers(binary, modifiers);
    if ((leftType === "scalar" || rightType === "scalar") && setOperators.has(op)) {
      const what = `set operator ${quoteText(op)}`;
      throw this.#error(binary, `${what} not allowed in binary scalar expression`);
    }
    return areScalars ? "scalar" : "vector";
  }

  #checkLabels(binary: Binary, { on, labels, include }: BinaryModifiers): void {
    const twice = on ? labels.find((label) => include.includes(label)) : undefined;
    if (twice === undefined) return;
    const what = `label ${quoteText(twice)} must not occur in ON and GROUP clause at once`;
    throw this.#operatorError(binary, what);
  }

  #checkModifiers(binary: Binary, modifiers: BinaryModifiers): void {
    const { op, matching } = binary;
    const hasFill = modifiers.fillLeft !== undefined || modifiers.fillRight !== undefined;
    if (matching === undefined) {
      if (modifiers.labels.length > 0) {
        throw this.#error(binary, "vector matching only allowed between instant vectors");
      }
      if (hasFill) {
        const allowed = "filling in missing series only allowed between instant vectors";
        throw this.#error(binary, allowed);
      }
    } else if (setOperators.has(op)) {
      if (matching.card !== "many-to-many") {
        throw this.#error(binary, `no grouping allowed for ${quoteText(op)} operation`);
      }
      if (hasFill) {
        throw this.#error(binary, "filling in missing series not allowed for set operators");
      }
    }
  }

  #checkCall(call: Call): ValueType {
    const signature = functionSignatures.get(call.name);
    if (signature === undefined) return "vector";
    const { name, argTypes, returnType, variadic } = signature;
    this.#checkCount(call, argTypes.length, variadic);
    if (name === "info") this.#checkInfo(call);
    for (const [index, arg] of call.args.entries()) {
      const wanted = argTypes[Math.min(index, argTypes.length - 1)];
      const isInfoSelector = name === "info" && index === 1 && arg.kind === "vectorSelector";
      if (isInfoSelector) this.#checkSelector(arg, true);
      const type = isInfoSelector ? "vector" : this.check(arg);
      if (wanted === undefined || type === wanted) continue;
      const types = `expected type ${documentedTypes[wanted]} in call to function ${quoteText(name)}`;
      throw this.#error(arg, `${types}, got ${documentedTypes[type]}`);
    }
    return returnType;
  }

  #checkCount(call: Call, typeCount: number, variadic: number): void {
    const got = call.args.length;
    const least = variadic === 0 ? typeCount : typeCount - 1;
    const most = variadic < 0 ? Number.POSITIVE_INFINITY : least + variadic;
    if (got >= least && got <= most) return;
    const bound = variadic === 0 ? "" : got < least ? "at least " : "at most ";
    const count = got < least ? least : most;
    const what = `expected ${bound}${count} argument(s) in call to ${quoteText(call.name)}`;
    throw this.#error(call, `${what}, got ${got}`);
  }

  /** The second argument of `info` is a set of matchers, written as a selector. */
  #checkInfo(call: Call): void {
    const selector = call.args[1];
    if (selector === undefined) return;
    const type = typeOf(selector);
    if (type !== "vector") {
      const types = `expected type instant vector in call to function "info"`;
      throw this.#error(call, `${types}, got ${documentedTypes[type]}`);
    }
    if (selector.kind !== "vectorSelector") {
      throw this.#error(selector, "expected label selectors only");
    }
    if (selector.name !== undefined) {
      throw this.#error(selector, "expected label selectors only, got vector selector instead");
    }
  }

  #checkSelector(selector: VectorSelector, mayBeEmpty: boolean): void {
    const { name, matchers } = selector;
    if (name !== undefined) {
      // The last matcher is the name itself.
      const other = matchers.slice(0, -1).find((matcher) => matcher.name === metricNameLabel);
      if (other === undefined) return;
      const names = `${quoteText(name)} or ${quoteText(other.value)}`;
      throw this.#error(selector, `metric name must not be set twice: ${names}`);
    }
    if (mayBeEmpty || matchers.some((matcher) => !matchesEmpty(matcher))) return;
    throw this.#error(selector, "vector selector must contain at least one non-empty matcher");
  }

  #expect(expr: Expr, wanted: ValueType, context: string): void {
    const type = this.check(expr);
    if (type === wanted) return;
    const types = `expected type ${documentedTypes[wanted]} in ${context}`;
    throw this.#error(expr, `${types}, got ${documentedTypes[type]}`);
  }

  #error({ position }: { readonly position: Position }, message: string): PromqlError {
    return this.#source.error(position, message);
  }

  /** The position covers the operator and its modifiers. */
  #operatorError({ left, right }: Binary, message: string): PromqlError {
    const { text } = this.#source;
    let start = this.#source.indexAt(left.position.end);
    while (isSpace(text[start])) start += 1;
    let end = this.#source.indexAt(right.position.start) - 1;
    while (isSpace(text[end])) end -= 1;
    const position = { start: this.#source.byteAt(start), end: this.#source.byteAt(end) };
    return this.#source.error(position, message);
  }
}

function matchesEmpty({ op, value }: Matcher): boolean {
  switch (op) {
    case "=":
      return value === "";
    case "!=":
      return value !== "";
    case "=~":
      return compileRegex(value).test("");
    case "!~":
      return !compileRegex(value).test("");
  }
}
