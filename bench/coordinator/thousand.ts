/**
 * Many queries deployed and dropped: how long until all run and until all are gone, what it costs
 * the coordinator, and how much they write to the change log, which holds whole rows.
 */
import { cpuSecondsOf } from "../load/load-cluster.ts";
import type { BenchOptions, Report } from "../report.ts";
import {
  createMany,
  defineMany,
  dropMany,
  namesOf,
  waitUntilGone,
  waitUntilRunning,
} from "./many-queries.ts";
import { StreamsCluster } from "./streams-cluster.ts";

export async function benchThousand({ queries }: BenchOptions, report: Report): Promise<void> {
  const world = await StreamsCluster.start();
  try {
    await defineMany(world);
    const names = namesOf(queries);
    await reportPhase("deployed", world, report, queries, async () => {
      await createMany(world, names);
      const acceptedMs = performance.now();
      await waitUntilRunning(world, queries);
      return acceptedMs;
    });
    await reportPhase("dropped", world, report, queries, async () => {
      await dropMany(world, names);
      const acceptedMs = performance.now();
      await waitUntilGone(world);
      return acceptedMs;
    });
  } finally {
    await world.stop();
  }
}

/** `run` answers when the last request was accepted, and has waited for what follows from it. */
async function reportPhase(
  name: string,
  world: StreamsCluster,
  report: Report,
  queries: number,
  run: () => Promise<number>,
): Promise<void> {
  const pid = world.cluster.pid("coordinator");
  const [beganMs, cpuBefore, logBefore] = [performance.now(), cpuSecondsOf(pid), readLog(world)];
  const acceptedMs = await run();
  const doneMs = performance.now();
  const log = readLog(world);
  const changes = log.revision - logBefore.revision;
  report.figure(
    `queries_${name}`,
    {},
    {
      queries,
      seconds: (doneMs - beganMs) / 1_000,
      accepted_after_seconds: (acceptedMs - beganMs) / 1_000,
      coordinator_cpu_seconds: cpuSecondsOf(pid) - cpuBefore,
      changes_per_query: changes / queries,
      log_rows_kept: log.rows,
      log_megabytes_kept: log.bytes / 1e6,
      log_bytes_per_query: (changes / queries) * (log.bytes / log.rows),
    },
  );
}

interface ChangeLog {
  readonly revision: number;
  readonly rows: number;
  /** Of the rows' texts. */
  readonly bytes: number;
}

function readLog(world: StreamsCluster): ChangeLog {
  const [row] = world.readStore(`
    SELECT (SELECT revision FROM catalog_revision) AS revision, count(*) AS row_count,
           sum(length(row_json) + coalesce(length(old_row_json), 0)) AS bytes
      FROM catalog_changes`);
  return {
    revision: Number(row?.revision),
    rows: Number(row?.row_count),
    bytes: Number(row?.bytes),
  };
}
