/**
 * An expression over several lines where one would be longer than 100 bytes, as Prometheus's `format_query` breaks
 * it.
 */
import type { Expr } from "../ast.ts";
import { printAggregation, printOperator, printSubquerySuffix, printWith } from "./print-expr.ts";

const lineBytesMax = 100;

export function formatExpr(expr: Expr): string {
  return new Formatter().format(expr, 0);
}

/** Every node's line is needed to decide whether it is broken, and again within its parent's. */
class Formatter {
  readonly #lines = new Map<Expr, string>();

  format(expr: Expr, level: number): string {
    const indent = "  ".repeat(level);
    switch (expr.kind) {
      case "number":
      case "string":
      case "vectorSelector":
      case "matrixSelector":
        return `${indent}${this.#line(expr)}`;
      case "subquery":
        // Unbroken, it stands where its parent left off: without indent.
        return this.#fits(expr)
          ? this.#line(expr)
          : `${this.format(expr.expr, level)}${printSubquerySuffix(expr)}`;
      case "unary":
        return `${indent}${expr.op}${this.format(expr.expr, level).trim()}`;
      case "paren":
      case "call":
      case "aggregate":
      case "binary":
        return this.#fits(expr) ? `${indent}${this.#line(expr)}` : this.#broken(expr, level);
    }
  }

  #broken(expr: Expr, level: number): string {
    const indent = "  ".repeat(level);
    const deeper = level + 1;
    switch (expr.kind) {
      case "paren":
        return `${indent}(\n${this.format(expr.expr, deeper)}\n${indent})`;
      case "call": {
        const args = expr.args.map((arg) => this.format(arg, deeper));
        return `${indent}${expr.name}(\n${args.join(",\n")}\n${indent})`;
      }
      case "aggregate": {
        const param = expr.param === undefined ? "" : `${this.format(expr.param, deeper)},\n`;
        const body = `${param}${this.format(expr.expr, deeper)}`;
        return `${indent}${printAggregation(expr)}(\n${body}\n${indent})`;
      }
      case "binary": {
        const left = this.format(expr.left, deeper);
        const right = this.format(expr.right, deeper);
        return `${left}\n${indent}${printOperator(expr)}\n${right}`;
      }
      default:
        return this.#line(expr);
    }
  }

  #fits(expr: Expr): boolean {
    const line = this.#line(expr);
    if (line.length > lineBytesMax) return false;
    return new TextEncoder().encode(line).length <= lineBytesMax;
  }

  #line(expr: Expr): string {
    let line = this.#lines.get(expr);
    if (line === undefined) {
      line = printWith(expr, (operand) => this.#line(operand));
      this.#lines.set(expr, line);
    }
    return line;
  }
}
