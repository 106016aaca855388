/** The dialect's errors as codes of the whole program, and their way there. */
import { type CodeRule, declareErrorCodes } from "../../../../ground/kernel/error-codes.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { DialectError, type DialectErrorName, dialectErrors } from "./dialect-error.ts";

/** A statement that is refused is the asker's; a query that fails while it runs is its data's. */
const rules = Object.fromEntries(
  Object.entries(dialectErrors).map(([number, name]): [string, CodeRule] => [
    name,
    { status: Number(number) < 3_000 ? 400 : 422, work: "never" },
  ]),
) as Record<DialectErrorName, CodeRule>;

declareErrorCodes(rules);

declare module "../../../../ground/kernel/error-codes.ts" {
  interface ErrorCodes extends Record<DialectErrorName, true> {}
}

/** Anything else is returned as it is. */
export function translateDialectError(thrown: unknown): unknown {
  if (!(thrown instanceof DialectError)) return thrown;
  const { errorName, message, number, hint, position } = thrown;
  return new OperatingError(errorName, "never", message, {
    number,
    cause: thrown,
    ...(hint === undefined ? {} : { hint }),
    ...(position === undefined ? {} : { position }),
  });
}
