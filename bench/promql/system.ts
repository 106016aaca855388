/** What is measured: a set of processes that holds samples and answers Prometheus's API. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export interface System {
  readonly name: string;
  /** Where its samples are on disk. */
  readonly samplesDir: string;
  /** While it runs. */
  url(): string;
  /** Those that were started; their children belong to them. */
  rootPids(): readonly number[];
  /** Resolves when it answers; nothing if it runs already. */
  start(): Promise<void>;
  stop(): Promise<void>;
  import(file: string): Promise<void>;
}

export function diskBytes(dir: string): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}

export interface Memory {
  /** What each process has to itself, and its part of what it shares with others (PSS). */
  readonly proportionalBytes: number;
  /** Of it: heaps, buffers, native memory. The rest is program code. */
  readonly anonymousBytes: number;
}

/**
 * Of each process of these trees, children of children included. Empty where the system does not
 * say.
 */
export function memoryOfTrees(pids: readonly number[]): readonly Memory[] {
  return pids.flatMap((pid) => [...memoryOf(pid), ...memoryOfTrees(childrenOf(pid))]);
}

export function totalBytes(memory: readonly Memory[]): number {
  return memory.reduce((sum, { proportionalBytes }) => sum + proportionalBytes, 0);
}

function memoryOf(pid: number): readonly Memory[] {
  const rollup = readProc(`${pid}/smaps_rollup`);
  if (rollup === undefined) return [];
  const bytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? 0) * 1024;
  return [{ proportionalBytes: bytes("Pss"), anonymousBytes: bytes("Pss_Anon") }];
}

function childrenOf(pid: number): readonly number[] {
  const threads = listProc(`${pid}/task`);
  const texts = threads.map((thread) => readProc(`${pid}/task/${thread}/children`) ?? "");
  return texts.flatMap((text) => text.split(" ").filter((each) => each !== "")).map(Number);
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(join("/proc", path), "utf8");
  } catch {
    return undefined; // It has ended, or this is no Linux.
  }
}

function listProc(path: string): readonly string[] {
  try {
    return readdirSync(join("/proc", path));
  } catch {
    return [];
  }
}
