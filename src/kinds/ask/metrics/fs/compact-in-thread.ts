/** Runs one compaction in a thread of its own. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import { startThread } from "../../../../ground/threads/index.ts";
import type { SegmentInfo } from "../core/model.ts";
import type { CompactionRequest } from "./compact-block.ts";

export interface CompactionThread {
  readonly requests: { compact(request: CompactionRequest): readonly SegmentInfo[] };
  readonly notes: Record<never, never>;
}

/** An abort ends the thread; its files in the lake are swept as orphans. */
export async function compactInThread(
  request: CompactionRequest,
  signal: AbortSignal,
): Promise<readonly SegmentInfo[]> {
  if (signal.aborted)
    throw new OperatingError("cancelled", "never", "it was stopped before it began");
  const thread = startThread<CompactionThread>({
    module: siblingModule(import.meta.url, "./compaction-thread"),
    clock: realClock,
    lost: compactionBroke,
    worker: { name: "compaction" },
  });
  try {
    return await thread.ask("compact", request, { signal, whenAborted: "leave" });
  } finally {
    await thread.kill();
  }
}

export function compactionBroke(cause: Error): OperatingError {
  const message = `the compaction broke: ${cause.message}`;
  return new OperatingError("store_unavailable", "backoff", message, { cause });
}
