/** Runs a compaction in a thread made for it. */
import { Worker } from "node:worker_threads";
import { decodeError, type ErrorData } from "../../kernel/error-codec.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import type { SegmentInfo } from "../core/model.ts";
import type { CompactionRequest } from "./compact-block.ts";

export type CompactionAnswer =
  | { readonly kind: "done"; readonly segments: readonly SegmentInfo[] }
  | { readonly kind: "failed"; readonly error: ErrorData };

/** An abort ends the thread; what it leaves in the lake is swept as orphans are. */
export async function compactInThread(
  request: CompactionRequest,
  signal: AbortSignal,
): Promise<readonly SegmentInfo[]> {
  if (signal.aborted)
    throw new OperatingError("cancelled", "never", "it was stopped before it began");
  const thread = new Worker(siblingModule(import.meta.url, "./compaction-thread"), {
    workerData: request,
    name: "compaction",
  });
  const stop = (): void => void thread.terminate();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await answerOf(thread, signal);
  } finally {
    signal.removeEventListener("abort", stop);
    await thread.terminate();
  }
}

function answerOf(thread: Worker, signal: AbortSignal): Promise<readonly SegmentInfo[]> {
  return new Promise((resolve, reject) => {
    thread.once("message", (answer: CompactionAnswer) => {
      if (answer.kind === "done") resolve(answer.segments);
      else reject(decodeError(answer.error));
    });
    thread.once("error", (thrown) => {
      const message = `the compaction broke: ${messageOf(thrown)}`;
      reject(new OperatingError("store_unavailable", "backoff", message, { cause: thrown }));
    });
    thread.once("exit", () => {
      const code = signal.aborted ? "cancelled" : "store_unavailable";
      reject(new OperatingError(code, "backoff", "the compaction ended without a result"));
    });
  });
}
