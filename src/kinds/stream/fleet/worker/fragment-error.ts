/** What is told of an error of a fragment. */
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { DialectError } from "../../language/core/index.ts";
import type { FragmentError } from "../core/index.ts";

/**
 * A number below 3000 is of the plan or its settings, and comes again wherever it is tried. What
 * fails while it runs may be the data's, and is tried again a few times (SD19).
 */
const runningNumberMin = 3_000;

export function fragmentErrorOf(thrown: unknown): FragmentError {
  if (thrown instanceof DialectError) {
    const { errorName: code, number, message } = thrown;
    return { code, number, message, retry: number < runningNumberMin ? "never" : "backoff" };
  }
  if (thrown instanceof OperatingError) {
    const { code, number, message, retry } = thrown;
    return { code, number, message, retry };
  }
  const error = { code: "query_failed", number: undefined, message: messageOf(thrown) };
  return { ...error, retry: "backoff" };
}
