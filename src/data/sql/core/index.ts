/** The statement language: tokens, statements, and DuckDB's tree of a SELECT. Pure. */
export type { TableMoment } from "./at-clause.ts";
export { characterAt, pointAt } from "./bad-sql.ts";
export { isSystemTable, looksLikeFile, nameKey } from "./names.ts";
export { parseDropTable } from "./parse/alter-table.ts";
export { takeIfNotExists } from "./parse/create-table.ts";
export { selectToEnd } from "./parse/query.ts";
export { refuseStatement } from "./parse/refuse.ts";
export { type OthersAfter, parseStatement, statementVerbs } from "./parse-statement.ts";
export { quoteName, quoteText } from "./quote.ts";
export type { NewTable, Rename, RenameOptions } from "./rename-plan.ts";
export { renameTablesInText } from "./rename-tables.ts";
export { parseSelectTree, type SelectTree } from "./select-tree.ts";
export {
  isExactNumber,
  isTreeNode,
  readSerializedSql,
  type SerializedSql,
  type SqlProblem,
  type TreeNode,
  textOf,
} from "./serialized-sql.ts";
export { isBlank, type Split, splitStatements } from "./split-statements.ts";
export type {
  AlterTable,
  ColumnDefinition,
  Statement,
  TableName,
  TextSpan,
} from "./statement.ts";
export { type TableRef, tableRefs } from "./table-refs.ts";
export type { TableUse } from "./table-scope.ts";
export { TokenCursor } from "./token-cursor.ts";
export { type LexicalRules, type Scan, scanTokens, type Token, type TokenKind } from "./tokens.ts";
export { volatilePartsOf } from "./volatile.ts";
export { wantedValues } from "./wanted-values.ts";
