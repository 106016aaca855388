/**
 * Formats an expression over several lines if one would exceed 100 bytes, like Prometheus's
 * `format_query`. Text is never copied again, so the time is linear in the answer's length.
 */
import type { Expr } from "../ast.ts";
import { PromqlError } from "../engine-types.ts";
import { printAggregation, printOperator, printSubquerySuffix, printWith } from "./print-expr.ts";

const lineBytesMax = 100;
/** Each level indents everything within it, so the text grows with the square of the depth. */
const lengthMax = 4 * 1024 ** 2;

/** Throws `PromqlError` when the text would be too long. */
export function formatExpr(expr: Expr): string {
  const formatter = new Formatter();
  formatter.format(expr, 0);
  return formatter.text();
}

class Formatter {
  readonly #parts: string[] = [];
  /** The text of each node, or undefined when it does not fit into a line. */
  readonly #lines = new Map<Expr, string | undefined>();
  #length = 0;
  /** Whether the next text follows an operator. */
  #isIndented: boolean = false;

  text(): string {
    return this.#parts.join("");
  }

  format(expr: Expr, level: number): void {
    switch (expr.kind) {
      case "number":
      case "string":
      case "vectorSelector":
      case "matrixSelector":
        this.#indent(level);
        this.#put(printWith(expr, () => ""));
        return;
      case "unary":
        this.#indent(level);
        this.#put(expr.op);
        this.#isIndented = true;
        this.format(expr.expr, level);
        return;
      case "subquery":
        // An unbroken expression continues the parent's line, without indent.
        if (this.#putLine(expr, undefined)) return;
        this.format(expr.expr, level);
        this.#put(printSubquerySuffix(expr));
        return;
      case "binary":
        if (this.#putLine(expr, level)) return;
        this.format(expr.left, level + 1);
        this.#put("\n");
        this.#indent(level);
        this.#put(`${printOperator(expr)}\n`);
        this.format(expr.right, level + 1);
        return;
      case "paren":
        if (!this.#putLine(expr, level)) this.#within("(", [expr.expr], level);
        return;
      case "call":
        if (!this.#putLine(expr, level)) this.#within(`${expr.name}(`, expr.args, level);
        return;
      case "aggregate": {
        if (this.#putLine(expr, level)) return;
        const operands = expr.param === undefined ? [expr.expr] : [expr.param, expr.expr];
        this.#within(`${printAggregation(expr)}(`, operands, level);
        return;
      }
    }
  }

  /** Puts each operand on lines of its own. */
  #within(opening: string, operands: readonly Expr[], level: number): void {
    this.#indent(level);
    this.#put(`${opening}\n`);
    for (const [index, operand] of operands.entries()) {
      if (index > 0) this.#put(",\n");
      this.format(operand, level + 1);
    }
    this.#put("\n");
    this.#indent(level);
    this.#put(")");
  }

  /** Returns false, without writing, when it does not fit. */
  #putLine(expr: Expr, level: number | undefined): boolean {
    const line = this.#line(expr);
    if (line === undefined) return false;
    if (level !== undefined) this.#indent(level);
    this.#put(line);
    return true;
  }

  #indent(level: number): void {
    if (!this.#isIndented) this.#put("  ".repeat(level));
  }

  #put(text: string): void {
    this.#isIndented = false;
    this.#length += text.length;
    if (this.#length > lengthMax) {
      const message = `the formatted query is longer than ${lengthMax} characters`;
      throw new PromqlError("execution", message);
    }
    this.#parts.push(text);
  }

  #line(expr: Expr): string | undefined {
    if (this.#lines.has(expr)) return this.#lines.get(expr);
    let isShort: boolean = true;
    const printed = printWith(expr, (operand) => {
      const line = isShort ? this.#line(operand) : undefined;
      isShort &&= line !== undefined;
      return line ?? "";
    });
    const line = isShort && fits(printed) ? printed : undefined;
    this.#lines.set(expr, line);
    return line;
  }
}

function fits(line: string): boolean {
  if (line.length > lineBytesMax) return false;
  return new TextEncoder().encode(line).length <= lineBytesMax;
}
