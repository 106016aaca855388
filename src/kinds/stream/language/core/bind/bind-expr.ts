/**
 * Gives expressions their types and writes out every conversion. Operands that do not fit together
 * are error 2007; a wrong argument of a function is 2006, a wrong number of them 2002.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { isFloat, isNumeric, type TypeName } from "../data-type.ts";
import { DialectError, type DialectErrorNumber, type Position } from "../dialect-error.ts";
import type { Expr, FunctionName } from "../expr.ts";
import type { AstCall, AstExpr, BinaryOperator } from "../parse/ast.ts";
import { typeNames } from "../parse/expr-parser.ts";
import { didYouMean } from "../suggest.ts";
import { aggregateNames, isAggregateName } from "./aggregates.ts";
import { checkGroup, checkPattern } from "./check-pattern.ts";
import { balanced, branch, call, castTo, literal, promoted, trueLiteral } from "./exprs.ts";
import {
  describeKind,
  type FunctionSignature,
  functions,
  isOfKind,
  toNumber,
  toText,
  unify,
} from "./functions.ts";
import { bindNumber, constructLiteral } from "./literals.ts";
import { comparableType, isText } from "./promote.ts";

export interface ExprScope {
  /** Gives an expression a meaning before its parts have one, as keys and aggregates have. */
  readonly intercept: ((ast: AstExpr) => Expr | undefined) | undefined;
  readonly resolve: (qualifier: string | undefined, name: string, position: Position) => Expr;
}

const arithmetic: ReadonlyMap<BinaryOperator, FunctionName> = new Map<BinaryOperator, FunctionName>(
  [
    ["+", "add"],
    ["-", "subtract"],
    ["*", "multiply"],
    ["/", "divide"],
    ["%", "modulo"],
    ["&", "bit_and"],
    ["|", "bit_or"],
    ["^", "bit_xor"],
    ["<<", "shift_left"],
    [">>", "shift_right"],
  ],
);
const integersOnly: ReadonlySet<BinaryOperator> = new Set<BinaryOperator>([
  "&",
  "|",
  "^",
  "<<",
  ">>",
]);
const comparisons: ReadonlyMap<BinaryOperator, FunctionName> = new Map<
  BinaryOperator,
  FunctionName
>([
  ["=", "equal"],
  ["!=", "not_equal"],
  ["<", "less"],
  ["<=", "less_equal"],
  [">", "greater"],
  [">=", "greater_equal"],
  ["<=>", "null_safe_equal"],
]);

export function bindExpr(ast: AstExpr, scope: ExprScope): Expr {
  const known = scope.intercept?.(ast);
  if (known !== undefined) return known;
  switch (ast.kind) {
    case "name":
      return ast.quoted === true
        ? resolveQuoted(ast.name, ast.position, scope)
        : scope.resolve(ast.qualifier, ast.name, ast.position);
    case "number":
      return bindNumber(ast.text, ast.position);
    case "text":
      return literal(ast.value, "VARSIZED");
    case "boolean":
      return literal(ast.value, "BOOLEAN");
    case "null":
      return literal(null, "VARSIZED");
    case "duration":
      return bindNumber(String(ast.ms), ast.position);
    case "negate":
      return bindNegate(ast.arg, ast.position, scope);
    case "not":
      return call("not", [bindBoolean(ast.arg, scope)], "BOOLEAN");
    case "binary":
      return bindBinary(ast.op, ast.left, ast.right, ast.position, scope);
    case "call":
      return bindCall(ast, scope);
    case "case":
      return bindCase(ast, scope);
    case "cast":
      return bindCast(bindExpr(ast.arg, scope), ast.type, ast.lenient, ast.position);
    case "in":
      return bindIn(ast, scope);
    case "between": {
      const arg = bindExpr(ast.arg, scope);
      const low = compare(">=", arg, bindExpr(ast.low, scope), ast.position);
      const high = compare("<=", arg, bindExpr(ast.high, scope), ast.position);
      return negateIf(ast.negated, call("and", [low, high], "BOOLEAN"));
    }
    case "is":
      return bindIs(ast, scope);
    case "like": {
      const args = [bindExpr(ast.arg, scope), bindExpr(ast.pattern, scope)] as const;
      const [arg, pattern] = args;
      if (!isText(arg.type.name) || pattern.kind !== "literal" || !isText(pattern.type.name)) {
        throw typeError(2006, "LIKE compares a text with a constant pattern", ast.position);
      }
      const matched = call("like", [castTo(arg, "VARSIZED"), pattern], "BOOLEAN");
      return negateIf(ast.negated, matched);
    }
  }
}

