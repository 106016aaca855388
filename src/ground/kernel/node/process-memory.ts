/**
 * What processes of this machine take, as Linux tells it. Elsewhere nothing is known: every answer
 * is `undefined`.
 *
 * PSS is the measure that adds up: a page that two processes share counts half for each. Reading it
 * walks a process's pages (9 ms for 1.5 GB), so whoever looks often reads the private part (0.05
 * ms) and adds what the shared part was a while ago. Whoever shows the sum asks `TreeMemory`,
 * which reads it off the main thread, and seldom.
 */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Clock } from "../clock.ts";
import { realClock } from "./real-clock.ts";

const pssLine = /^Pss:\s+(\d+) kB$/m;

export const canMeasureMemory: boolean = process.platform === "linux";

/** Memory that is the process's own: heaps, stacks, buffers. */
export function privateBytes(pid: number): number | undefined {
  return kilobytesIn(`/proc/${pid}/status`, /^RssAnon:\s+(\d+) kB$/m);
}

export function pssBytes(pid: number): number | undefined {
  return kilobytesIn(`/proc/${pid}/smaps_rollup`, pssLine);
}

/**
 * The process and all that descend from it in its session, those that are there now. Who was
 * started detached (a load worker) outlives it and has a limit of its own.
 */
export function processTree(pid: number): readonly number[] {
  const found = [pid];
  const session = sessionOf(pid);
  // It grows while it is walked.
  for (const each of found) {
    found.push(...childrenOf(each).filter((child) => sessionOf(child) === session));
  }
  return found;
}

/** Summed PSS of a process and all that descend from it, at once: for whoever may wait for it. */
export function treePssBytes(pid: number): number | undefined {
  if (!canMeasureMemory) return undefined;
  return processTree(pid).reduce((sum, each) => sum + (pssBytes(each) ?? 0), 0);
}

const freshMs = 3_000;

/** The same for whoever asks often: measured once in `freshMs` at most, however many ask. */
export class TreeMemory {
  readonly #measure: () => Promise<number | undefined>;
  readonly #clock: Pick<Clock, "nowMs">;
  #measured: Promise<number | undefined> | undefined;
  #measuredMs = 0;

  constructor(measure: () => Promise<number | undefined>, clock: Pick<Clock, "nowMs"> = realClock) {
    this.#measure = measure;
    this.#clock = clock;
  }

  /** `undefined`: not known on this system. */
  async bytes(): Promise<number | undefined> {
    const nowMs = this.#clock.nowMs();
    if (this.#measured === undefined || nowMs - this.#measuredMs >= freshMs) {
      this.#measuredMs = nowMs;
      this.#measured = this.#measure();
    }
    return await this.#measured;
  }
}

/** Of this process and all that descend from it. */
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
    return []; // It is gone.
  }
}

function sessionOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  return stat?.replace(/^.*\) /s, "").split(" ")[3]; // After the name, which may hold anything.
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
