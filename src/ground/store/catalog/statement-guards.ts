/**
 * Guards of the `db` that transaction bodies get. They refuse a change of a watched table that
 * bypasses the log, because no subscriber would see it, and a write in a read transaction. Raw SQL
 * is not checked.
 */
import type {
  Kysely,
  KyselyPlugin,
  OperationNode,
  PluginTransformQueryArgs,
  RootOperationNode,
} from "kysely";
import { assert } from "../../kernel/errors.ts";
import { type ControlSchema, type WatchedTables, watchedColumns } from "../core/schema.ts";

/** For transactions that write. */
export function refuseUnloggedWrites(
  db: Kysely<ControlSchema>,
  watched: WatchedTables,
): Kysely<ControlSchema> {
  return db.withPlugin(
    guard((node) => {
      const table = changedTables(node).find((each) => watchedColumns(watched, each) !== undefined);
      assert(table === undefined, `${table} is changed through CatalogTx, so that it is logged`);
    }),
  );
}

/** For transactions that read. */
export function refuseWrites(db: Kysely<ControlSchema>): Kysely<ControlSchema> {
  return db.withPlugin(readGuard);
}

const readGuard = guard((node) => {
  const [table] = changedTables(node);
  assert(table === undefined, `${table} is not changed in a transaction for reading`);
});

function guard(check: (node: RootOperationNode) => void): KyselyPlugin {
  return {
    transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
      check(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

function changedTables(node: RootOperationNode): string[] {
  switch (node.kind) {
    case "InsertQueryNode":
      return node.into === undefined ? [] : tableNames(node.into);
    case "UpdateQueryNode":
      return node.table === undefined ? [] : tableNames(node.table);
    case "DeleteQueryNode":
      return node.from.froms.flatMap(tableNames);
    default:
      return [];
  }
}

function tableNames(node: OperationNode): string[] {
  if ("node" in node) return tableNames(node.node as OperationNode); // An alias.
  if (node.kind !== "TableNode") return [];
  const { table } = node as OperationNode & { table: { identifier: { name: string } } };
  return [table.identifier.name];
}
