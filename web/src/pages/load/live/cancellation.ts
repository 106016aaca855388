/** Reports once why a run was cancelled or failed, when it becomes known. Pure. */
import type { RunUpdate } from "../../../api/gen/types.ts";

type Told = Pick<RunUpdate, "status" | "cancellation_reason">;

/**
 * Undefined when there is nothing to report. A reason that was known when the page was opened is
 * already on the page.
 */
export function cancellationToast(
  before: Told | undefined,
  now: Told,
): { readonly title: string; readonly message: string } | undefined {
  const { cancellation_reason: reason, status } = now;
  if (before === undefined || reason === null || before.cancellation_reason === reason) {
    return undefined;
  }
  const isNatural = status === "STOPPING" || status === "COMPLETED";
  return { title: isNatural ? "The run is ending" : "The run is being stopped", message: reason };
}
