/**
 * The engine's connections, each running one job at a time. Further jobs wait in a bounded queue.
 * In the engine's process.
 *
 * An aborted job that waits ends at once. One that runs is interrupted until it stops, and only
 * then ends, so a connection is never handed on while its statement runs, and no job sees an
 * interrupt meant for an earlier one.
 */
import type {
  DuckDBConnection,
  DuckDBMaterializedResult,
  DuckDBPreparedStatement,
} from "@duckdb/node-api";
import type { Clock } from "../../ground/kernel/clock.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { isInterrupt } from "./duckdb-error.ts";

/** A connection with its prepared statements. */
export interface Lane {
  readonly connection: DuckDBConnection;
  /** The connection's own default catalog, where relations are created. */
  readonly catalog: string;
  /** `$1` is a statement's text; returns its syntax tree as JSON. */
  readonly serializeSql: DuckDBPreparedStatement;
  /** `$1` is an artifact's path; returns its column metadata. */
  readonly readColumns: DuckDBPreparedStatement;
}

/** The one value of a result, or an empty text without rows. */
export function onlyText(result: DuckDBMaterializedResult): string {
  if (result.rowCount === 0) return "";
  const value = result.getChunk(0).getColumnVector(0).getItem(0);
  return typeof value === "string" ? value : "";
}

type Job = (lane: Lane) => void;

/** A statement may begin just after the interrupt, so it is interrupted again. */
const interruptAgainMs = 20;

export class StatementPool {
  readonly #idle: Lane[];
  readonly #queueMax: number;
  readonly #clock: Clock;
  readonly #waiting = new Set<Job>();

  constructor(lanes: readonly Lane[], queueMax: number, clock: Clock) {
    this.#idle = [...lanes];
    this.#queueMax = queueMax;
    this.#clock = clock;
  }

  /** Rejects with `overloaded` when too many wait, and with `cancelled` when `signal` aborts. */
  run<T>(perform: (lane: Lane) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) return Promise.reject(cancelled());
    const lane = this.#idle.pop();
    if (lane !== undefined) return this.#runOn(lane, perform, signal);
    if (this.#waiting.size >= this.#queueMax) {
      const message = `${this.#waiting.size} statements wait already`;
      return Promise.reject(new OperatingError("overloaded", "backoff", message));
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(job);
        reject(cancelled());
      };
      const job: Job = (free) => {
        signal.removeEventListener("abort", onAbort);
        this.#runOn(free, perform, signal).then(resolve, reject);
      };
      this.#waiting.add(job);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  async #runOn<T>(
    lane: Lane,
    perform: (lane: Lane) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      return await interruptible(lane, () => perform(lane), signal, this.#clock);
    } finally {
      this.#handOn(lane);
    }
  }

  #handOn(lane: Lane): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#idle.push(lane);
    } else {
      this.#waiting.delete(next);
      next(lane);
    }
  }
}

/** Interrupts the caller's lane when `signal` aborts, until the statement has stopped. */
export async function interruptible<T>(
  { connection }: Lane,
  perform: () => Promise<T>,
  signal: AbortSignal,
  clock: Clock,
): Promise<T> {
  let stopped: boolean = false;
  const interrupt = (): void => {
    if (stopped) return;
    connection.interrupt();
    clock.after(interruptAgainMs, interrupt);
  };
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    return await perform();
  } catch (thrown) {
    throw signal.aborted && isInterrupt(thrown) ? cancelled() : thrown;
  } finally {
    stopped = true;
    signal.removeEventListener("abort", interrupt);
  }
}

export function cancelled(): OperatingError {
  return new OperatingError("cancelled", "never", "the statement was cancelled");
}
