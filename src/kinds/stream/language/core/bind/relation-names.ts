/** The names of sources and views that a query reads, in capital letters. */
import type { AstQuery, AstQueryBody, AstRelation } from "../parse/ast.ts";

export function namesOfRelations(query: AstQuery, into: Set<string> = new Set()): Set<string> {
  const inner = new Set<string>();
  for (const cte of query.ctes) namesOfRelations(cte.query, inner);
  addBody(query.body, inner);
  for (const { name } of query.ctes) inner.delete(name.text.toUpperCase());
  for (const name of inner) into.add(name);
  return into;
}

function addBody(body: AstQueryBody, into: Set<string>): void {
  switch (body.kind) {
    case "select":
      addRelation(body.from, into);
      return;
    case "nested":
      namesOfRelations(body.query, into);
      return;
    case "union":
      addBody(body.left, into);
      addBody(body.right, into);
  }
}

function addRelation(relation: AstRelation, into: Set<string>): void {
  if (relation.kind === "named") into.add(relation.name.toUpperCase());
  if (relation.kind === "query") namesOfRelations(relation.query, into);
  if (relation.kind !== "join") return;
  addRelation(relation.left, into);
  if (!relation.table) addRelation(relation.right, into);
}
