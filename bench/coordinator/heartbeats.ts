/**
 * What heartbeats cost the coordinator: a thousand workers with ten running fragments each. The
 * workers are simulated in this process: each has the control port and the endpoint of a real one,
 * and facts of its fragments, but nothing that runs. The catalog has the same queries (one for each
 * worker, with checkpoints once a day), so that there is nothing to command. A command would show
 * in the figures. The CPU time is all that the coordinator's process takes.
 */
import { setTimeout as pause } from "node:timers/promises";
import { WorkerEndpoint } from "../../src/ground/cluster/core/index.ts";
import { startControlServer } from "../../src/ground/cluster/index.ts";
import type { Incarnation, WorkerId } from "../../src/ground/kernel/ids.ts";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { type CatalogTx, openStore } from "../../src/ground/store/index.ts";
import { workerRow } from "../../src/ground/store/testing/worker-row.ts";
import { watchedStreamTables } from "../../src/kinds/stream/catalog/index.ts";
import { type FragmentReport, factKeyOf } from "../../src/kinds/stream/fleet/core/commands.ts";
import { fragmentRow, queryRow } from "../../src/kinds/stream/fleet/testing/views.ts";
import { startCluster, waitFor } from "../../test/e2e/harness.ts";
import { cpuSecondsOf } from "../load/load-cluster.ts";
import type { BenchOptions, Report } from "../report.ts";
import { StreamsCluster } from "./streams-cluster.ts";

const fragmentsPerWorker = 10;
const settleMs = 15_000;
const cpuPerSecondMax = 0.2;
/** So that a transaction stays short: the coordinator renews its lease meanwhile. */
const workersPerTransaction = 20;
const dayMs = 24 * 60 * 60 * 1_000;
const fragments = Array.from({ length: fragmentsPerWorker }, (_, index) => `f${index}`);

export async function benchHeartbeats(
  { workers, seconds }: BenchOptions,
  report: Report,
): Promise<void> {
  const world = new StreamsCluster(await startCluster({ workers: 1 }));
  const simulated = await SimulatedWorkers.start(workers, world.cluster.clusterToken());
  try {
    await simulated.enter(`${world.cluster.dataDir}/store.sqlite`);
    await waitFor("a session with every worker", () =>
      simulated.sessions() === workers ? true : undefined,
    );
    await pause(settleMs); // Every query is reconciled, and code is compiled.
    await reportCpu(world, simulated, Math.max(seconds, 20), report);
  } finally {
    await world.stop();
    await simulated.stop();
  }
}

async function reportCpu(
  { cluster }: StreamsCluster,
  simulated: SimulatedWorkers,
  seconds: number,
  report: Report,
): Promise<void> {
  const pid = cluster.pid("coordinator");
  const before = { atMs: performance.now(), cpu: cpuSecondsOf(pid), beats: simulated.beats };
  await pause(seconds * 1_000);
  const passed = (performance.now() - before.atMs) / 1_000;
  report.figure(
    "heartbeats",
    {
      coordinator_cpu_per_second: {
        value: (cpuSecondsOf(pid) - before.cpu) / passed,
        atMost: cpuPerSecondMax,
      },
      commands: { value: simulated.commands, atMost: 0 },
    },
    {
      workers: simulated.sessions(),
      fragments: simulated.sessions() * fragmentsPerWorker,
      heartbeats_per_second: (simulated.beats - before.beats) / passed,
    },
  );
}

class SimulatedWorkers {
  /** Heartbeats that were answered. */
  beats = 0;
  /** What coordinators wanted of fragments. */
  commands = 0;
  readonly #workers: { readonly endpoint: WorkerEndpoint; readonly port: number }[] = [];
  readonly #servers: { close(): Promise<void> }[] = [];

  static async start(count: number, token: string): Promise<SimulatedWorkers> {
    const all = new SimulatedWorkers();
    for (let number = 0; number < count; number += 1) await all.#start(number, token);
    return all;
  }

  async #start(number: number, token: string): Promise<void> {
    const endpoint = new WorkerEndpoint({
      clock: realClock,
      workerId: nameOf(number) as WorkerId,
      incarnation: `i-${number}` as Incarnation,
      dataUrl: () => "http://127.0.0.1:1",
      capacity: 1,
      softwareVersion: "0.1.0",
      channels: [
        {
          ...{ name: "stream", oldest: 1, newest: 2 },
          receive: () => {
            this.commands += 1;
          },
          sessionLost: () => undefined,
        },
      ],
      logger: silentLogger,
    });
    for (const fragment of fragments) {
      const state: FragmentReport = { fragment, epoch: 1, state: "RUNNING", error: undefined };
      endpoint.setFact(factKeyOf(queryOf(number), fragment), JSON.stringify(state));
    }
    const server = await startControlServer({
      ...{ host: "127.0.0.1", port: 0, token, clock: realClock, logger: silentLogger },
      accept: (link) => {
        const handlers = endpoint.accept(link);
        return {
          onClose: (reason) => handlers.onClose(reason),
          onFrame: (frame) => {
            if (frame.frame.kind === "heartbeat") this.beats += 1;
            handlers.onFrame(frame);
          },
        };
      },
    });
    this.#servers.push(server);
    this.#workers.push({ endpoint, port: server.port });
  }

  /** Writes workers, queries and fragments to the store, as they are when all is deployed. */
  async enter(path: string): Promise<void> {
    const parts = { clock: realClock, logger: silentLogger, watched: watchedStreamTables };
    const store = await openStore({ kind: "sqlite", path, ...parts });
    try {
      for (let from = 0; from < this.#workers.length; from += workersPerTransaction) {
        const some = this.#workers.slice(from, from + workersPerTransaction);
        await store.catalogTransaction(async (tx) => {
          for (const [index, { port }] of some.entries()) await enterOne(tx, from + index, port);
        });
      }
    } finally {
      await store.close();
    }
  }

  sessions(): number {
    return this.#workers.filter(({ endpoint }) => endpoint.sessions().length > 0).length;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}

async function enterOne(tx: CatalogTx, number: number, grpc_port: number): Promise<void> {
  const [worker, query_id] = [nameOf(number), queryOf(number)];
  const nowMs = await tx.nowMs();
  const row = { grpc_port, incarnation: `i-${number}`, registered_at_ms: nowMs };
  await tx.insert("workers", workerRow(worker, row));
  const [state, previous_state, state_changed_at_ms] = ["RUNNING", "DEPLOYING", nowMs] as const;
  const name = `query_${number}`;
  const names = { query_id, name, name_key: name.toUpperCase() };
  await tx.insert("queries", queryRow({ ...names, state, previous_state, state_changed_at_ms }));
  const settings = { checkpointIntervalMs: dayMs, parallelism: 1 };
  const plan = { version: 1, plan: { version: 1, nodes: [], settings }, fragments: [] };
  const stored = { query_id, statement: "", plan_version: 1, plan: JSON.stringify(plan) };
  await tx.db.insertInto("query_plans").values(stored).execute();
  for (const fragment of fragments) {
    const fragment_id = `${query_id}/${fragment}`;
    const own = {
      fragment_id,
      query_id,
      previous_state: "REGISTERED",
      state_changed_at_ms,
    } as const;
    await tx.insert("query_fragments", fragmentRow(`${fragment}@${worker}`, "RUNNING", own));
  }
}

function nameOf(number: number): string {
  return `simulated-${number}`;
}

function queryOf(number: number): string {
  return `${1_000_000 + number}`;
}
