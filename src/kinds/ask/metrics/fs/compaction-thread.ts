/** Compaction's own thread: it computes for seconds, and nobody else should wait for that. */
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
  // A mistake of ours costs this compaction, and no more.
  { translate: (thrown) => compactionBroke(new Error(messageOf(thrown))) },
);
