/**
 * The coordinator's part of load tests. While it leads, it controls all runs, whoever started them.
 * A query-api only reads.
 */

import { join } from "node:path";
import { BoundedProcess } from "../../../data/duckdb/index.ts";
import { emptyStaging, LakeAppender } from "../../../data/lake/index.ts";
import type { ControllerPart, CoordinatorContext } from "../../../data/parts/index.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import { decideLoadWorkerBytes, machine, stopStep } from "../../../ground/process/index.ts";
import { enrichmentColumns, enrichmentTable } from "../executions/enrichment-table.ts";
import { createLakeRunRecords } from "../executions/lake-run-records.ts";
import { HostSpawner } from "../host/host-spawner.ts";
import { LocalSpawner } from "../host/local-spawner.ts";
import { readRunsAttention } from "../http/attention.ts";
import { loadRoutes } from "../http/load-routes.ts";
import { RunOrchestrator } from "../orchestrator/run-orchestrator.ts";
import type { LoadServiceOptions } from "../service/load-service.ts";
import { LoadService } from "../service/load-service.ts";
import { checkAllowedEnvs } from "../service/password-env.ts";
import { createLoadRelations } from "../service/sql-relations.ts";
import { ProcessStore } from "../store/process-store.ts";
import {
  type StartTargetProcess,
  type TargetService,
  targetScriptBytes,
} from "../targets/bounded/messages.ts";
import { openTarget } from "../targets/open-target.ts";
import type { TargetFiles } from "../targets/target-files.ts";
import { createTargetFiles } from "../targets/target-files.ts";
import { TemplateStore } from "../templates/store/template-store.ts";

/** Options of the command line. Times are in milliseconds. */
export interface LoadOptions {
  /**
   * Database files outside the data directory that load tests may open, and environment variables
   * that they may send.
   */
  readonly allowTargetFile?: readonly string[];
  readonly allowPasswordEnv?: readonly string[];
  readonly loadMemoryLimit?: number;
  readonly lake?: string;
  /** How long runs are kept; undefined keeps them for ever. */
  readonly keepRuns?: number;
  readonly upkeepEvery?: number;
}

/** Time limit for deleting all records of a few old runs. */
const deleteMsMax = 600_000;

export async function createLoadPart(
  context: CoordinatorContext,
  options: LoadOptions,
): Promise<ControllerPart> {
  const { store, clock, leadership } = context;
  const passwordEnvs = options.allowPasswordEnv ?? [];
  checkAllowedEnvs(passwordEnvs);
  const prng = context.prng.fork("load");
  const templates = new TemplateStore(store, prng.fork("templates"));
  const places = { dataDir: context.dataDir.path, allowed: options.allowTargetFile ?? [] };
  const files = createTargetFiles(places);
  const openTarget = targetOpener(context, options, places, files);
  const spawner = createSpawner(context, options);
  const orchestrator = await createOrchestrator(context, options, { openTarget, spawner, prng });
  const service = new LoadService({
    store,
    templates,
    orchestrator,
    openTarget,
    executions: context,
    clusterToken: context.clusterToken,
    files,
    passwordEnvs,
    asLeader: (change) => leadership.asLeader(change),
    env: process.env,
  });
  const part = {
    name: "load",
    relations: createLoadRelations(store),
    routes: loadRoutes(service),
    attention: { "load tests": () => readRunsAttention(service, clock) },
  };
  // A query-api only reads.
  return context.role === "query_api"
    ? part
    : { ...part, ...leading(context, templates, orchestrator, spawner) };
}

