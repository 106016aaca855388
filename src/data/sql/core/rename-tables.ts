/**
 * Replaces the tables of a SELECT, in its tree or in its text. Run the text: `json_deserialize_sql`
 * of DuckDB 1.5 changes some trees (SQ33). The tree is for reading.
 */

import { badSql } from "./bad-sql.ts";
import { nameKey } from "./names.ts";
import { quoteName } from "./quote.ts";
import {
  type NewTable,
  planRenames,
  type Rename,
  type RenamedTable,
  type RenameOptions,
} from "./rename-plan.ts";
import { positionOf, type SelectTree } from "./select-tree.ts";
import { isExactNumber, isTreeNode, type TreeNode } from "./serialized-sql.ts";
import { keywordOf, type Token, tokenize } from "./tokens.ts";

const main: RenameOptions = { defaultSchema: "main" };

export function renameTables(
  tree: SelectTree,
  rename: Rename,
  options: RenameOptions = main,
): SelectTree {
  const { tables, columns, starColumns } = planRenames(tree, rename, options);
  return { statement: rebuild(tree.statement) as TreeNode, sql: tree.sql };

  function rebuild(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(rebuild);
    if (!isTreeNode(value) || isExactNumber(value)) return value;
    const table = tables.get(value);
    if (table !== undefined) return renamedTable(value, table);
    const column = columns.get(value);
    if (column !== undefined && Array.isArray(value.column_names)) {
      const names = [column.alias, ...value.column_names.slice(column.length)];
      return { ...value, column_names: names };
    }
    const starColumn = starColumns.get(value);
    if (starColumn !== undefined) {
      return { ...value, catalog: "", schema: "", table: starColumn.alias };
    }
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, rebuild(child)]));
  }
}

function renamedTable(node: TreeNode, { to, alias }: RenamedTable): TreeNode {
  return {
    ...node,
    catalog_name: to.catalog ?? "",
    schema_name: to.schema ?? "",
    table_name: to.name,
    alias,
    at_clause: null,
  };
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The SELECT as a text. Columns that DuckDB names after a subquery's text change their name. */
export function renameTablesInText(
  tree: SelectTree,
  rename: Rename,
  options: RenameOptions = main,
): string {
  const { sql } = tree;
  const { tables, columns, starColumns } = planRenames(tree, rename, options);
  const tokens = tokenize(sql);
  const indexes = new Map(tokens.map(({ position }, index) => [position, index]));
  // By position: DuckDB's tree may contain one part of the text twice.
  const edits = new Map<number, Edit>();
  for (const [node, table] of tables) {
    for (const edit of editsOfTable(indexOf(node), table)) edits.set(edit.from, edit);
  }
  for (const [node, { length, alias }] of columns) {
    const index = indexOf(node);
    replaceTokens(index, index + 2 * length - 1, quoteName(alias));
  }
  for (const [node, { star, alias }] of starColumns) {
    const parts = [node.catalog, node.schema, node.table].filter((part) => part !== "").map(String);
    const index = indexOfName(indexOf(star), parts);
    replaceTokens(index, index + 2 * parts.length - 1, quoteName(alias));
  }
  return apply(sql, [...edits.values()]);

  function indexOf(node: TreeNode): number {
    const index = indexes.get(positionOf(node, sql) ?? -1);
    if (index === undefined) throw badSql("a table's place was not understood", sql, undefined);
    return index;
  }

  function editsOfTable(index: number, { use, to, alias }: RenamedTable): readonly Edit[] {
    const names = [use.catalog, use.schema, use.name].filter((part) => part !== undefined);
    const end = index + 2 * names.length - 1;
    checkNames(index, names);
    const isBare = withoutAlias.has(keywordOf(tokens[index - 1]));
    const suffix = use.alias === undefined && !isBare ? ` AS ${quoteName(alias)}` : "";
    const name = { ...span(index, end), text: `${quoteTable(to)}${suffix}` };
    if (use.at.kind === "current") return [name];
    // Between the name and AT there is at most an alias, with names of columns.
    const at = tokens.findIndex((token, place) => place >= end && keywordOf(token) === "AT");
    return [name, { ...span(at, closingOf(tokens, at + 1) + 1), text: "" }];
  }

  function checkNames(index: number, names: readonly string[]): void {
    const isThere = names.every((name, part) => {
      const token = tokens[index + 2 * part];
      return nameKey(token?.value ?? "") === nameKey(name);
    });
    if (isThere) return;
    throw badSql("a table's name was not understood", sql, tokens[index]?.position);
  }

  function indexOfName(from: number, names: readonly string[]): number {
    const index = tokens.findIndex(
      (_token, at) =>
        at >= from &&
        names.every((name, part) => nameKey(tokens[at + 2 * part]?.value ?? "") === nameKey(name)),
    );
    if (index < 0) throw badSql("a column's name was not understood", sql, tokens[from]?.position);
    return index;
  }

  function replaceTokens(index: number, end: number, text: string): void {
    const edit = { ...span(index, end), text };
    edits.set(edit.from, edit);
  }

  function span(index: number, end: number): { from: number; to: number } {
    const last = tokens[end - 1];
    return {
      from: tokens[index]?.position ?? sql.length,
      to: last === undefined ? sql.length : last.position + last.text.length,
    };
  }
}

/** A table after these words has no alias. */
const withoutAlias: ReadonlySet<string> = new Set("DESCRIBE DESC SHOW SUMMARIZE TABLE".split(" "));

/** The index of the bracket that closes the one at `index`. */
function closingOf(tokens: readonly Token[], index: number): number {
  let depth = 0;
  for (let at = index; at < tokens.length; at += 1) {
    const { kind, text } = tokens[at] as Token;
    if (kind !== "punctuation") continue;
    if (/[([{]/.test(text)) depth += 1;
    if (/[)\]}]/.test(text)) depth -= 1;
    if (depth === 0) return at;
  }
  return tokens.length - 1;
}

function apply(sql: string, edits: readonly Edit[]): string {
  let text = "";
  let at = 0;
  for (const edit of [...edits].sort((one, other) => one.from - other.from)) {
    text += sql.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return text + sql.slice(at);
}

function quoteTable({ catalog, schema, name }: NewTable): string {
  return [catalog, schema, name]
    .flatMap((part) => (part === undefined ? [] : quoteName(part)))
    .join(".");
}
