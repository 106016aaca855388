/**
 * The CRC-32 of a file: a bit that flipped, or any burst of up to 32, is always seen; other damage
 * in all but one case of four billion. It is no defence against somebody who writes a file on
 * purpose. Node computes 4 GB a second of it.
 *
 * Files of up to 1 MiB (0.3 ms) are read here; larger ones in a thread, which begins with the first
 * of them and ends when there was none for a while, so that whoever answers heartbeats never
 * computes.
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

/** Errors of files keep their codes, as if the file had been read here. */
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
      execArgv: [], // Those of whoever runs us may be for a text on the command line.
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    },
  });
}
