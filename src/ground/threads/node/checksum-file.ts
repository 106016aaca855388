/**
 * The CRC-32 of a file. It detects every flipped bit and every burst of up to 32 bits, and other
 * damage with a probability of all but one in four billion. It is no defence against deliberate
 * changes. Node computes 4 GB/s.
 *
 * Files of up to 1 MiB (0.3 ms) are read here. Larger ones are read in a thread, so that the thread
 * that answers heartbeats never computes. It starts with the first such file and ends after a while
 * without any.
 */
import { readFile, stat } from "node:fs/promises";
import { crc32 } from "node:zlib";
import type { Timer } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { backgroundClock } from "../../kernel/node/real-clock.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import type { ErrorRules } from "../core/error-codec.ts";
import type { Peer } from "./peer.ts";
import { startThread } from "./start-thread.ts";

const ownBytesMax = 1024 * 1024;
const idleMs = 10_000;

export interface ChecksumThread {
  readonly requests: { checksum(path: string): number };
  readonly notes: Record<never, never>;
}

/** File errors keep their codes, as if the file had been read in this thread. */
export const checksumErrors: ErrorRules = {
  own: {
    encode: (thrown) => ({
      message: messageOf(thrown),
      code: (thrown as NodeJS.ErrnoException).code,
    }),
    decode: (data) => {
      const said = data as { readonly message: string; readonly code: string | undefined };
      return Object.assign(new Error(said.message), said);
    },
  },
};

let thread: Peer<ChecksumThread> | undefined;
let idle: Timer | undefined;

export async function checksumFile(path: string): Promise<number> {
  const { size } = await stat(path);
  if (size <= ownBytesMax) return crc32(await readFile(path));
  idle?.cancel();
  if (thread === undefined || thread.over !== undefined) thread = start();
  const asked = thread;
  try {
    return await asked.ask("checksum", path);
  } finally {
    if (asked === thread && asked.pendingCount === 0) {
      idle?.cancel();
      idle = backgroundClock.after(idleMs, () => void asked.stop());
    }
  }
}

function start(): Peer<ChecksumThread> {
  return startThread<ChecksumThread>({
    module: siblingModule(import.meta.url, "./checksum-thread"),
    clock: backgroundClock,
    lost: (cause) => new OperatingError("store_unavailable", "backoff", cause.message, { cause }),
    errors: checksumErrors,
    keepsAlive: "asked",
    worker: {
      name: "checksums",
      // This process's own may belong to a script given on its command line.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    },
  });
}
