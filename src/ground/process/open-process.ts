/** Opens what a coordinator, a query-api and a worker have in common. */
import type { Clock } from "../kernel/clock.ts";
import { HealthBoard } from "../kernel/health.ts";
import { realClock } from "../kernel/node/real-clock.ts";
import { createSystemPrng } from "../kernel/node/system-random.ts";
import type { Prng } from "../kernel/prng.ts";
import { Metrics, showHealth, startTracing, type Tracing } from "../observe/index.ts";
import type { Shares } from "./core/decide-shares.ts";
import { lockDir } from "./data-dir.ts";
import { type Machine, machine } from "./machine.ts";
import { decideMemoryBytes, warnOfSmallLimit } from "./memory-share.ts";
import { makeOverflowDir } from "./overflow-dir.ts";
import { packageInfo } from "./package-info.ts";
import { type Part, stopStep } from "./part.ts";
import type { ClusterTls, ProcessOptions, ProcessSetup } from "./process-setup.ts";

export interface ProcessContext extends Omit<ProcessSetup, "clusterTls"> {
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly metrics: Metrics;
  readonly health: HealthBoard;
  readonly tracing: Tracing;
  /** A directory that only this process uses while it runs. */
  readonly ownDir: string;
  /** Holds small files while the disk is full; empty where there is no other file system. */
  readonly overflowDir: { readonly overflowDir?: string };
  /** What this process may use of the machine, and for what. */
  readonly shares: Shares;
  readonly host: string;
  /** For connections within the cluster; empty without certificates. */
  readonly tls: { readonly tls?: ClusterTls };
  readonly warmUp: boolean;
}

export interface ProcessKind {
  readonly role: "coordinator" | "query_api" | "worker";
  readonly memoryLimit?: number | undefined;
  readonly decideShares: (given: { readonly cores: number; readonly limitBytes: number }) => Shares;
}

const clock = realClock;
const places = { coordinator: "controllers", query_api: "controllers", worker: "workers" } as const;

export async function openProcess(
  setup: ProcessSetup,
  options: ProcessOptions,
  name: string,
  kind: ProcessKind,
): Promise<{ readonly context: ProcessContext; readonly part: Part }> {
  const { logger, dataDir, clusterTls } = setup;
  const { version } = packageInfo();
  const ownDir = dataDir.ownDir(places[kind.role], name);
  const lock = await lockDir(ownDir, "lock", clock, 5_000);
  const metrics = new Metrics({ process: kind.role, version });
  const health = new HealthBoard({ clock, logger });
  showHealth(metrics, health);
  const tracing = await startTracing({
    serviceName: `capstan-${kind.role.replace("_", "-")}`,
    instance: name,
    version,
    env: process.env,
  });
  const overflow = makeOverflowDir(ownDir);
  const context = {
    ...setup,
    name,
    version,
    clock,
    prng: createSystemPrng(),
    metrics,
    health,
    tracing,
    ownDir,
    overflowDir: overflow === undefined ? {} : { overflowDir: overflow.path },
    shares: shareMachine(kind, machine(), setup),
    host: options.host,
    tls: clusterTls === undefined ? {} : { tls: clusterTls },
    warmUp: options.warmUp !== "off",
  };
  const close = [
    stopStep("delete overflow", 500, () => overflow?.remove()),
    stopStep("send spans", 2_000, () => tracing.close()),
    stopStep("unlock", 500, () => lock.release()),
  ];
  return { context, part: { name: "process", close } };
}

function shareMachine(
  kind: ProcessKind,
  { cores, totalBytes }: Machine,
  { logger }: ProcessSetup,
): Shares {
  const memoryKind = kind.role === "worker" ? "worker" : "coordinator";
  const limitBytes = kind.memoryLimit ?? decideMemoryBytes(memoryKind, { totalBytes, workers: 1 });
  const shares = kind.decideShares({ cores, limitBytes });
  warnOfSmallLimit(limitBytes, shares.memory.limitBytesMin, logger);
  return shares;
}