/** Controls all runs while this process leads, whoever started them. */
function leading(
  { node, logger }: CoordinatorContext,
  templates: TemplateStore,
  orchestrator: RunOrchestrator,
  spawner: HostSpawner,
): Pick<ControllerPart, "start" | "quiesce"> {
  let seeded = false;
  const follow = (): void => {
    orchestrator.leaseChanged();
    if (seeded || !node.leading()) return;
    seeded = true;
    templates.seed().catch((thrown: unknown) => {
      seeded = false; // Seeded again with the next grant of the lease.
      logger.warn({}, `the ready templates are not there yet: ${messageOf(thrown)}`);
    });
  };
  let unfollow: () => void = () => undefined;
  const stop = async (): Promise<void> => {
    unfollow();
    await orchestrator.close();
    spawner.close();
  };
  return {
    start() {
      unfollow = node.lease?.onChange(follow) ?? unfollow;
      orchestrator.open();
      follow();
    },
    quiesce: [stopStep("stop load tests", 3_000, stop)],
  };
}

function createSpawner(context: CoordinatorContext, options: LoadOptions): HostSpawner {
  const { node, store, apiUrl, clock, logger } = context;
  return new HostSpawner({
    here: new LocalSpawner({
      storeUrl: context.storeUrl,
      dataDir: context.dataDir.path,
      allowedFiles: options.allowTargetFile,
      loadMemoryLimit: options.loadMemoryLimit,
      lake: options.lake,
      clusterToken: context.clusterToken,
      coordinatorUrl: apiUrl,
      clock,
      logger,
    }),
    processes: new ProcessStore(store),
    isAble: (name) =>
      node.pool
        .views()
        .some(({ workerId, live }) => workerId === name && live?.facts.starts_load === "yes"),
    lease: () => node.lease?.grant(),
    coordinatorUrl: apiUrl,
    clock,
    logger,
  });
}

async function createOrchestrator(
  context: CoordinatorContext,
  { keepRuns, upkeepEvery }: LoadOptions,
  parts: {
    readonly openTarget: OpenTarget;
    readonly spawner: HostSpawner;
    readonly prng: Prng;
  },
): Promise<RunOrchestrator> {
  const { node, store, catalog, objects, statements, clusterToken, clock, logger } = context;
  const { prng } = parts;
  const stagingDir = join(context.ownDir, "load-staging");
  await emptyStaging(stagingDir);
  const appender = new LakeAppender({
    catalog,
    objects,
    stagingDir,
    table: { name: enrichmentTable, columns: enrichmentColumns },
    author: "load tests",
    prng: prng.fork("enrichment"),
    clock,
  });
  const change = async (sql: string, signal: AbortSignal): Promise<void> => {
    await statements.run(sql, { mayWrite: true, timeoutMs: deleteMsMax }, signal);
  };
  return new RunOrchestrator({
    ...parts,
    store,
    records: createLakeRunRecords({ ...context, appender, change }),
    ...(keepRuns === undefined ? {} : { keepRunsMs: keepRuns }),
    ...(upkeepEvery === undefined ? {} : { upkeepMs: upkeepEvery }),
    clusterToken,
    threadCpuMs,
    lease: () => node.lease?.grant(),
    clock,
    prng: prng.fork("runs"),
    logger,
  });
}

type OpenTarget = LoadServiceOptions["openTarget"];

/** Users' load_sql, reset_sql and statements run under the same limits as users' SQL on workers. */
function targetOpener(
  { clock, logger, shares: { memory } }: CoordinatorContext,
  { loadMemoryLimit }: LoadOptions,
  places: { readonly dataDir: string; readonly allowed: readonly string[] },
  files: TargetFiles,
): OpenTarget {
  const bounds = { engineBytesMax: memory.engineBytes, treeBytesMax: memory.limitBytes };
  const process = { threads: 2, connections: 4, scriptBytes: targetScriptBytes, clock, logger };
  const start: StartTargetProcess = (module, open) =>
    new BoundedProcess<TargetService>({ ...bounds, ...process, module }, open);
  return (target, password, tag) =>
    openTarget(target, password, clock, {
      tag,
      files,
      workerBytes: loadMemoryLimit ?? decideLoadWorkerBytes(machine().totalBytes, 1),
      bounded: { start, files: places, processBytes: memory.engineBytes },
    });
}

/** CPU time of this thread so far, in milliseconds. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
