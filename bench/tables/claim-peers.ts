/**
 * Queues for jobs on Postgres to compare with, where a person has installed them: `npm install
 * graphile-worker pg-boss` in a directory of its own, whose name is in `CAPSTAN_PEERS`. They are no
 * dependency of this project.
 *
 *   graphile-worker  its runner with as many jobs at a time; all jobs are there before it starts. A
 *                    job is fetched by one statement (SKIP LOCKED) and deleted by another.
 *   pg-boss          as many loops of `fetch`, one job each, and `complete`. A job is two UPDATEs
 *                    of one row.
 */
import { findPeer } from "../find-peer.ts";

export interface PeerRun {
  readonly url: string;
  readonly jobs: number;
  readonly loops: number;
}

export interface Peer {
  readonly name: string;
  /** Milliseconds from the first fetch to the last job's end. */
  readonly run: (run: PeerRun) => Promise<number>;
}

export function findPeers(): readonly Peer[] {
  const graphile = findPeer<GraphileWorker>("graphile-worker");
  const boss = findPeer<PgBossModule>("pg-boss");
  return [
    ...(graphile === undefined ? [] : [graphilePeer(graphile)]),
    ...(boss === undefined ? [] : [pgBossPeer(boss)]),
  ];
}

interface GraphileWorker {
  runMigrations(options: object): Promise<void>;
  makeWorkerUtils(options: object): Promise<{
    addJobs(jobs: readonly { identifier: string; payload: object }[]): Promise<unknown>;
    release(): Promise<void>;
  }>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
  Logger: new (factory: () => () => void) => object;
}

function graphilePeer({ runMigrations, makeWorkerUtils, run, Logger }: GraphileWorker): Peer {
  return {
    name: "graphile_worker",
    run: async ({ url, jobs, loops }) => {
      const base = { connectionString: url, logger: new Logger(() => () => undefined) };
      await runMigrations(base);
      const utils = await makeWorkerUtils(base);
      await utils.addJobs(
        Array.from({ length: jobs }, (_, index) => ({ identifier: "empty", payload: { index } })),
      );
      await utils.release();
      const done = Promise.withResolvers<void>();
      let left = jobs;
      const empty = async (): Promise<void> => {
        left -= 1;
        if (left === 0) done.resolve();
      };
      const startedMs = performance.now();
      const runner = await run({
        ...base,
        concurrency: loops,
        taskList: { empty },
        noHandleSignals: true,
        maxPoolSize: loops + 2,
      });
      await done.promise;
      await runner.stop(); // Waits until the last job has ended in the database, too.
      return performance.now() - startedMs;
    },
  };
}

interface PgBoss {
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  createQueue(name: string): Promise<void>;
  insert(jobs: readonly { name: string; data: object }[]): Promise<unknown>;
  fetch(name: string, options: object): Promise<readonly { id: string }[]>;
  complete(name: string, id: string): Promise<unknown>;
  on(event: "error", listener: () => void): void;
}
type PgBossClass = new (options: object) => PgBoss;
type PgBossModule = PgBossClass | { readonly PgBoss: PgBossClass };

function pgBossPeer(module: PgBossModule): Peer {
  const Boss = "PgBoss" in module ? module.PgBoss : module;
  const queue = "empty";
  return {
    name: "pg_boss",
    run: async ({ url, jobs, loops }) => {
      const boss = new Boss({ connectionString: url, max: loops + 2, supervise: false });
      boss.on("error", () => undefined);
      await boss.start();
      try {
        await boss.createQueue(queue);
        await boss.insert(
          Array.from({ length: jobs }, (_, index) => ({ name: queue, data: { index } })),
        );
        const loop = async (): Promise<void> => {
          for (;;) {
            const [job] = await boss.fetch(queue, { batchSize: 1 });
            if (job === undefined) return;
            await boss.complete(queue, job.id);
          }
        };
        const startedMs = performance.now();
        await Promise.all(Array.from({ length: loops }, loop));
        return performance.now() - startedMs;
      } finally {
        await boss.stop({ graceful: false });
      }
    },
  };
}