/** A text in the wrong quotes is a column that nobody knows. */
function resolveQuoted(name: string, position: Position, scope: ExprScope): Expr {
  try {
    return scope.resolve(undefined, name, position);
  } catch (thrown) {
    if (!(thrown instanceof DialectError) || thrown.number !== 2003) throw thrown;
    const text = `A text stands in single quotes: '${name.replaceAll("'", "''")}'.`;
    const hint = thrown.hint === undefined ? text : `${thrown.hint} ${text}`;
    throw new DialectError(thrown.number, thrown.message, { position, hint });
  }
}

/** The way from a text to a number, for errors. */
export const numberOfText = "CAST(text AS FLOAT64) makes a number of a text.";

function typeError(number: DialectErrorNumber, message: string, position: Position): DialectError {
  return new DialectError(number, message, { position });
}

function negateIf(negated: boolean, arg: Expr): Expr {
  return negated ? call("not", [arg], "BOOLEAN") : arg;
}

function bindBoolean(ast: AstExpr, scope: ExprScope): Expr {
  const arg = bindExpr(ast, scope);
  if (arg.type.name === "BOOLEAN") return arg;
  if (arg.kind === "literal" && arg.value === null) return literal(null, "BOOLEAN");
  throw typeError(2007, `this is ${arg.type.name}, a condition is BOOLEAN`, ast.position);
}

/** A sign belongs to the literal behind it, so that the least integers can be written. */
function bindNegate(ast: AstExpr, position: Position, scope: ExprScope): Expr {
  if (ast.kind === "number") return bindNumber(`-${ast.text}`, position);
  const arg = bindExpr(ast, scope);
  const operands = promoted(arg, arg);
  if (operands === undefined)
    throw typeError(2007, `there is no negative ${arg.type.name}`, position);
  return call("negate", [operands[0]], operands[2]);
}

function bindBinary(
  op: BinaryOperator,
  leftAst: AstExpr,
  rightAst: AstExpr,
  position: Position,
  scope: ExprScope,
): Expr {
  if (op === "and" || op === "or") {
    const args = [bindBoolean(leftAst, scope), bindBoolean(rightAst, scope)];
    return call(op, args, "BOOLEAN");
  }
  const [left, right] = typedNulls(bindExpr(leftAst, scope), bindExpr(rightAst, scope));
  if (comparisons.has(op)) return compare(op, left, right, position);
  if (op === "||") {
    if (!isText(left.type.name) || !isText(right.type.name)) {
      throw typeError(2007, "|| joins two texts", position);
    }
    return call("concat", [castTo(left, "VARSIZED"), castTo(right, "VARSIZED")], "VARSIZED");
  }
  const operands = promoted(left, right);
  if (operands === undefined || (integersOnly.has(op) && isFloat(operands[2]))) {
    const isJoin = op === "+" && isText(left.type.name) && isText(right.type.name);
    const hint = isJoin ? "|| joins texts." : numberOfText;
    throw new DialectError(2007, `${op} does not take ${left.type.name} and ${right.type.name}`, {
      position,
      hint: isText(left.type.name) || isText(right.type.name) ? hint : undefined,
    });
  }
  const fn = arithmetic.get(op) as FunctionName;
  return call(fn, operands.slice(0, 2) as Expr[], operands[2]);
}

/** NULL takes the type of the other operand. */
function typedNulls(left: Expr, right: Expr): readonly [Expr, Expr] {
  if (left.kind === "literal" && left.value === null) return [castTo(left, right.type.name), right];
  if (right.kind === "literal" && right.value === null)
    return [left, castTo(right, left.type.name)];
  return [left, right];
}

export function compare(op: BinaryOperator, left: Expr, right: Expr, position: Position): Expr {
  const [typedLeft, typedRight] = typedNulls(left, right);
  const type = comparableType(typedLeft.type.name, typedRight.type.name);
  if (type === undefined) {
    const message = `${left.type.name} and ${right.type.name} cannot be compared`;
    throw new DialectError(2007, message, {
      position,
      hint: "Convert one of them: CAST(… AS type).",
    });
  }
  const fn = comparisons.get(op) as FunctionName;
  const args = [castTo(typedLeft, type), castTo(typedRight, type)];
  return call(fn, args, "BOOLEAN", fn === "null_safe_equal" ? false : undefined);
}

