/**
 * The memory that work of a process takes: queries in any of its threads, and streams (PR18). Each
 * thread counts its pages in its own word of the shared memory, which is cleared after the thread
 * has ended. Whoever takes memory takes it before it allocates, and reads the sum of all words.
 *
 * A reservation always succeeds: it is for work that does not end, which must not wait for work
 * that does. Until queries under way have ended the budget may be exceeded by what they hold; those
 * that ask for more meanwhile are refused.
 */
import { assert } from "../../kernel/errors.ts";

/** The maximum number of threads at a time, including those that are being ended. */
const placesMax = 64;
/** The unit in which memory is counted. All words are read only when another page is needed. */
export const pageBytes: number = 64 * 1024;

/** A thread's share of the budget, passed as `workerData`. */
export interface MemoryPlace {
  readonly words: SharedArrayBuffer;
  readonly bytesMax: number;
  readonly place: number;
}

export interface MemoryReservation {
  /** Its word in the shared memory, for threads that resize it themselves. */
  readonly place: MemoryPlace;
  resize(bytes: number): void;
  /** Idempotent. */
  release(): void;
}

/** The budget, in the process's main thread, which has a place of its own. */
export class MemoryBudget {
  readonly bytesMax: number;
  /** The main thread's. */
  readonly ownPlace: MemoryPlace;
  readonly #words = new SharedArrayBuffer(placesMax * 4);
  readonly #free = Array.from({ length: placesMax - 1 }, (_, index) => index + 1);

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
    this.ownPlace = { words: this.#words, bytesMax, place: 0 };
  }

  /** Takes a place for a thread; call `leave` after the thread has ended. */
  join(): MemoryPlace {
    const place = this.#free.shift();
    assert(place !== undefined, "threads are few");
    return { words: this.#words, bytesMax: this.bytesMax, place };
  }

  leave({ place }: MemoryPlace): void {
    Atomics.store(new Int32Array(this.#words), place, 0);
    this.#free.push(place);
  }

  /** Keeps `bytes` from everybody else until they are released. */
  reserve(bytes: number): MemoryReservation {
    const place = this.join();
    const words = new Int32Array(this.#words);
    let isReleased = false;
    const resize = (wanted: number): void => {
      assert(!isReleased && wanted >= 0, "a reservation has a size until it is released");
      Atomics.store(words, place.place, Math.ceil(wanted / pageBytes));
    };
    resize(bytes);
    const release = (): void => {
      if (!isReleased) this.leave(place);
      isReleased = true;
    };
    return { place, resize, release };
  }

  get heldBytes(): number {
    return heldPages(new Int32Array(this.#words)) * pageBytes;
  }
}

/** The pages that all places hold. */
export function heldPages(words: Int32Array): number {
  let pages = 0;
  for (let index = 0; index < words.length; index += 1) pages += Atomics.load(words, index);
  return pages;
}
