/** The streams that a worker makes of itself, and gives to its fragments. Rules: SD80, SD81. */
import { type Clock, waitAtMost } from "../../../../ground/kernel/clock.ts";
import type { AskedRows, SystemCalls, SystemRows } from "../../run/core/index.ts";
import type { RunStatistics } from "../core/index.ts";
import { RecentRows, WorkerStatisticsRows, workerResourcesRow } from "../core/index.ts";

export interface OwnStreamsOptions {
  readonly workerId: string;
  /** Names the rows of this run of the process. */
  readonly series: string;
  readonly clock: Clock;
}

const keptMax = 60;
const waitMsMax = 500;

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

  async systemRows({ stream, after }: AskedRows): Promise<SystemRows> {
    const rows = this.#rows[stream];
    if (rows === undefined) return { lines: "", at: "" };
    return await rowsOrWait(rows, after, this.#options.clock);
  }
}

/** Waits for the next row where there is none yet, for a moment at most. */
async function rowsOrWait(
  rows: RecentRows,
  after: string | undefined,
  clock: Clock,
): Promise<SystemRows> {
  const now = rows.after(after);
  if (after === undefined || now.lines !== "") return now;
  await waitAtMost(clock, waitMsMax, rows.more);
  return rows.after(after);
}
