/**
 * Watches the disks that a process writes to, only while one is full. From a `disk_full` error
 * until each place has 1 MiB free, and for at least 2 s, the part is failed (PR15). A quota shows
 * no free space, so there only the 2 s count.
 */
import { statfs } from "node:fs/promises";
import type { Clock, Timer } from "../kernel/clock.ts";
import { isDiskFull } from "../kernel/disk-full.ts";
import { OperatingError } from "../kernel/errors.ts";
import type { HealthReporter } from "../kernel/health.ts";

const lookMs = 2_000;
const freeBytesMin = 1024 ** 2;

export interface RoomWatchOptions {
  readonly places: readonly string[];
  readonly health: HealthReporter;
  readonly clock: Clock;
  /** How many bytes can still be written in a place. Default: `statfs`. */
  readonly freeBytes?: (place: string) => Promise<number>;
}

export class RoomWatch {
  readonly #options: RoomWatchOptions;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: RoomWatchOptions) {
    this.#options = options;
  }

  /** Returns the outcome of `work`, and notes when it failed because a disk is full. */
  async noting<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (thrown) {
      const isFull =
        isDiskFull(thrown) || (thrown instanceof OperatingError && thrown.code === "disk_full");
      if (isFull) this.#full();
      throw thrown;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #full(): void {
    if (this.#isClosed) return;
    this.#options.health.failed("the disk is full");
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(lookMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { places, health, freeBytes = statfsBytes } = this.#options;
    // A place whose free space cannot be read has another problem, which others report.
    const free = await Promise.all(places.map((place) => freeBytes(place).catch(() => Infinity)));
    if (this.#isClosed) return;
    if (Math.min(...free) < freeBytesMin) this.#full();
    else health.ok();
  }
}

async function statfsBytes(place: string): Promise<number> {
  const { bavail, bsize } = await statfs(place);
  return bavail * bsize;
}
