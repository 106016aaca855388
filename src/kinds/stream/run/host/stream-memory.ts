/**
 * The memory of all streams of a process, counted in pages in shared words, so that every thread
 * sees the sum at once. Each fragment takes pages from its query's word and from the process's one;
 * each thread also counts its own, so that they can be given back when it dies (SU27).
 */
import {
  MemoryBudget,
  type MemoryPlace,
  type MemoryReservation,
  pageBytes,
} from "../../../../ground/process/core/index.ts";
import type { MemoryRefusal, ReserveMemory } from "../../engine/core/index.ts";

export interface StreamMemoryWords {
  /** The process's word: what streams have reserved of the budget of all work. */
  readonly place: MemoryPlace;
  /** The most that streams may reserve. */
  readonly bytesMax: number;
  /** The pages of the thread, in its first word. */
  readonly thread: SharedArrayBuffer;
}

/** The words of a thread of a process that reserves memory for streams in `budget`. */
export function newThreadWords({ place }: MemoryReservation, bytesMax: number): StreamMemoryWords {
  return { place, bytesMax, thread: new SharedArrayBuffer(4) };
}

/** Memory of a process that does nothing but run streams, without a limit of its own. */
export function unlimitedMemory(): StreamMemory {
  const budget = new MemoryBudget(Number.MAX_SAFE_INTEGER);
  return new StreamMemory(newThreadWords(budget.reserve(0), Number.MAX_SAFE_INTEGER));
}

export class StreamMemory {
  readonly #words: StreamMemoryWords;

  constructor(words: StreamMemoryWords) {
    this.#words = words;
  }

  /** The account of a fragment; `query` has the pages of all fragments in its first word. */
  open(query: SharedArrayBuffer, queryBytesMax: number): FragmentPages {
    const { place, thread, bytesMax } = this.#words;
    const ofQuery = new Int32Array(query);
    const ofThread = new Int32Array(thread);
    const ofProcess = new Int32Array(place.words);
    let held = 0;
    const take = (bytes: number): MemoryRefusal | undefined => {
      const pages = Math.ceil(bytes / pageBytes);
      const more = pages - held;
      if (more === 0) return undefined;
      held = pages;
      const queryPages = Atomics.add(ofQuery, 0, more) + more;
      const processPages = Atomics.add(ofProcess, place.place, more) + more;
      Atomics.add(ofThread, 0, more);
      if (queryPages * pageBytes > queryBytesMax) {
        return { whose: "query", totalBytes: queryPages * pageBytes, bytesMax: queryBytesMax };
      }
      const isTooMuch = processPages * pageBytes > bytesMax;
      return isTooMuch
        ? { whose: "worker", totalBytes: processPages * pageBytes, bytesMax }
        : undefined;
    };
    return { reserve: take, release: () => void take(0) };
  }
}

export interface FragmentPages {
  readonly reserve: ReserveMemory;
  /** Gives everything back. Idempotent. */
  release(): void;
}

/** Gives back what a thread held when it died. */
export function releaseThread({ place, thread }: StreamMemoryWords): void {
  const pages = Atomics.exchange(new Int32Array(thread), 0, 0);
  Atomics.sub(new Int32Array(place.words), place.place, pages);
}
