/**
 * The memory of one fragment: the sum of what its operators, sources and edges say, under the
 * limits of its query and its worker. Who passes one is named, because that is what a person can
 * change.
 */
import { DialectError } from "../../../language/core/index.ts";
import type { MemoryAccount } from "../operator.ts";

/** Whoever holds memory. */
export interface MemoryHolder {
  /** Set by its account. */
  stateBytes: number;
  /** For people: `operator 3 (topN)`. */
  readonly description: string;
}

/** Whose limit is passed, and what is held under it. */
export interface MemoryRefusal {
  readonly whose: "query" | "worker";
  readonly totalBytes: number;
  readonly bytesMax: number;
}

/** Asks for so many bytes for the whole fragment, instead of what it was given before. */
export type ReserveMemory = (bytes: number) => MemoryRefusal | undefined;

export class QueryMemory {
  readonly #reserve: ReserveMemory;
  #totalBytes = 0;

  /** By default the fragment is its whole query. */
  constructor(bytesMax: number, reserve: ReserveMemory = () => undefined) {
    this.#reserve = (bytes) =>
      bytes > bytesMax ? { whose: "query", totalBytes: bytes, bytesMax } : reserve(bytes);
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  accountOf(holder: MemoryHolder): MemoryAccount {
    return {
      set: (bytes) => {
        const grew = bytes > holder.stateBytes;
        this.#totalBytes += bytes - holder.stateBytes;
        holder.stateBytes = bytes;
        const refusal = this.#reserve(this.#totalBytes);
        if (grew && refusal !== undefined) throw tooLarge(holder, refusal);
      },
    };
  }
}

function tooLarge(holder: MemoryHolder, refusal: MemoryRefusal): DialectError {
  const { whose, totalBytes, bytesMax } = refusal;
  const held = whose === "query" ? "the query takes" : "the streams of the worker take";
  const raise = whose === "query" ? ', or raise "QUERY".MEMORY_LIMIT.' : ".";
  return new DialectError(
    3003,
    `${held} ${megabytes(totalBytes)} of memory and the limit is ${megabytes(bytesMax)}; ` +
      `${holder.description} holds ${megabytes(holder.stateBytes)} of it`,
    { hint: `Use shorter windows or fewer keys${raise}` },
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
