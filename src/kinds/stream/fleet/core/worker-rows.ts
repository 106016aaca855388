/** Rows of `system.worker_statistics` and `system.worker_resources`, from what a worker knows. */
import type { FragmentStatistics, RunStatistics } from "./commands.ts";

const counted = ["rowsIn", "bytesIn", "rowsOut", "rowsReceived", "lateRows", "malformed"] as const;
type Counted = Record<(typeof counted)[number], number>;

/** Turns what fragments have done in all into what they did since the last look. */
export class WorkerStatisticsRows {
  #seen: ReadonlyMap<string, Counted> = new Map();

  row(workerId: string, timestamp: number, runs: readonly RunStatistics[]) {
    const seen = new Map<string, Counted>();
    const done: Counted = zero();
    let [fragments, stateBytes] = [0, 0];
    for (const { query, epoch, fragments: all } of runs) {
      for (const one of all) {
        const key = `${query} ${epoch} ${one.fragment}`;
        const before = this.#seen.get(key) ?? zero();
        // A fragment that was opened anew in its epoch counts from nothing again.
        for (const name of counted) done[name] += Math.max(0, one[name] - before[name]);
        seen.set(key, countsOf(one));
        fragments += 1;
        stateBytes += one.stateBytes;
      }
    }
    this.#seen = seen;
    return {
      ...{ worker_id: workerId, timestamp, fragments },
      records_processed: done.rowsIn + done.rowsReceived,
      records_read: done.rowsIn,
      bytes_read: done.bytesIn,
      records_written: done.rowsOut,
      late_records: done.lateRows,
      malformed_records: done.malformed,
      state_bytes: stateBytes,
    };
  }
}

function zero(): Counted {
  return { rowsIn: 0, bytesIn: 0, rowsOut: 0, rowsReceived: 0, lateRows: 0, malformed: 0 };
}

function countsOf(one: FragmentStatistics): Counted {
  return Object.fromEntries(counted.map((name) => [name, one[name]])) as Counted;
}

/** `facts` are what the worker reports about itself. */
export function workerResourcesRow(
  workerId: string,
  timestamp: number,
  facts: Readonly<Record<string, string>>,
) {
  const fact = (key: string): number => Number(facts[key] ?? 0);
  return {
    ...{ worker_id: workerId, timestamp },
    cpu_usage: Math.round(fact("cpu_ratio") * 100),
    memory_bytes: fact("memory_bytes"),
    event_loop_delay_ms: fact("event_loop_delay_ms"),
    running_work: fact("running_work"),
    queue_depth: fact("queue_depth"),
  };
}
