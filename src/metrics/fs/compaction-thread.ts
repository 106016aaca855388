/** Compaction's own thread: it computes for seconds, and nobody else should wait for that. */
import { parentPort, workerData } from "node:worker_threads";
import { encodeError } from "../../kernel/error-codec.ts";
import { assert, OperatingError } from "../../kernel/errors.ts";
import { createSystemPrng } from "../../kernel/node/system-random.ts";
import { type CompactionRequest, compactBlock } from "./compact-block.ts";
import type { CompactionAnswer } from "./compact-in-thread.ts";

const port = parentPort;
assert(port !== null, "compaction runs in a thread of its own");

function answer(message: CompactionAnswer): void {
  port?.postMessage(message);
}

try {
  const segments = await compactBlock(workerData as CompactionRequest, createSystemPrng());
  answer({ kind: "done", segments });
} catch (thrown) {
  if (!(thrown instanceof OperatingError)) throw thrown; // Our own mistake: the thread dies of it.
  answer({ kind: "failed", error: encodeError(thrown) });
}
