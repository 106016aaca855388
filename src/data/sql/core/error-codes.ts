/** The error codes of SQL statements. */
import { declareErrorCodes } from "../../../ground/kernel/error-codes.ts";

const codes = declareErrorCodes({
  bad_sql: { status: 400, work: "never" },
  statement_too_large: { status: 422, work: "never" },
});

declare module "../../../ground/kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof codes, true> {}
}
