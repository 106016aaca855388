/** Bit rot for tests: flips one bit of one file, at a random place, and flips it back. */
import { closeSync, openSync, readSync, statSync, writeSync } from "node:fs";
import type { Prng } from "../prng.ts";

export interface BitFlip {
  readonly path: string;
  readonly bit: number;
  /** Flips the bit back. A file that was deleted meanwhile is left alone. */
  mend(): void;
}

/** How many flips a test makes; the environment can ask for more. */
export function flipCount(usual: number): number {
  return Number(process.env.CAPSTAN_TEST_FLIPS ?? usual);
}

/**
 * Flips a bit among the bytes that count: all of them, unless the caller limits them. A concurrent
 * writer of the file loses nothing, because only one byte is written.
 */
export function flipBit(
  prng: Prng,
  paths: readonly string[],
  bytesOf: (path: string) => number = (path) => statSync(path).size,
): BitFlip {
  const path = paths[prng.below(paths.length)];
  if (path === undefined) throw new Error("there is no file to flip a bit in");
  const bit = prng.below(bytesOf(path) * 8);
  toggle(path, bit);
  return { path, bit, mend: () => toggleIfThere(path, bit) };
}

export async function withFlip<T>(
  prng: Prng,
  paths: readonly string[],
  use: (flip: BitFlip) => T | Promise<T>,
): Promise<T> {
  const flip = flipBit(prng, paths);
  try {
    return await use(flip);
  } finally {
    flip.mend();
  }
}

function toggleIfThere(path: string, bit: number): void {
  try {
    toggle(path, bit);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
  }
}

function toggle(path: string, bit: number): void {
  const file = openSync(path, "r+");
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, bit >> 3);
    byte[0] = (byte[0] ?? 0) ^ (1 << (bit & 7));
    writeSync(file, byte, 0, 1, bit >> 3);
  } finally {
    closeSync(file);
  }
}
