/** The compaction thread: a merge computes for seconds, and nothing else should wait for it. */
import "../core/error-codes.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { createSystemPrng } from "../../../../ground/kernel/node/system-random.ts";
import { servePeer } from "../../../../ground/threads/index.ts";
import { compactBlock } from "./compact-block.ts";
import { type CompactionThread, compactionBroke } from "./compact-in-thread.ts";

servePeer<CompactionThread>(
  () => ({
    requests: { compact: (request) => compactBlock(request, createSystemPrng()) },
    notes: {},
  }),
  // A bug of ours fails only this compaction.
  { translate: (thrown) => compactionBroke(new Error(messageOf(thrown))) },
);
