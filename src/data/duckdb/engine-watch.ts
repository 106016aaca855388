/**
 * Measures the memory of this process and its descendants while the engine runs, and kills an
 * engine process that exceeds its share. The kernel's limit (spawn-engine.ts) is the first line of
 * defence. This is the second: it counts everything, and works without the first.
 */
import type { Clock, Timer } from "../../ground/kernel/clock.ts";
import {
  canMeasureMemory,
  privateBytes,
  processTree,
  pssBytes,
} from "../../ground/kernel/node/process-memory.ts";
import { decideVictim, type MemoryLimits } from "./core/index.ts";
import type { Loss } from "./engine-child.ts";

const busyMs = 50;
const idleMs = 1_000;
/** How long a measurement of shared memory, and of the process tree, stays valid. */
const sharedMs = 5_000;

interface Shared {
  readonly bytes: number;
  readonly atMs: number;
}

/** The part of an `EngineChild` used here. */
export interface WatchedProcess {
  readonly pid: number | undefined;
  readonly idle: boolean;
  kill(loss: Loss): void;
}

export interface Watched {
  readonly shared: WatchedProcess | undefined;
  readonly alone: WatchedProcess | undefined;
  /** Processes of statements alone whose turn is over. */
  readonly overdue?: readonly WatchedProcess[];
}

export class EngineWatch {
  readonly #limits: MemoryLimits;
  readonly #clock: Clock;
  readonly #watched: () => Watched;
  readonly #sharedBytes = new Map<number, Shared>();
  #tree: readonly number[] = [];
  #treeAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #isSlow: boolean = false;

  constructor(limits: MemoryLimits, clock: Clock, watched: () => Watched) {
    this.#limits = limits;
    this.#clock = clock;
    this.#watched = watched;
  }

  /** Measures often from now on, until there is nothing to watch. Idempotent. */
  start(): void {
    if (!canMeasureMemory || (this.#timer !== undefined && !this.#isSlow)) return;
    this.#lookIn(busyMs);
  }

  #lookIn(delayMs: number): void {
    this.#timer?.cancel();
    this.#isSlow = delayMs > busyMs;
    this.#timer = this.#clock.after(delayMs, () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    const { shared, alone, overdue = [] } = this.#watched();
    const pids = [shared, alone, ...overdue].flatMap((child) => child?.pid ?? []);
    if (pids.length === 0) return;
    const bytesOf = (child: WatchedProcess | undefined): number | undefined =>
      child?.pid === undefined ? undefined : this.#bytesOf(child.pid);
    const [sharedBytes, aloneBytes] = [bytesOf(shared), bytesOf(alone)];
    const [largest] = overdue
      .map((child) => ({ child, bytes: bytesOf(child) ?? 0 }))
      .sort((a, b) => b.bytes - a.bytes);
    const treePids = new Set([...this.#others(), ...pids]);
    const treeBytes = [...treePids].reduce((sum, pid) => sum + this.#bytesOf(pid), 0);
    const use = { treeBytes, sharedBytes, aloneBytes, overdueBytes: largest?.bytes };
    const victim = decideVictim(use, this.#limits);
    if (victim !== undefined) {
      const [child, bytes = 0] = {
        shared: [shared, sharedBytes] as const,
        alone: [alone, aloneBytes] as const,
        overdue: [largest?.child, largest?.bytes] as const,
      }[victim];
      const message = `it took ${mebibytes(bytes)} MiB, of ${mebibytes(this.#limits.engineBytesMax)} MiB that it may, and the whole ${mebibytes(treeBytes)} MiB`;
      child?.kill({ kind: victim === "overdue" ? "overdue" : "memory", message });
    }
    const busy = alone !== undefined || shared?.idle === false;
    this.#lookIn(busy ? busyMs : idleMs);
  }

  #others(): readonly number[] {
    if (this.#clock.nowMs() - this.#treeAtMs > sharedMs) {
      this.#treeAtMs = this.#clock.nowMs();
      this.#tree = processTree(process.pid);
      for (const pid of this.#sharedBytes.keys()) {
        if (!this.#tree.includes(pid)) this.#sharedBytes.delete(pid);
      }
    }
    return this.#tree;
  }

  /** Approximately its PSS: the current private memory and the last measured shared memory. */
  #bytesOf(pid: number): number {
    const own = privateBytes(pid);
    if (own === undefined) return 0;
    const nowMs = this.#clock.nowMs();
    const known = this.#sharedBytes.get(pid);
    if (known !== undefined && nowMs - known.atMs < sharedMs) return own + known.bytes;
    const bytes = Math.max(0, (pssBytes(pid) ?? own) - own);
    this.#sharedBytes.set(pid, { bytes, atMs: nowMs });
    return own + bytes;
  }
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}
