/**
 * Parses tokens into an expression, by recursive descent and operator precedence. Types are checked
 * afterwards (`checkTypes`), so syntax errors come first. Nodes are never changed: a modifier makes
 * a new node.
 *
 * The first error is the one that Prometheus shows. So a token is looked at no earlier than in
 * Prometheus's parser: an error of the next token must not precede one of the current node. Trees
 * are no higher than a limit (`TokenReader.made`), so that walking them may recurse.
 */
import type { Aggregate, AggregateOp, Binary, BinaryOp, Expr, ValueType } from "../ast.ts";
import { functionSignatures } from "../functions.ts";
import { quoteText } from "../print/quote.ts";
import {
  type BinaryModifiers,
  noGrouping,
  parseBinaryModifiers,
  parseGrouping,
  vectorMatching,
} from "./clauses-parser.ts";
import { parseOffsetDuration, parsePositiveDuration, readLiteral } from "./duration-parser.ts";
import { unquote } from "./literals.ts";
import { atTime, withAt, withBounds, withOffset } from "./modifiers.ts";
import { parseSelector } from "./selector-parser.ts";
import type { Source } from "./source.ts";
import { aggregators, expressionStarts, metricNameTypes, type Token } from "./token.ts";
import { TokenReader } from "./token-reader.ts";
import { typeOf } from "./type-of.ts";

const powerPrecedence = 6;
const precedences: ReadonlyMap<string, number> = new Map(
  [
    ["or"],
    ["and", "unless"],
    ["==", "!=", "<", "<=", ">", ">=", "</", ">/"],
    ["+", "-"],
    ["*", "/", "%", "atan2"],
    ["^"],
  ].flatMap((operators, level) => operators.map((operator) => [operator, level + 1] as const)),
);
const setOperators: ReadonlySet<string> = new Set(["and", "or", "unless"]);
const parameterized: ReadonlySet<string> = new Set([
  "bottomk",
  "count_values",
  "limit_ratio",
  "limitk",
  "quantile",
  "topk",
]);
/** Keywords that are also functions if a parenthesis follows. */
const callWords: ReadonlySet<string> = new Set([
  ...["IDENTIFIER", "start", "end", "step", "range", "max_of", "min_of"],
]);
const aggregation = { name: "aggregation", expected: "" };
const at = { name: "@", expected: "timestamp" };
const durations = "number, duration, step(), or range()";
const rangeStart = { name: "subquery or range selector", expected: durations };
const rangeEnd = { name: "subquery or range", expected: '":" or "]"' };
const stepStart = {
  name: "subquery selector",
  expected: 'number, duration, step(), range(), or "]"',
};
const stepEnd = { name: "subquery selector", expected: '"]"' };

export interface ParsedExpr {
  readonly expr: Expr;
  /** The written modifiers, including those without effect because the sides are no vectors. */
  readonly modifiers: ReadonlyMap<Binary, BinaryModifiers>;
}

export function parseSyntax(source: Source): ParsedExpr {
  return new ExprParser(source).run();
}

class ExprParser {
  readonly #reader: TokenReader;
  readonly #modifiers = new Map<Binary, BinaryModifiers>();
  /** A cache, so that types are not computed again at every level. */
  readonly #types = new Map<Expr, ValueType>();

  constructor(source: Source) {
    this.#reader = new TokenReader(source);
  }

  run(): ParsedExpr {
    const reader = this.#reader;
    if (reader.peek().type === "EOF") {
      throw reader.error({ start: 0, end: 0 }, "no expression found in input");
    }
    const expr = this.#binary(1);
    if (reader.peek().type !== "EOF") throw reader.unexpected();
    return { expr, modifiers: this.#modifiers };
  }

  #binary(precedenceMin: number): Expr {
    const reader = this.#reader;
    return reader.nested(() => {
      let left = this.#modified(this.#operand());
      for (;;) {
        const operator = reader.peek();
        const precedence = precedences.get(operator.type) ?? 0;
        if (precedence === 0 || precedence < precedenceMin) return left;
        reader.take();
        const modifiers = parseBinaryModifiers(reader);
        // `^` is right-associative, the others are left-associative.
        const tighter = precedence === powerPrecedence ? precedence : precedence + 1;
        const right = this.#binary(tighter);
        left = this.#makeBinary(operator, left, right, modifiers);
      }
    });
  }

