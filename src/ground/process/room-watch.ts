/**
 * Whether there is room on the disks that a process writes to. Nobody looks at them all the time:
 * whoever could not write says so, and from then on the free space is looked at until there is some.
 *
 *   DR1  From an error that says that a disk is full (`disk_full`) until each of the places has 1 MiB
 *        free, and for two seconds at least, the part is failed. A quota shows no free space: there
 *        the two seconds are all.
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
  /** How many bytes can still be written in a place; `statfs` unless given. */
  readonly freeBytes?: (place: string) => Promise<number>;
}

export class RoomWatch {
  readonly #options: RoomWatchOptions;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: RoomWatchOptions) {
    this.#options = options;
  }

  /** The work's outcome, as it is. That it failed because a disk is full is noted. */
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

  /** DR1 */
  #full(): void {
    if (this.#isClosed) return;
    this.#options.health.failed("the disk is full");
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(lookMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { places, health, freeBytes = statfsBytes } = this.#options;
    // A place that cannot be asked has another trouble, which others tell of.
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
