/** The errors that end a query, in Prometheus's words where it has them. */
import "./core/error-codes.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { PromqlError } from "../promql/core/index.ts";

export function tooManyPoints(): PromqlError {
  const message =
    "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)";
  return new PromqlError("parse", message);
}

/**
 * `where` is "query queue" or "expression evaluation". `why` is what the query waited for, if
 * known.
 */
export function timedOut(where: string, why?: string): OperatingError {
  const message = `query timed out in ${where}`;
  const told = why === undefined ? message : `${message}: ${why}`;
  return new OperatingError("deadline_exceeded", "backoff", told);
}

export function canceled(): OperatingError {
  return new OperatingError("cancelled", "never", "query was canceled in expression evaluation");
}

/** The error for the caller. `reason` is why the query's signal aborted, if it did. */
export function queryError(thrown: unknown, reason: unknown): OperatingError | PromqlError {
  if (thrown instanceof AssertionError) throw thrown;
  if (reason instanceof OperatingError) return reason;
  if (thrown instanceof PromqlError) return thrown;
  if (!(thrown instanceof OperatingError)) {
    return new OperatingError("query_failed", "never", messageOf(thrown), { cause: thrown });
  }
  if (thrown.code === "bad_promql") return new PromqlError("execution", thrown.message);
  if (thrown.code === "deadline_exceeded") return timedOut("expression evaluation", thrown.hint);
  return thrown.code === "cancelled" ? canceled() : thrown;
}

/** The error for the work manager's records and metrics. Returns `undefined` for a bug of ours. */
export function operatingError(thrown: unknown): OperatingError | undefined {
  if (thrown instanceof OperatingError) return thrown;
  if (!(thrown instanceof PromqlError)) return undefined;
  return new OperatingError("bad_promql", "never", thrown.message);
}

export function resultTooLarge(bytesMax: number): OperatingError {
  const message = `the query's parts have more than ${bytesMax} bytes`;
  return new OperatingError("query_too_large", "never", message, {
    hint: "Ask for fewer series, a shorter time or a longer step, or aggregate.",
  });
}

/** For a query that ended the thread in which it ran alone. */
export function threadMemoryExceeded(heapBytesMax: number): OperatingError {
  const message = `the query needs more memory than the ${heapBytesMax} bytes of a thread that evaluates`;
  return new OperatingError("query_too_large", "never", message, {
    hint: "Ask for fewer series, a shorter time or a longer step, or aggregate.",
  });
}

export function answerTooLarge(bytesMax: number): OperatingError {
  const message = `the answer is larger than ${bytesMax} bytes`;
  return new OperatingError("query_too_large", "never", message, {
    hint: "Ask for fewer series, a shorter time or a longer step.",
  });
}

/** For a stream whose reader is too slow. */
export function tooMuchWaits(bytesMax: number): OperatingError {
  const message = `more than ${bytesMax} bytes of results wait for slow readers`;
  return new OperatingError("overloaded", "backoff", message, {
    hint: "Read faster, ask for less, or try again in a moment.",
  });
}
