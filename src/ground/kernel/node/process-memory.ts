/**
 * Memory of processes on this machine, read from Linux. On other systems every answer is undefined.
 *
 * PSS adds up over processes: a page that two share counts half for each. Reading it walks a
 * process's pages (9 ms for 1.5 GB), so frequent callers read the private part (0.05 ms) and add an
 * older value of the shared part. Callers that show the sum use `TreeMemory`, which reads it off
 * the main thread, and seldom.
 */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Clock } from "../clock.ts";
import { realClock } from "./real-clock.ts";

const pssLine = /^Pss:\s+(\d+) kB$/m;

export const canMeasureMemory: boolean = process.platform === "linux";

/** Memory of this process alone: heaps, stacks, buffers. */
export function privateBytes(pid: number): number | undefined {
  return kilobytesIn(`/proc/${pid}/status`, /^RssAnon:\s+(\d+) kB$/m);
}

export function pssBytes(pid: number): number | undefined {
  return kilobytesIn(`/proc/${pid}/smaps_rollup`, pssLine);
}

/**
 * The process and its descendants in the same session. A detached child (a load worker) outlives it
 * and has a limit of its own.
 */
export function processTree(pid: number): readonly number[] {
  const found = [pid];
  const session = sessionOf(pid);
  // The list grows while it is walked.
  for (const each of found) {
    found.push(...childrenOf(each).filter((child) => sessionOf(child) === session));
  }
  return found;
}

/** The PSS of a process and its descendants, read synchronously. */
export function treePssBytes(pid: number): number | undefined {
  if (!canMeasureMemory) return undefined;
  return processTree(pid).reduce((sum, each) => sum + (pssBytes(each) ?? 0), 0);
}

const freshMs = 3_000;

/** The same for frequent callers: measured at most once in `freshMs`. */
export class TreeMemory {
  readonly #measure: () => Promise<number | undefined>;
  readonly #clock: Pick<Clock, "nowMs">;
  #measured: Promise<number | undefined> | undefined;
  #measuredMs = 0;

  constructor(measure: () => Promise<number | undefined>, clock: Pick<Clock, "nowMs"> = realClock) {
    this.#measure = measure;
    this.#clock = clock;
  }

  /** Undefined when this system does not tell. */
  async bytes(): Promise<number | undefined> {
    const nowMs = this.#clock.nowMs();
    if (this.#measured === undefined || nowMs - this.#measuredMs >= freshMs) {
      this.#measuredMs = nowMs;
      this.#measured = this.#measure();
    }
    return await this.#measured;
  }
}

/** The memory of this process and its descendants. */
export const ownTreeMemory: TreeMemory = new TreeMemory(async () => await measureTree(process.pid));

async function measureTree(pid: number): Promise<number | undefined> {
  if (!canMeasureMemory) return undefined;
  const texts = processTree(pid).map(async (each) => {
    const text = await readFile(`/proc/${each}/smaps_rollup`, "utf8").catch(() => "");
    return kilobytes(text, pssLine) ?? 0;
  });
  return (await Promise.all(texts)).reduce((sum, bytes) => sum + bytes, 0);
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      const text = readText(`/proc/${pid}/task/${thread}/children`) ?? "";
      return text.split(" ").filter(Boolean).map(Number);
    });
  } catch {
    return []; // The process is gone.
  }
}

function sessionOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  return stat?.replace(/^.*\) /s, "").split(" ")[3]; // Skips the name, which may contain anything.
}

function kilobytesIn(path: string, pattern: RegExp): number | undefined {
  return kilobytes(readText(path) ?? "", pattern);
}

function kilobytes(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found) * 1024;
}

function readText(path: string): string | undefined {
  if (!canMeasureMemory) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
