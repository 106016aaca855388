/** A cluster in one process: real threads, files and HTTP; only the sessions are in memory. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert } from "../../../../ground/kernel/errors.ts";
import { type Incarnation, parseWorkerId, type WorkerId } from "../../../../ground/kernel/ids.ts";
import { type Logger, silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import type { Artifact } from "../../../../ground/work/core/index.ts";
import { ApiWorkManager, WorkerWorkManager } from "../../../../ground/work/core/index.ts";
import {
  type FsArtifactSpool,
  openFsArtifactSpool,
} from "../../../../ground/work/fs/fs-artifact-spool.ts";
import {
  type ArtifactServer,
  startArtifactServer,
} from "../../../../ground/work/http/artifact-server.ts";
import {
  createHttpArtifactFetcher,
  type HttpArtifactFetcher,
} from "../../../../ground/work/http/http-artifact-fetcher.ts";
import { LoopbackPool } from "../../../../ground/work/testing/loopback-pool.ts";
import { createPromqlService, type StartedPromqlService } from "../create-promql-service.ts";
import { createPromqlExecutor, type PromqlExecutor } from "../promql-executor.ts";
import type { PromqlServiceDeps } from "../service-options.ts";

export const clusterToken = "cluster-secret";

export interface PromqlClusterOptions
  extends Pick<
    PromqlServiceDeps,
    | "segments"
    | "head"
    | "headMissing"
    | "forcedCut"
    | "limits"
    | "engine"
    | "observer"
    | "computeUnits"
  > {
  readonly lakeDir: string;
  readonly workers?: number;
  /** For each worker. */
  readonly threads?: number;
  readonly cacheBytes?: number;
  readonly workBytesMax?: number;
  readonly logger?: Logger;
}

export interface ClusterWorker {
  readonly workerId: WorkerId;
  readonly manager: WorkerWorkManager;
  readonly spool: FsArtifactSpool;
  readonly executor: PromqlExecutor;
  readonly server: ArtifactServer;
}

export interface PromqlCluster {
  readonly service: StartedPromqlService;
  readonly manager: ApiWorkManager;
  readonly workers: readonly ClusterWorker[];
  readonly pool: LoopbackPool;
  readonly fetchedDir: string;
  /** Changes an artifact once, between its offer and its fetch. */
  mischief: ((workerId: WorkerId, artifact: Artifact) => void) | undefined;
  close(): Promise<void>;
}

export async function startPromqlCluster(options: PromqlClusterOptions): Promise<PromqlCluster> {
  const dir = mkdtempSync(join(tmpdir(), "capstan-promql-"));
  const fetchedDir = join(dir, "fetched");
  const pool = new LoopbackPool();
  const logger = options.logger ?? silentLogger;
  const fetcher: HttpArtifactFetcher = await createHttpArtifactFetcher({
    token: clusterToken,
    dir: fetchedDir,
    clock: realClock,
    logger,
  });
  const cluster: Omit<PromqlCluster, "service"> & { service?: StartedPromqlService } = {
    manager: new ApiWorkManager({
      pool,
      clock: realClock,
      logger,
      fetcher: {
        fetch(workerId, artifact, signal, key) {
          const once = cluster.mischief;
          cluster.mischief = undefined;
          if (once === undefined) return fetcher.fetch(workerId, artifact, signal, key);
          once(workerId, artifact);
          const { content: _, ...offered } = artifact; // So that it is really fetched.
          return fetcher.fetch(workerId, offered, signal, key);
        },
      },
    }),
    workers: [],
    pool,
    fetchedDir,
    mischief: undefined,
    async close() {
      cluster.manager.close();
      await cluster.service?.close();
      for (const worker of workers) await closeWorker(worker);
      await fetcher.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  const workers: ClusterWorker[] = [];
  for (let index = 1; index <= (options.workers ?? 2); index += 1) {
    workers.push(await startWorker(`w${index}`, dir, pool, options));
  }
  const { segments, head, headMissing, forcedCut, limits, engine, observer, computeUnits } =
    options;
  const service = createPromqlService({
    manager: cluster.manager,
    segments,
    head,
    clock: realClock,
    prng: createPrng(7),
    logger,
    ...(headMissing === undefined ? {} : { headMissing }),
    ...(forcedCut === undefined ? {} : { forcedCut }),
    ...(limits === undefined ? {} : { limits }),
    ...(engine === undefined ? {} : { engine }),
    ...(observer === undefined ? {} : { observer }),
    ...(computeUnits === undefined ? {} : { computeUnits }),
  });
  return Object.assign(cluster, { service, workers });
}

async function startWorker(
  name: string,
  dir: string,
  pool: LoopbackPool,
  options: PromqlClusterOptions,
): Promise<ClusterWorker> {
  const workerId = parseWorkerId(name);
  assert(workerId !== undefined, "a worker has a name");
  const logger = options.logger ?? silentLogger;
  const spool = await openFsArtifactSpool({
    baseDir: join(dir, name),
    incarnation: "i-1" as Incarnation,
    capacityBytes: 1024 ** 3,
    clock: realClock,
    logger,
  });
  const executor = await createPromqlExecutor({
    threads: options.threads ?? 1,
    lakeDir: options.lakeDir,
    clusterToken,
    cacheBytes: options.cacheBytes ?? 128 * 1024 ** 2,
    clock: realClock,
    ...(options.workBytesMax === undefined ? {} : { workBytesMax: options.workBytesMax }),
  });
  const server = await startArtifactServer({
    host: "127.0.0.1",
    port: 0,
    token: clusterToken,
    spool,
    logger,
  });
  const manager = new WorkerWorkManager({
    executor,
    spool,
    clock: realClock,
    logger,
    dataUrl: () => server.url,
  });
  manager.attach(pool.reporterOf(workerId));
  pool.connect(workerId, manager);
  return { workerId, manager, spool, executor, server };
}

async function closeWorker({ manager, executor, server, spool }: ClusterWorker): Promise<void> {
  manager.close();
  await manager.whenIdle();
  await server.close();
  await executor.close();
  await spool.close();
}