  #makeBinary(operator: Token, left: Expr, right: Expr, modifiers: BinaryModifiers): Expr {
    const op = operator.type as BinaryOp;
    const areVectors = this.#typeOf(left) === "vector" && this.#typeOf(right) === "vector";
    const matching = areVectors ? vectorMatching(modifiers, setOperators.has(op)) : undefined;
    const position = { start: left.position.start, end: right.position.end };
    const { returnBool } = modifiers;
    const binary: Binary = { kind: "binary", op, left, right, returnBool, matching, position };
    this.#modifiers.set(binary, modifiers);
    return this.#reader.made(binary, [left, right]);
  }

  #operand(): Expr {
    const reader = this.#reader;
    const { type } = reader.peek();
    if (type === "NUMBER" || type === "DURATION") return this.#number();
    if (type === "STRING") return this.#string();
    if (type === "(") return this.#paren();
    if (type === "+" || type === "-") return this.#unary();
    if (type === "{") return parseSelector(reader, undefined);
    if (!metricNameTypes.has(type)) throw reader.unexpected();
    return this.#word(reader.take());
  }

  /** The name of a metric, function or aggregation, depending on the next token. */
  #word(word: Token): Expr {
    const reader = this.#reader;
    const isAggregator = aggregators.has(word.type);
    const next = isAggregator || callWords.has(word.type) ? reader.peek().type : "";
    if (isAggregator && (next === "(" || next === "by" || next === "without")) {
      return reader.within(aggregation, () => this.#aggregate(word));
    }
    if (!isAggregator && next === "(") return this.#call(word);
    return parseSelector(reader, word);
  }

  #number(): Expr {
    const token = this.#reader.take();
    const value = readLiteral(this.#reader, token);
    const position = { start: token.start, end: token.end };
    return { kind: "number", value, isDuration: token.type === "DURATION", position };
  }

  #string(): Expr {
    const token = this.#reader.take();
    const position = { start: token.start, end: token.end };
    return { kind: "string", value: unquote(token.text), position };
  }

  #paren(): Expr {
    const { start } = this.#reader.take();
    const expr = this.#binary(1);
    const { end } = this.#reader.expect(")");
    return this.#reader.made({ kind: "paren", expr, position: { start, end } }, [expr]);
  }

  /** Binds like a multiplication. A number includes its sign. */
  #unary(): Expr {
    const sign = this.#reader.take();
    const expr = this.#binary(powerPrecedence);
    const position = { start: sign.start, end: expr.position.end };
    if (expr.kind === "number") {
      return { ...expr, value: sign.type === "-" ? -expr.value : expr.value, position };
    }
    return this.#reader.made({ kind: "unary", op: sign.type as "+" | "-", expr, position }, [expr]);
  }

  #call(word: Token): Expr {
    const reader = this.#reader;
    const args = this.#args();
    if (!functionSignatures.has(word.text)) {
      throw reader.error(word, `unknown function with name ${quoteText(word.text)}`);
    }
    const position = { start: word.start, end: reader.lastClosing };
    return reader.made({ kind: "call", name: word.text, args, position }, args);
  }

  #args(): Expr[] {
    const reader = this.#reader;
    reader.expect("(");
    const args: Expr[] = [];
    if (reader.peek().type !== ")") args.push(this.#binary(1));
    while (reader.peek().type === ",") {
      const comma = reader.take();
      if (!expressionStarts.has(reader.peek().type)) {
        throw reader.error(comma, "trailing commas not allowed in function call args");
      }
      args.push(this.#binary(1));
    }
    reader.expect(")");
    return args;
  }

  #aggregate(word: Token): Expr {
    const reader = this.#reader;
    const first = reader.peek().type;
    let clause = first === "(" ? undefined : parseGrouping(reader);
    const args = this.#args();
    let end = reader.lastClosing;
    const last = clause === undefined ? reader.peek().type : "";
    if (last === "by" || last === "without") {
      clause = parseGrouping(reader);
      end = reader.lastClosing;
    }
    const position = { start: word.start, end };
    const op = word.type as AggregateOp;
    const wanted = parameterized.has(op) ? 2 : 1;
    const expr = args[wanted - 1];
    if (args.length === 0) {
      throw reader.error(position, "no arguments for aggregate expression provided");
    }
    if (args.length !== wanted || expr === undefined) {
      const counts = `expected ${wanted}, got ${args.length}`;
      const what = "wrong number of arguments for aggregate expression provided";
      throw reader.error(position, `${what}, ${counts}`);
    }
    const param = wanted === 2 ? args[0] : undefined;
    const { labels, without } = clause ?? noGrouping;
    const grouped = clause !== undefined;
    const aggregate: Aggregate = {
      kind: "aggregate",
      op,
      expr,
      param,
      grouping: labels,
      without,
      grouped,
      position,
    };
    return reader.made(aggregate, args);
  }

  /** Parses the modifiers after an operand. */
  #modified(operand: Expr): Expr {
    const reader = this.#reader;
    let expr = operand;
    for (;;) {
      const { type } = reader.peek();
      if (type === "[") expr = this.#range(expr);
      else if (type === "@") expr = this.#at(expr);
      else if (type === "offset") {
        reader.take();
        const offset = parseOffsetDuration(reader);
        expr = reader.remade(expr, withOffset(reader, expr, offset));
      } else if (type === "anchored" || type === "smoothed") {
        reader.take();
        expr = reader.remade(expr, withBounds(reader, expr, type));
      } else return expr;
    }
  }

  #at(expr: Expr): Expr {
    const reader = this.#reader;
    reader.take();
    return reader.within(at, () => {
      const first = reader.peek();
      if (first.type === "start" || first.type === "end") {
        reader.take();
        reader.expect("(");
        reader.expect(")");
        return reader.remade(expr, withAt(reader, expr, { kind: first.type }));
      }
      const isSigned = first.type === "+" || first.type === "-";
      if (isSigned) reader.take();
      const { type } = reader.peek();
      if (type !== "NUMBER" && type !== "DURATION") throw reader.unexpected();
      const value = readLiteral(reader, reader.take());
      const time = atTime(reader, expr, first.type === "-" ? -value : value);
      return reader.remade(expr, withAt(reader, expr, time));
    });
  }

  #range(expr: Expr): Expr {
    const reader = this.#reader;
    const open = reader.take();
    const range = reader.within(rangeStart, () => parsePositiveDuration(reader));
    const { start } = expr.position;
    if (reader.peek().type === "]") {
      const { end } = reader.take();
      if (expr.kind !== "vectorSelector") {
        throw reader.error({ start: open.start, end }, "ranges only allowed for vector selectors");
      }
      if (expr.offset?.kind === "duration") {
        throw reader.error({ start: open.start, end }, "no offset modifiers allowed before range");
      }
      if (expr.at?.kind === "at") {
        throw reader.error({ start: open.start, end }, "no @ modifiers allowed before range");
      }
      return { kind: "matrixSelector", vector: expr, range, position: { start, end } };
    }
    if (reader.peek().type !== ":") throw reader.unexpected(rangeEnd);
    reader.take();
    const hasStep = reader.peek().type !== "]";
    const step = hasStep
      ? reader.within(stepStart, () => parsePositiveDuration(reader))
      : undefined;
    if (reader.peek().type !== "]") throw reader.unexpected(stepEnd);
    const position = { start, end: reader.take().end };
    return reader.made(
      { kind: "subquery", expr, range, step, offset: undefined, at: undefined, position },
      [expr],
    );
  }

  #typeOf(expr: Expr): ValueType {
    let type = this.#types.get(expr);
    if (type !== undefined) return type;
    if (expr.kind === "paren" || expr.kind === "unary") type = this.#typeOf(expr.expr);
    else if (expr.kind === "binary") {
      const areScalars =
        this.#typeOf(expr.left) === "scalar" && this.#typeOf(expr.right) === "scalar";
      type = areScalars ? "scalar" : "vector";
    } else type = typeOf(expr);
    this.#types.set(expr, type);
    return type;
  }
}
