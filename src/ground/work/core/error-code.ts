/** Converts errors that travelled as text to those of this version. */
import { parseErrorCode, ruleOfCode } from "../../kernel/error-codes.ts";
import { detailsOf, type ErrorDetails, OperatingError } from "../../kernel/errors.ts";

interface QueryFailure extends ErrorDetails {
  readonly code: string;
  readonly message: string;
}

/** A code that no work may fail with becomes `query_failed`, and is named in the message. */
export function errorOfQuery(failure: QueryFailure): OperatingError {
  const { code, message } = failure;
  const details = detailsOf(failure);
  const known = parseErrorCode(code);
  const retry = ruleOfCode(code)?.work;
  if (known !== undefined && retry !== undefined) {
    return new OperatingError(known, retry, message, details);
  }
  return new OperatingError("query_failed", "never", `${message} (${code})`, details);
}
