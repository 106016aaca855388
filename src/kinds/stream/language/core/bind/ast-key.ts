/** A text that is the same for expressions that are written the same, wherever they stand. */
import type { AstExpr } from "../parse/ast.ts";

export function astKey(ast: AstExpr): string {
  return JSON.stringify(ast, (key, value: unknown) => {
    if (key === "position" || key === "quoted") return undefined;
    if ((key === "name" || key === "qualifier") && typeof value === "string") {
      return value.toUpperCase();
    }
    return value;
  });
}

/** Every expression below, itself included. */
export function* walkAst(ast: AstExpr): Generator<AstExpr> {
  yield ast;
  for (const value of Object.values(ast)) {
    for (const child of Array.isArray(value) ? value : [value]) yield* walkChild(child);
  }
}

function* walkChild(child: unknown): Generator<AstExpr> {
  if (typeof child !== "object" || child === null) return;
  if ("kind" in child && "position" in child) {
    yield* walkAst(child as AstExpr);
  } else {
    for (const value of Object.values(child)) {
      for (const inner of Array.isArray(value) ? value : [value]) yield* walkChild(inner);
    }
  }
}
