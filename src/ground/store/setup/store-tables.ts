/** Every table of the schema, each after those that it refers to. */
import { assert } from "../../kernel/errors.ts";
import { readMigrations } from "./migrations.ts";

export function storeTables(): readonly string[] {
  const references = new Map<string, Set<string>>();
  for (const { text } of readMigrations()) {
    const withoutComments = text.replaceAll(/--[^\n]*/g, "");
    for (const statement of withoutComments.split(";")) {
      const created = /CREATE TABLE (\w+)/.exec(statement)?.[1];
      const changed = /ALTER TABLE (\w+)/.exec(statement)?.[1];
      const table = created ?? changed;
      if (table === undefined) continue;
      const known = references.get(table) ?? new Set<string>();
      for (const [, other = ""] of statement.matchAll(/REFERENCES (\w+)/g)) known.add(other);
      references.set(table, known);
      const dropped = /DROP TABLE (\w+)/.exec(statement)?.[1];
      if (dropped !== undefined) references.delete(dropped);
    }
  }
  const ordered: string[] = [];
  while (ordered.length < references.size) {
    const next = [...references].find(
      ([table, others]) =>
        !ordered.includes(table) &&
        [...others].every((other) => other === table || ordered.includes(other)),
    );
    assert(next !== undefined, "no tables refer to each other in a circle");
    ordered.push(next[0]);
  }
  return ordered;
}