function bindIn(ast: AstExpr & { readonly kind: "in" }, scope: ExprScope): Expr {
  const arg = bindExpr(ast.arg, scope);
  const terms = ast.list.map((item) => compare("=", arg, bindExpr(item, scope), item.position));
  return negateIf(ast.negated, balanced("or", terms) as Expr);
}

function bindIs(ast: AstExpr & { readonly kind: "is" }, scope: ExprScope): Expr {
  const arg = bindExpr(ast.arg, scope);
  switch (ast.what) {
    case "null":
      return call(ast.negated ? "is_not_null" : "is_null", [arg], "BOOLEAN", false);
    case "nan":
      return negateIf(ast.negated, isNan(arg, ast.position));
    default: {
      if (arg.type.name !== "BOOLEAN") {
        throw typeError(2007, `this is ${arg.type.name}, not BOOLEAN`, ast.position);
      }
      const same = { ...trueLiteral, value: ast.what === "true" } as Expr;
      const equal = call("null_safe_equal", [arg, same], "BOOLEAN", false);
      return negateIf(ast.negated, equal);
    }
  }
}

/** NULL for NULL: what is not equal to itself is NaN. */
function isNan(arg: Expr, position: Position): Expr {
  if (!isNumeric(arg.type.name)) {
    throw typeError(2007, `NaN is a number, this is ${arg.type.name}`, position);
  }
  if (isFloat(arg.type.name) && !arg.type.nullable) return call("is_nan", [arg], "BOOLEAN", false);
  return call("not_equal", [arg, arg], "BOOLEAN");
}

function bindCase(ast: AstExpr & { readonly kind: "case" }, scope: ExprScope): Expr {
  const operand = ast.operand && bindExpr(ast.operand, scope);
  const conditions = ast.branches.map(({ when }) =>
    operand === undefined
      ? bindBoolean(when, scope)
      : compare("=", operand, bindExpr(when, scope), when.position),
  );
  const results = ast.branches.map(({ result }) => bindExpr(result, scope));
  const otherwise = ast.otherwise && bindExpr(ast.otherwise, scope);
  return makeCase(conditions, results, otherwise, ast.position);
}

function makeCase(
  conditions: readonly Expr[],
  results: readonly Expr[],
  otherwise: Expr | undefined,
  position: Position,
): Expr {
  const unified = unify(otherwise === undefined ? results : [...results, otherwise]);
  if (unified === undefined) {
    const types = [...results, ...(otherwise ? [otherwise] : [])].map((one) => one.type.name);
    throw typeError(2006, `the results have different types: ${types.join(", ")}`, position);
  }
  const branches = conditions.map((when, index) => branch(when, unified[index] as Expr));
  const last = otherwise === undefined ? undefined : unified.at(-1);
  const nullable = last === undefined || unified.some((one) => one.type.nullable);
  const type = { name: (unified[0] as Expr).type.name, nullable };
  return { kind: "case", branches, otherwise: last, type };
}

function bindCast(arg: Expr, type: TypeName, lenient: boolean, position: Position): Expr {
  const from = arg.type.name;
  if (from === type) return arg;
  if (arg.kind === "literal" && arg.value === null) return castTo(arg, type);
  if (isNumeric(from) && (isNumeric(type) || type === "BOOLEAN")) return castTo(arg, type);
  if (from === "BOOLEAN" && isNumeric(type)) return castTo(arg, type);
  if (isText(from) && isNumeric(type)) return toNumber(arg, type, lenient);
  if (type === "VARSIZED") return toText(arg);
  if (from === "VARSIZED" && type === "CHAR" && arg.kind === "literal") {
    return constructLiteral(arg, type, position);
  }
  throw typeError(2006, `${from} cannot become ${type}`, position);
}

/** Functions that have no signature. */
const otherFunctions: readonly string[] = ["CONDITIONAL", "ISNAN"];

