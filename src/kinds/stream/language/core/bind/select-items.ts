/** The list behind SELECT: asterisks are expanded, and every column has a name. */
import { DialectError, type Position } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import type { AstSelectItem } from "../parse/ast.ts";
import { columnAt, isQualifiedBy, type ScopeColumn, unknownQualifier } from "./scope.ts";

export interface OutputColumn {
  readonly name: string;
  readonly qualifier: string | undefined;
  readonly expr: Expr;
  readonly position: Position;
}

/** `bind` gives an expression its meaning, and the name that it has without an alias. */
export function bindItems(
  items: readonly AstSelectItem[],
  columns: readonly ScopeColumn[],
  bind: (item: AstSelectItem & { readonly kind: "expr" }) => {
    readonly expr: Expr;
    readonly name: string;
    readonly qualifier: string | undefined;
  },
): readonly OutputColumn[] {
  const outputs = items.flatMap((item): readonly OutputColumn[] => {
    if (item.kind === "star") return expandStar(item, columns);
    const { expr, name, qualifier } = bind(item);
    const { alias, position } = item;
    if (alias === undefined) return [{ name, qualifier, expr, position }];
    return [{ name: alias, qualifier: undefined, expr, position }];
  });
  refuseDuplicates(outputs);
  return outputs;
}

function expandStar(
  item: AstSelectItem & { readonly kind: "star" },
  columns: readonly ScopeColumn[],
): readonly OutputColumn[] {
  const { qualifier, position } = item;
  const chosen = columns.flatMap((one, index): readonly OutputColumn[] => {
    if (qualifier !== undefined && !isQualifiedBy(one, qualifier)) return [];
    const expr = columnAt(columns, index);
    return [{ name: one.name, qualifier: one.qualifier, expr, position }];
  });
  if (chosen.length === 0 && qualifier !== undefined) {
    throw unknownQualifier(columns, qualifier, position);
  }
  return chosen;
}

function refuseDuplicates(outputs: readonly OutputColumn[]): void {
  const seen = new Set<string>();
  for (const { name, position } of outputs) {
    const key = name.toUpperCase();
    if (seen.has(key)) {
      throw new DialectError(2003, `two columns of the result are named ${name}`, {
        position,
        hint: "Give one of them another name with AS.",
      });
    }
    seen.add(key);
  }
}
