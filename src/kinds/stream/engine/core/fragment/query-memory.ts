/**
 * The memory of one query on one worker: the sum of what its operators say, under a limit. The
 * operator that passes it is named, because that is what a person can change.
 */
import { DialectError } from "../../../language/core/index.ts";
import type { MemoryAccount } from "../operator.ts";
import type { Station } from "./station.ts";

export class QueryMemory {
  readonly #bytesMax: number;
  /** Asks the worker for room beyond the present total; false where it has none. */
  readonly #reserve: (totalBytes: number) => boolean;
  #totalBytes = 0;

  constructor(bytesMax: number, reserve: (totalBytes: number) => boolean = () => true) {
    this.#bytesMax = bytesMax;
    this.#reserve = reserve;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  accountOf(station: Station): MemoryAccount {
    return {
      set: (bytes) => {
        const total = this.#totalBytes + bytes - station.stateBytes;
        const grew = bytes > station.stateBytes;
        this.#totalBytes = total;
        station.stateBytes = bytes;
        if (!grew) return;
        if (total > this.#bytesMax) throw tooLarge(station, total, this.#bytesMax, "the query");
        if (!this.#reserve(total)) throw tooLarge(station, total, this.#bytesMax, "the worker");
      },
    };
  }
}

function tooLarge(station: Station, total: number, bytesMax: number, whose: string): DialectError {
  const { op, id } = station.node;
  return new DialectError(
    3003,
    `the state of the query takes ${megabytes(total)} and ${whose} has ` +
      `${whose === "the query" ? `a limit of ${megabytes(bytesMax)}` : "no more room"}; ` +
      `operator ${id} (${op.kind}) holds ${megabytes(station.stateBytes)} of it`,
    { hint: 'Use shorter windows or fewer keys, or raise "QUERY".MEMORY_LIMIT.' },
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