function bindCall(ast: AstCall, scope: ExprScope): Expr {
  const name = ast.name.toUpperCase();
  const { position } = ast;
  if (typeNames.has(name)) return bindConstructor(ast, name as TypeName, scope);
  if (isAggregateName(name) && ast.over === undefined) {
    throw new DialectError(2000, `the aggregate ${ast.name} does not stand here`, {
      position,
      hint: "Aggregates stand in SELECT, HAVING and QUALIFY of a query with a WINDOW.",
    });
  }
  if (ast.over !== undefined || ast.filter !== undefined || ast.distinct || ast.star) {
    throw typeError(2000, `${ast.name} does not take OVER, FILTER, DISTINCT or * here`, position);
  }
  const signature = functions.get(name);
  if (signature === undefined && !otherFunctions.includes(name)) {
    throw new DialectError(2015, `there is no function ${ast.name}`, {
      position,
      hint: didYouMean(ast.name, [...functions.keys(), ...otherFunctions, ...aggregateNames()]),
    });
  }
  const args = ast.args.map((arg) => bindExpr(arg, scope));
  if (name === "CONDITIONAL") return bindConditional(args, position);
  if (name === "ISNAN") {
    checkCount(ast.name, args, 1, 1, position);
    return isNan(args[0] as Expr, position);
  }
  assert(signature !== undefined, "the others were bound above");
  return applySignature(ast, signature, args);
}

function applySignature(ast: AstCall, signature: FunctionSignature, args: readonly Expr[]): Expr {
  const { position, name } = ast;
  const most = signature.variadic === true ? 255 : signature.args.length;
  checkCount(name, args, signature.args.length - (signature.optional ?? 0), most, position);
  for (const [index, arg] of args.entries()) {
    const kind = signature.args[Math.min(index, signature.args.length - 1)] ?? "any";
    const at = (ast.args[index] as AstExpr).position;
    if (isOfKind(arg, kind)) {
      if (kind === "pattern") checkPattern(arg, at);
      if (kind === "group") checkGroup(args[index - 1] as Expr, arg, at);
      continue;
    }
    const message = `argument ${index + 1} of ${name} is ${arg.type.name}, expected ${describeKind(kind)}`;
    throw typeError(2006, message, at);
  }
  const bound = signature.build(args);
  if (bound === undefined) throw typeError(2006, `${name} does not take these arguments`, position);
  return bound;
}

function checkCount(
  name: string,
  args: readonly Expr[],
  least: number,
  most: number,
  position: Position,
): void {
  if (args.length >= least && args.length <= most) return;
  const expected = least === most ? `${least}` : `${least} to ${most}`;
  throw typeError(2002, `${name} has ${args.length} arguments, expected ${expected}`, position);
}

function bindConditional(args: readonly Expr[], position: Position): Expr {
  if (args.length < 3 || args.length % 2 === 0) {
    throw new DialectError(2002, `Conditional has ${args.length} arguments`, {
      position,
      hint: "Write Conditional(condition, result, …, otherwise).",
    });
  }
  const conditions = args.slice(0, -1).filter((_, index) => index % 2 === 0);
  const results = args.slice(0, -1).filter((_, index) => index % 2 === 1);
  for (const condition of conditions) {
    if (condition.type.name === "BOOLEAN") continue;
    throw typeError(2006, `a condition is ${condition.type.name}, expected BOOLEAN`, position);
  }
  return makeCase(conditions, results, args.at(-1) as Expr, position);
}

/** `UINT8(1)`: a literal of that type, or a conversion. */
function bindConstructor(ast: AstCall, type: TypeName, scope: ExprScope): Expr {
  if (ast.args.length !== 1 || ast.star || ast.over !== undefined) {
    throw typeError(2000, `${type} takes one value`, ast.position);
  }
  const arg = bindExpr(ast.args[0] as AstExpr, scope);
  if (arg.kind === "literal") return constructLiteral(arg, type, ast.position);
  return bindCast(arg, type, false, ast.position);
}

/** A condition of WHERE, HAVING, FILTER or ON. */
export function bindCondition(ast: AstExpr, scope: ExprScope, clause: string): Expr {
  const condition = bindExpr(ast, scope);
  if (condition.type.name === "BOOLEAN") return condition;
  if (condition.kind === "literal" && condition.value === null) return literal(null, "BOOLEAN");
  throw typeError(2003, `${clause} is ${condition.type.name}, expected BOOLEAN`, ast.position);
}
