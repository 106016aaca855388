/** Three-valued logic, NULL and choices. What is not needed for a row is not computed for it. */
import type { Expr, FunctionName } from "../../../language/core/index.ts";
import { comparedOperands, comparison } from "./generate-arithmetic.ts";
import {
  anyNull,
  asFixed,
  declareResult,
  fixed,
  type Generate,
  not,
  type Operand,
  type Result,
  type Source,
} from "./source.ts";

type Call = Extract<Expr, { readonly kind: "call" }>;
type Case = Extract<Expr, { readonly kind: "case" }>;
type Make = (source: Source, call: Call, generate: Generate) => Operand;

/** AND and OR: the right side is computed only where the left one does not settle it. */
function connective(settles: boolean): Make {
  return (source, call, generate) => {
    const [first, ...others] = call.args as [Expr, ...Expr[]];
    let left = asFixed(generate(source, first));
    for (const other of others) left = join(source, left, other, settles, generate);
    return left;
  };
}

function join(
  source: Source,
  left: { readonly value: string; readonly isNull: string },
  right: Expr,
  settles: boolean,
  generate: Generate,
): ReturnType<typeof fixed> {
  const value = source.name();
  source.line(`let ${value} = ${settles}, ${value}n = false;`);
  const undecided = settles ? `!${left.value}` : left.value;
  const condition = left.isNull === "false" ? undecided : `(${left.isNull}) || ${undecided}`;
  source.line(`if (${condition}) {`);
  const other = asFixed(generate(source, right));
  const isNull = anyNull(left.isNull, other.isNull);
  const settled = settles ? other.value : `!${other.value}`;
  if (isNull === "false") {
    source.line(`${value} = ${other.value};`);
  } else {
    source.line(`if (${not(other.isNull)} && ${settled}) ${value} = ${settles};`);
    source.line(`else if (${isNull}) ${value}n = true;`);
    source.line(`else ${value} = ${!settles};`);
  }
  source.line("}");
  return fixed(value, isNull === "false" ? "false" : `${value}n`);
}

/** Adds branches to a result until one cannot be NULL. */
function coalesce(source: Source, args: readonly Expr[], result: Result, generate: Generate): void {
  const [first, ...others] = args as [Expr, ...Expr[]];
  const operand = generate(source, first);
  if (others.length === 0 || operand.isNull === "false") {
    result.assign(operand);
    return;
  }
  source.line(`if (${not(operand.isNull)}) {`);
  result.assign({ ...operand, isNull: "false" });
  source.line("} else {");
  coalesce(source, others, result, generate);
  source.line("}");
}

export function generateCase(source: Source, expr: Case, generate: Generate): Operand {
  const result = declareResult(source, expr.type.name, true);
  for (const { when, then } of expr.branches) {
    const condition = asFixed(generate(source, when));
    const taken =
      condition.isNull === "false"
        ? condition.value
        : `${not(condition.isNull)} && ${condition.value}`;
    source.line(`if (${taken}) {`);
    result.assign(generate(source, then));
    source.line("} else {");
  }
  if (expr.otherwise !== undefined) result.assign(generate(source, expr.otherwise));
  else source.line(`${result.operand.isNull} = true;`);
  source.line("}".repeat(expr.branches.length));
  return result.operand;
}

export const logicFunctions: Partial<Readonly<Record<FunctionName, Make>>> = {
  and: connective(false),
  or: connective(true),
  not: (source, call, generate) => {
    const operand = asFixed(generate(source, (call.args as [Expr])[0]));
    return fixed(source.local(`!${operand.value}`), operand.isNull);
  },
  is_null: (source, call, generate) =>
    fixed(source.local(generate(source, (call.args as [Expr])[0]).isNull)),
  is_not_null: (source, call, generate) =>
    fixed(source.local(not(generate(source, (call.args as [Expr])[0]).isNull))),
  null_safe_equal: (source, call, generate) => {
    const [a, b] = comparedOperands(source, call, generate);
    const equal = comparison(source, "equal", a, b);
    const none = not(anyNull(a.isNull, b.isNull));
    return fixed(source.local(`(${none} && ${equal}) || ((${a.isNull}) && (${b.isNull}))`));
  },
  coalesce: (source, call, generate) => {
    const result = declareResult(source, call.type.name, true);
    coalesce(source, call.args, result, generate);
    return result.operand;
  },
  nullif: (source, call, generate) => {
    const [a, b] = comparedOperands(source, call, generate);
    const equal = comparison(source, "equal", a, b);
    const isEqual = b.isNull === "false" ? equal : `(${not(b.isNull)} && ${equal})`;
    return {
      ...a,
      isNull: source.local(a.isNull === "false" ? isEqual : `${a.isNull} || ${isEqual}`),
    };
  },
};
