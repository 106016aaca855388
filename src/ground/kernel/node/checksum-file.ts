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
import { Worker } from "node:worker_threads";
import { crc32 } from "node:zlib";
import { siblingModule } from "./sibling-module.ts";

const ownBytesMax = 1024 * 1024;
const idleMs = 10_000;

export interface ChecksumAnswer {
  readonly id: number;
  readonly crc32?: number;
  readonly error?: { readonly message: string; readonly code: string | undefined };
}

export async function checksumFile(path: string): Promise<number> {
  const { size } = await stat(path);
  if (size <= ownBytesMax) return crc32(await readFile(path));
  return await askThread(path);
}

interface Waiting {
  resolve(crc: number): void;
  reject(reason: Error): void;
}

let thread: Worker | undefined;
let idle: NodeJS.Timeout | undefined;
let next = 1;
const waiting = new Map<number, Waiting>();

function askThread(path: string): Promise<number> {
  clearTimeout(idle);
  thread ??= start();
  const running = thread;
  running.ref();
  return new Promise((resolve, reject) => {
    const id = next;
    next += 1;
    waiting.set(id, { resolve, reject });
    running.postMessage({ id, path });
  });
}

function start(): Worker {
  const started = new Worker(siblingModule(import.meta.url, "./checksum-thread"), {
    name: "checksums",
    execArgv: [], // Those of whoever runs us may be for a text on the command line.
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  started.on("message", ({ id, crc32: crc, error }: ChecksumAnswer) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) asked?.reject(Object.assign(new Error(error.message), error));
    else asked?.resolve(crc ?? 0);
    if (waiting.size === 0) rest(started);
  });
  const broke = (reason: Error): void => {
    if (thread === started) thread = undefined;
    for (const { reject } of waiting.values()) reject(reason);
    waiting.clear();
  };
  started.on("error", broke);
  started.on("exit", () => broke(new Error("the thread for checksums ended")));
  return started;
}

function rest(running: Worker): void {
  running.unref();
  idle = setTimeout(() => {
    if (thread === running && waiting.size === 0) {
      thread = undefined;
      void running.terminate();
    }
  }, idleMs);
  idle.unref();
}
