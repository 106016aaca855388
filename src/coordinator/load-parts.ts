/** The coordinator's share of load tests: while it leads it sees to runs, started by whomever. A query-api only reads. */
import type { Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Prng } from "../kernel/prng.ts";
import {
  emptyStaging,
  LakeAppender,
  type LakeStatements,
  type LakeStore,
  type ObjectStore,
} from "../lake/index.ts";
import {
  checkAllowedEnvs,
  createLakeRunRecords,
  createLocalSpawner,
  createTargetFiles,
  enrichmentColumns,
  enrichmentTable,
  HostSpawner,
  LoadService,
  openTarget,
  ProcessStore,
  RunOrchestrator,
  type StartTargetProcess,
  type TargetAnswer,
  type TargetOpen,
  type TargetRequest,
  TemplateStore,
  targetScriptBytes,
} from "../load/index.ts";
import { decideLoadWorkerBytes, machine } from "../process/index.ts";
import { BoundedProcess, type BoundedProcessOptions, type Engine } from "../queries/index.ts";
import type { Store } from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import { asLeader } from "./not-leader.ts";

export interface LoadPartsConfig {
  readonly node: ControllerNode;
  readonly store: Store;
  readonly leaseName: string;
  readonly storeUrl: string;
  readonly dataDir: string;
  /**
   * Databases beyond the data directory that load tests may open, and variables that they may send.
   */
  readonly allowedFiles: readonly string[];
  readonly passwordEnvs: readonly string[];
  /** As they were given. */
  readonly loadMemoryLimit: number | undefined;
  readonly lake: string | undefined;
  /** Of this process: what statements at Prepare have, as others' SQL has. */
  readonly memory: Pick<BoundedProcessOptions, "engineBytesMax" | "treeBytesMax">;
  readonly catalog: LakeStore;
  readonly objects: ObjectStore;
  /** For files on their way to the lake. Nobody else's. */
  readonly stagingDir: string;
  readonly statements: Pick<LakeStatements, "run">;
  /** In milliseconds; `undefined`: for ever. */
  readonly keepRuns: number | undefined;
  readonly upkeepEvery: number | undefined;
  readonly engine: Engine;
  readonly apiUrl: string;
  readonly clusterToken: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
}

export interface LoadParts {
  readonly service: LoadService;
  start(): void;
  stop(): Promise<void>;
}

/** Of all records of a few old runs. */
const deleteMsMax = 600_000;

export async function createLoadParts(config: LoadPartsConfig): Promise<LoadParts> {
  const { node, store, catalog, objects, engine, clusterToken, clock, prng, logger } = config;
  const places = { dataDir: config.dataDir, allowed: config.allowedFiles };
  const files = createTargetFiles(places);
  checkAllowedEnvs(config.passwordEnvs);
  const executions = { store, catalog, engine, objects };
  await emptyStaging(config.stagingDir);
  const appender = new LakeAppender({
    catalog,
    objects,
    stagingDir: config.stagingDir,
    table: { name: enrichmentTable, columns: enrichmentColumns },
    author: "load tests",
    prng: prng.fork("enrichment"),
    clock,
  });
  const change = async (sql: string, signal: AbortSignal): Promise<void> => {
    await config.statements.run(sql, { mayWrite: true, timeoutMs: deleteMsMax }, signal);
  };
  const templates = new TemplateStore(store, prng.fork("templates"));
  const lease = () => node.lease?.grant();
  const spawner = new HostSpawner({
    here: createLocalSpawner({ ...config, coordinatorUrl: config.apiUrl }),
    processes: new ProcessStore(store),
    isAble: (name) =>
      node.pool
        .views()
        .some(({ workerId, live }) => workerId === name && live?.facts.starts_load === "yes"),
    lease,
    coordinatorUrl: config.apiUrl,
    clock,
    logger,
  });
  const open = (
    target: Parameters<typeof openTarget>[0],
    password: string | null,
    queryTag: string,
  ) =>
    openTarget(target, password, clock, {
      tag: queryTag,
      files,
      workerBytes: config.loadMemoryLimit ?? decideLoadWorkerBytes(machine().totalBytes, 1),
      bounded: {
        start: targetProcessStarter(config),
        files: places,
        processBytes: config.memory.engineBytesMax,
      },
    });
  const orchestrator = new RunOrchestrator({
    store,
    spawner,
    openTarget: open,
    records: createLakeRunRecords({ ...executions, appender, change }),
    ...(config.keepRuns === undefined ? {} : { keepRunsMs: config.keepRuns }),
    ...(config.upkeepEvery === undefined ? {} : { upkeepMs: config.upkeepEvery }),
    clusterToken,
    threadCpuMs,
    lease,
    clock,
    prng: prng.fork("runs"),
    logger,
  });
  const service = new LoadService({
    store,
    templates,
    orchestrator,
    openTarget: open,
    executions,
    clusterToken,
    files,
    passwordEnvs: config.passwordEnvs,
    asLeader: (change) => asLeader(config, change),
    env: process.env,
  });
  let seeded = false;
  const follow = (): void => {
    orchestrator.leaseChanged();
    if (seeded || !node.leading()) return;
    seeded = true;
    templates.seed().catch((thrown: unknown) => {
      seeded = false; // With the next grant.
      logger.warn({}, `the ready templates are not there yet: ${messageOf(thrown)}`);
    });
  };
  let unfollow: () => void = () => undefined;
  return {
    service,
    start() {
      unfollow = node.lease?.onChange(follow) ?? unfollow;
      orchestrator.open();
      follow();
    },
    async stop() {
      unfollow();
      await orchestrator.close();
      spawner.close();
    },
  };
}

/** A person's load_sql, reset_sql and statements are tried under the bounds of their SQL on workers. */
function targetProcessStarter({ memory, clock, logger }: LoadPartsConfig): StartTargetProcess {
  return (module, open) =>
    new BoundedProcess<TargetOpen, TargetRequest, TargetAnswer>(
      {
        ...memory,
        module,
        threads: 2,
        connections: 4,
        scriptBytes: targetScriptBytes,
        clock,
        logger,
      },
      open,
    );
}

/** In milliseconds. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
