/** The statement language: tokens, statements, and DuckDB's tree of a SELECT. Pure. */
import "./error-codes.ts";

export type { TableMoment } from "./at-clause.ts";
export { characterAt, pointAt } from "./bad-sql.ts";
export { isSystemTable, looksLikeFile, nameKey } from "./names.ts";
export { parseDropTable } from "./parse/alter-table.ts";
export { takeIfNotExists } from "./parse/create-table.ts";
export { selectToEnd } from "./parse/query.ts";
export { refuseStatement } from "./parse/refuse.ts";
export { type OthersAfter, parseStatement, statementVerbs } from "./parse-statement.ts";
export { quoteName, quoteText } from "./quote.ts";
export { renameTablesInText } from "./rename-tables.ts";
export { parseSelectTree } from "./select-tree.ts";
export {
  isExactNumber,
  isTreeNode,
  readSerializedSql,
  type SqlProblem,
  type TreeNode,
  textOf,
} from "./serialized-sql.ts";
export { isBlank, type OtherLanguage, splitStatements } from "./split-statements.ts";
export type {
  ColumnDefinition,
  Statement,
  TableName,
  TextSpan,
} from "./statement.ts";
export { type TableRef, tableRefs } from "./table-refs.ts";
export type { TableUse } from "./table-scope.ts";
export { TokenCursor } from "./token-cursor.ts";
export {
  duckdbRules,
  keywordOf,
  type LexicalRules,
  scanStatement,
  scanTokens,
  type Token,
} from "./tokens.ts";
export { volatilePartsOf } from "./volatile.ts";
export { wantedValues } from "./wanted-values.ts";
