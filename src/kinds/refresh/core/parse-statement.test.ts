import { join } from "node:path";
import { TokenCursor } from "../../../data/sql/core/index.ts";
import { testStatements } from "../../../data/sql/core/testing/statement-cases.ts";
import { parseDynamicStatement } from "./parse-statement.ts";

testStatements(
  join(import.meta.dirname, "testdata", "statements.slt"),
  (text) => parseDynamicStatement(new TokenCursor(text)),
  "[TD1]",
);
