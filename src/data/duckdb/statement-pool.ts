/**
 * The engine's connections, each running one job at a time; jobs beyond that wait in a bounded queue. Runs in the
 * engine's process.
 *
 *   SP1  An aborted job that waits ends at once; one that runs is interrupted until it stops, and only then ends.
 *        So a connection is never handed on while its statement still runs.
 *   SP2  A job's statements never see an interrupt that was meant for an earlier job.
 */
import type {
  DuckDBConnection,
  DuckDBMaterializedResult,
  DuckDBPreparedStatement,
} from "@duckdb/node-api";
import type { Clock } from "../../ground/kernel/clock.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { isInterrupt } from "./duckdb-error.ts";

/** One connection, and what is prepared on it once and for all. */
export interface Lane {
  readonly connection: DuckDBConnection;
  /** Its own, and its default: where relations are made. */
  readonly catalog: string;
  /** `$1`: a statement's text; gives its syntax tree as JSON. */
  readonly serializeSql: DuckDBPreparedStatement;
  /** `$1`: an artifact's path; gives what it says of its columns. */
  readonly readColumns: DuckDBPreparedStatement;
}

/** The one value of a result, or an empty text where there is none. */
export function onlyText(result: DuckDBMaterializedResult): string {
  if (result.rowCount === 0) return "";
  const value = result.getChunk(0).getColumnVector(0).getItem(0);
  return typeof value === "string" ? value : "";
}

type Job = (lane: Lane) => void;

/** A statement that has just been interrupted may have begun after the interrupt: it is interrupted again. */
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
        reject(cancelled()); // SP1
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

/** SP1, SP2: of one lane, which is the caller's. */
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
