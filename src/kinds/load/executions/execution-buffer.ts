/**
 * Executions on their way to the lake: columns of fixed length, so that recording one writes
 * numbers into arrays and makes nothing. What they mean as rows is the thread's to say
 * (`execution-rows.ts`).
 */
import type { OperationFailure } from "../core/target.ts";
import type { Executed } from "../generator/load-generator.ts";

/** Maximum failures with details in one buffer; further ones have only their kind. */
const failuresMax = 1_000;
const messageCharsMax = 500;

/** Sent between threads; its arrays are transferred, not copied. */
export interface ExecutionBatch {
  readonly rowCount: number;
  readonly operation: Uint16Array<ArrayBuffer>;
  readonly connection: Int32Array<ArrayBuffer>;
  readonly step: Int32Array<ArrayBuffer>;
  /** By the clock of the process. */
  readonly intendedMs: Float64Array<ArrayBuffer>;
  readonly startMs: Float64Array<ArrayBuffer>;
  readonly endMs: Float64Array<ArrayBuffer>;
  readonly rows: Float64Array<ArrayBuffer>;
  readonly isWarmup: Uint8Array<ArrayBuffer>;
  /** 0 for success; otherwise the index in `failures` plus one. */
  readonly failure: Uint16Array<ArrayBuffer>;
  readonly failures: readonly { readonly kind: string; readonly message: string | null }[];
}

export class ExecutionBuffer {
  readonly capacity: number;
  readonly #columns: Omit<ExecutionBatch, "rowCount" | "failures">;
  readonly #failures: { kind: string; message: string | null }[] = [];
  readonly #failureAt = new Map<string, number>();
  #count = 0;

  /** `columns` are those of a finished batch, for reuse. */
  constructor(capacity: number, columns?: Omit<ExecutionBatch, "rowCount" | "failures">) {
    this.capacity = capacity;
    this.#columns = columns ?? {
      operation: new Uint16Array(capacity),
      connection: new Int32Array(capacity),
      step: new Int32Array(capacity),
      intendedMs: new Float64Array(capacity),
      startMs: new Float64Array(capacity),
      endMs: new Float64Array(capacity),
      rows: new Float64Array(capacity),
      isWarmup: new Uint8Array(capacity),
      failure: new Uint16Array(capacity),
    };
  }

  get count(): number {
    return this.#count;
  }

  /** Returns `false` when the buffer is full. */
  add(executed: Executed): boolean {
    const at = this.#count;
    if (at >= this.capacity) return false;
    const columns = this.#columns;
    columns.operation[at] = executed.operation;
    columns.connection[at] = executed.connection;
    columns.step[at] = executed.step;
    columns.intendedMs[at] = executed.intendedMs;
    columns.startMs[at] = executed.startMs;
    columns.endMs[at] = executed.endMs;
    columns.rows[at] = executed.rowCount;
    columns.isWarmup[at] = executed.phase === "WARMUP" ? 1 : 0;
    columns.failure[at] = executed.failure === undefined ? 0 : this.#numberOf(executed.failure);
    this.#count = at + 1;
    return true;
  }

  /** Takes the batch out. The buffer must not be used afterwards. */
  take(): ExecutionBatch {
    return { ...this.#columns, rowCount: this.#count, failures: this.#failures };
  }

  #numberOf({ kind, code, message }: OperationFailure): number {
    const said = (code === "" ? message : `${code}: ${message}`).slice(0, messageCharsMax);
    const isFull = this.#failures.length >= failuresMax;
    const key = isFull ? kind : `${kind} ${said}`;
    const known = this.#failureAt.get(key);
    if (known !== undefined) return known;
    const number = this.#failures.push({ kind, message: isFull ? null : said });
    this.#failureAt.set(key, number);
    return number;
  }
}

export function buffersOf({
  rowCount: _,
  failures: __,
  ...columns
}: ExecutionBatch): ArrayBuffer[] {
  return Object.values(columns).map(({ buffer }) => buffer);
}
