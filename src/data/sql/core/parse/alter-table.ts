/** ALTER TABLE and DROP TABLE. */
import type { AlterTable, Statement } from "../statement.ts";
import type { TokenCursor } from "../token-cursor.ts";
import { columnDefinition } from "./create-table.ts";

/** After ALTER TABLE. */
export function parseAlterTable(cursor: TokenCursor): Statement {
  if (cursor.isAt("IF", "EXISTS")) throw cursor.fail("ALTER TABLE IF EXISTS is not supported");
  const table = cursor.tableName();
  const change = alteration(cursor);
  if (cursor.isAtSymbol(",")) throw cursor.fail("one change at a time");
  cursor.end();
  return { kind: "alterTable", table, change };
}

function alteration(cursor: TokenCursor): AlterTable {
  if (cursor.take("ADD")) return addColumn(cursor);
  if (cursor.take("DROP")) return dropColumn(cursor);
  if (cursor.take("RENAME")) return rename(cursor);
  if (cursor.isAt("ALTER")) {
    const hint = "Columns can be added, dropped and renamed.";
    throw cursor.fail("ALTER COLUMN is not supported", hint);
  }
  if (cursor.isAt("SET", "SCHEMA")) throw cursor.fail("SET SCHEMA is not supported");
  throw cursor.unexpected("ADD, DROP or RENAME");
}

function addColumn(cursor: TokenCursor): AlterTable {
  const constraints = ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"];
  if (constraints.includes(cursor.keyword())) {
    throw cursor.fail("constraints are not supported", "Columns can be added.");
  }
  cursor.take("COLUMN");
  const ifNotExists = cursor.take("IF", "NOT", "EXISTS");
  return { kind: "addColumn", column: columnDefinition(cursor, new Set()), ifNotExists };
}

function dropColumn(cursor: TokenCursor): AlterTable {
  if (cursor.isAt("CONSTRAINT")) throw cursor.fail("constraints are not supported");
  cursor.take("COLUMN");
  const ifExists = cursor.take("IF", "EXISTS");
  const column = plainColumn(cursor);
  refuseCascade(cursor);
  return { kind: "dropColumn", column, ifExists };
}

function rename(cursor: TokenCursor): AlterTable {
  if (cursor.take("TO")) {
    const to = cursor.name("the new name of the table");
    if (cursor.isAtSymbol(".")) throw cursor.fail("a renamed table stays in its schema");
    return { kind: "renameTable", to };
  }
  cursor.take("COLUMN");
  const column = plainColumn(cursor);
  cursor.expect("TO");
  return { kind: "renameColumn", column, to: cursor.name("the new name of the column") };
}

function plainColumn(cursor: TokenCursor): string {
  const column = cursor.name("the name of a column");
  if (cursor.isAtSymbol(".")) throw cursor.fail("fields of a STRUCT cannot be changed");
  return column;
}

/** After DROP TABLE, or another kind's word for a table. */
export function parseDropTable(cursor: TokenCursor): Extract<Statement, { kind: "dropTable" }> {
  const ifExists = cursor.take("IF", "EXISTS");
  const table = cursor.tableName();
  if (cursor.isAtSymbol(",")) throw cursor.fail("one table at a time");
  refuseCascade(cursor);
  cursor.end();
  return { kind: "dropTable", table, ifExists };
}

function refuseCascade(cursor: TokenCursor): void {
  if (cursor.take("RESTRICT")) return; // The default anyway.
  if (cursor.isAt("CASCADE")) {
    throw cursor.fail("CASCADE is not supported", "Drop the tables that read it first.");
  }
}
