/**
 * A process that starts a worker and is then killed: `node spawning-parent.ts DATA_DIR`. Says the
 * worker's process id.
 */

import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { testRun, testWorker } from "../../testing/ids.ts";
import { LocalSpawner } from "../local-spawner.ts";
import { stubCommand } from "./stub-command.ts";

const [dataDir = ""] = process.argv.slice(2);
const spawner = new LocalSpawner({
  command: stubCommand,
  storeUrl: "postgres://me:dont-tell@localhost/x",
  dataDir,
  loadMemoryLimit: 1024 ** 3,
  coordinatorUrl: "http://127.0.0.1:1",
  clusterToken: "dont-tell-either",
  clock: realClock,
  logger: {
    ...silentLogger,
    info: ({ process_id: id }) => void (id !== undefined && process.stdout.write(`${id}\n`)),
  },
});
await spawner.spawn({
  runId: testRun("run-1"),
  workerId: testWorker("worker-0"),
  groupId: 0,
  groupCount: 2,
});
