/** The streams that a worker makes of itself, and gives to its fragments. Rules: SD80, SD81. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { AskedRows, SystemCalls, SystemRows } from "../../run/core/index.ts";
import type { RunStatistics } from "../core/index.ts";
import { RecentRows, WorkerStatisticsRows, workerResourcesRow } from "../core/index.ts";
import { rowsOrWait } from "../rows-or-wait.ts";

export interface OwnStreamsOptions {
  readonly workerId: string;
  /** Names the rows of this run of the process. */
  readonly series: string;
  readonly clock: Clock;
  /** The rows of the streams that are not made here. */
  readonly coordinatorRows: (asked: AskedRows, signal?: AbortSignal) => Promise<SystemRows>;
}

const keptMax = 60;

export class OwnStreams implements SystemCalls {
  readonly #options: OwnStreamsOptions;
  readonly #statistics = new WorkerStatisticsRows();
  readonly #rows: Readonly<Record<string, RecentRows>>;

  constructor(options: OwnStreamsOptions) {
    this.#options = options;
    const { series } = options;
    this.#rows = {
      worker_statistics: new RecentRows(series, keptMax),
      worker_resources: new RecentRows(series, keptMax),
    };
  }

  /** Makes the next row of each. */
  tell(runs: readonly RunStatistics[], facts: Readonly<Record<string, string>>): void {
    const { workerId, clock } = this.#options;
    const nowMs = Math.floor(clock.wallMs());
    this.#rows.worker_statistics?.put(this.#statistics.row(workerId, nowMs, runs));
    this.#rows.worker_resources?.put(workerResourcesRow(workerId, nowMs, facts));
  }

  async systemRows(asked: AskedRows, signal?: AbortSignal): Promise<SystemRows> {
    const { clock, coordinatorRows } = this.#options;
    const rows = this.#rows[asked.stream];
    if (rows !== undefined) return await rowsOrWait(rows, asked.after, clock);
    return await coordinatorRows(asked, signal);
  }
}
