/**
 * What every operator of the engine is: a synchronous, pure machine. The fragment that owns it
 * calls it with what arrives on its inputs and gives it an output for what it emits. It has no
 * clock, no randomness and no promises, so the simulator and the property test run the real ones.
 *
 * The fragment takes care of what all operators share: it combines the watermarks of the inputs
 * (the least, each less its shift, idle inputs left out) and calls `advance` only when that grew;
 * it passes watermarks, ends of read buffers and the end on after the operator has seen them; and
 * it takes snapshots only between two calls.
 */
import type { Schema } from "../../language/core/index.ts";
import type { Batch, Column } from "./batch.ts";

/** Greater than every time: the watermark behind the last row of an input. */
export const endOfTime = 2n ** 64n;

/** Less than every time: the watermark of an input that has said nothing. */
export const startOfTime = -(2n ** 63n) - 1n;

export interface Operator {
  /** Takes rows of one input. The batch is valid during the call only. */
  push(input: number, batch: Batch): void;
  /**
   * The watermark of all inputs together grew to `watermark`; `endOfTime` when all have ended,
   * which is the last call. What is emitted meanwhile goes out before the watermark does.
   */
  advance?(watermark: bigint): void;
  /** A read buffer of a source below ended: watermarks may be made now. */
  mark?(): void;
  /** All inputs became idle, or one of them has rows again. */
  idle?(isIdle: boolean): void;
  /** The watermark that the consumers get for that of the inputs, where it is another. */
  outputWatermark?(watermark: bigint): bigint;
  /** The state, for a checkpoint. An operator without state has none. */
  snapshot?(): readonly StateSection[];
  /** Called before anything else, with the sections of a snapshot of the same plan. */
  restore?(sections: readonly SavedSection[]): void;
}

/**
 * A piece of an operator's state. A section with the key and generation of an earlier snapshot has
 * the same content, and is not written again.
 */
export interface StateSection {
  readonly key: string;
  readonly generation: number;
  /** Called before the operator is called again, or never. */
  encode(): Uint8Array;
}

export interface SavedSection {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** What an operator gets from its fragment. */
export interface OperatorContext {
  readonly emit: (batch: Batch) => void;
  /** What happens to rows that came too late for every window they belong to. */
  readonly late: LateRows;
  readonly memory: MemoryAccount;
  /** The tables of lookup joins; absent where there is no lake. */
  readonly lookupTable?: (table: string, columns: Schema) => LookupTable;
}

/** The rows of a table, all of them. They stay as they are; a change is another version. */
export interface LookupVersion {
  readonly rowCount: number;
  readonly columns: readonly Column[];
}

export interface LookupTable {
  /** The newest version; the same object as long as nothing has changed. */
  readonly version: LookupVersion;
}

export interface LateRows {
  /**
   * Counts the rows; with the policy `fail` it throws error 3014. `rows` are row numbers of the
   * batch, and `lateMs` says for each how far behind the watermark it was.
   */
  add(batch: Batch, rows: Int32Array, lateMs: Float64Array): void;
}

/** The memory of one operator, under the limits of its query and its worker. */
export interface MemoryAccount {
  /** Throws an error that names the operator and the size when a limit is passed. */
  set(bytes: number): void;
}
