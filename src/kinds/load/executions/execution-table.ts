/** The lake's table of executions: its columns are the fields of `QueryExecution`. */
import type { NewColumn } from "../../../data/lake/index.ts";
import { executionTypes } from "../core/query-execution.ts";

export const executionTable = "query_executions";

export const executionColumns: readonly NewColumn[] = Object.entries(executionTypes).map(
  ([name, definition]) => ({
    name,
    type: definition.replace(" NOT NULL", ""),
    nullable: !definition.endsWith(" NOT NULL"),
    defaultValue: undefined,
  }),
);
