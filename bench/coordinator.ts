/**
 * The coordinator of continuous queries, in real processes unless a part says otherwise. Parts, for
 * `--only`:
 *
 *   create       from CREATE QUERY to RUNNING, for a keyed window over two workers
 *   requests     catalog requests a second, on SQLite and on Postgres
 *   thousand     a thousand queries deployed and dropped on two workers
 *   restart      a coordinator killed, and another one that takes over, with a thousand queries
 *   failover     from the SIGKILL of a worker to further results
 *   heartbeats   a thousand simulated workers with ten fragments each
 *   checkpoints  two hundred queries with a checkpoint every second
 */
import { benchCheckpoints } from "./coordinator/checkpoints.ts";
import { benchCreate } from "./coordinator/create.ts";
import { benchWorkerKill } from "./coordinator/failover.ts";
import { benchHeartbeats } from "./coordinator/heartbeats.ts";
import { benchRequests } from "./coordinator/requests.ts";
import { benchRestart } from "./coordinator/restart.ts";
import { benchThousand } from "./coordinator/thousand.ts";
import { type BenchOptions, checkPart, type Report } from "./report.ts";

const parts: readonly [
  name: string,
  run: (options: BenchOptions, report: Report) => Promise<void>,
][] = [
  ["create", benchCreate],
  ["requests", benchRequests],
  ["thousand", benchThousand],
  ["restart", benchRestart],
  ["failover", benchWorkerKill],
  ["heartbeats", benchHeartbeats],
  ["checkpoints", benchCheckpoints],
];

export async function benchCoordinator(options: BenchOptions, report: Report): Promise<void> {
  checkPart(
    options,
    parts.map(([name]) => name),
  );
  for (const [name, run] of parts) {
    if (options.only !== undefined && options.only !== name) continue;
    report.say(`coordinator: ${name}`);
    await run(options, report);
  }
}
