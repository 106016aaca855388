/**
 * The whole path for scripts: two worker processes, segments in a lake on disk, slices of the head
 * and artifacts over HTTP, and the controller's side in this process, made of the same parts as a
 * query-api.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGrpcDialer, staticDiscovery } from "../../src/ground/cluster/index.ts";
import { assert } from "../../src/ground/kernel/errors.ts";
import { parseControllerId } from "../../src/ground/kernel/ids.ts";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { createHttpArtifactFetcher } from "../../src/ground/work/index.ts";
import { ControllerNode } from "../../src/ground/work/node/controller-node.ts";
import { scriptEngineOptions } from "../../src/kinds/ask/promql/testing/direct-engine.ts";
import {
  createPromqlService,
  type StartedPromqlService,
} from "../../src/kinds/ask/run/create-promql-service.ts";
import { type CapstanProcess, startProcess, waitFor } from "../../test/e2e/harness.ts";
import { openScriptStore, type ScriptStore, type StoreOptions } from "./script-store.ts";

export const shardCount = 4;
const workerCount = 2;
const token = "conformance-cluster-token-of-32-characters";
const clock = realClock;
const logger = silentLogger;

export class RealCluster {
  readonly #dir: string;
  readonly #workers: readonly CapstanProcess[];
  readonly #node: ControllerNode;
  readonly #fetcher: Awaited<ReturnType<typeof createHttpArtifactFetcher>>;
  #service: StartedPromqlService | undefined;
  #store: ScriptStore | undefined;
  #storesOpened = 0;

  constructor(
    dir: string,
    workers: readonly CapstanProcess[],
    node: ControllerNode,
    fetcher: Awaited<ReturnType<typeof createHttpArtifactFetcher>>,
  ) {
    this.#dir = dir;
    this.#workers = workers;
    this.#node = node;
    this.#fetcher = fetcher;
  }

  get service(): StartedPromqlService {
    assert(this.#service !== undefined, "the cluster was started");
    return this.#service;
  }

  async start(): Promise<void> {
    this.#node.start();
    const { manager } = this.#node;
    await waitFor(
      "sessions with the workers",
      () => (manager.workers().length === workerCount ? true : undefined),
      30_000,
      () => this.#workers.map(({ output }) => output).join("\n"),
    );
    this.#service = await createPromqlService({
      manager,
      segments: { list: async (range) => this.#current().list(range) },
      head: async () => await this.#current().snapshot(),
      clock,
      prng: createPrng("conformance"),
      logger,
      engine: scriptEngineOptions,
      keepResults: true,
      forcedCut: { shardCount },
    });
  }

  /** A new and empty metrics database; the one before is gone. */
  async openStore(options: StoreOptions): Promise<ScriptStore> {
    await this.#store?.close();
    this.#storesOpened += 1;
    this.#store = await openScriptStore({
      ...options,
      walDir: join(this.#dir, `wal-${this.#storesOpened}`),
      lakeDir: join(this.#dir, "lake"),
      shardCount,
      token,
    });
    return this.#store;
  }

  async close(): Promise<void> {
    await this.#service?.close();
    await this.#store?.close();
    await this.#node.stop({ drainMs: 0 });
    await this.#fetcher.close();
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #current(): ScriptStore {
    assert(this.#store !== undefined, "a store was opened");
    return this.#store;
  }
}

export async function startRealCluster(): Promise<RealCluster> {
  const dir = mkdtempSync(join(tmpdir(), "capstan-conformance-"));
  const ports = await freePorts(workerCount);
  const workers = ports.map((port, index) =>
    startProcess(
      [
        ...["worker", "--name", `worker-${index + 1}`, "--grpc-port", String(port)],
        ...["--data-dir", join(dir, `worker-${index + 1}`), "--lake", join(dir, "lake")],
        ...["--log-format", "json"],
      ],
      { CAPSTAN_CLUSTER_TOKEN: token },
    ),
  );
  const controllerId = parseControllerId("conformance");
  assert(controllerId !== undefined, "a controller has a name");
  const fetcher = await createHttpArtifactFetcher({
    token,
    dir: join(dir, "fetched"),
    clock,
    logger,
  });
  const node = new ControllerNode({
    role: "query_api",
    controllerId,
    clock,
    prng: createPrng("controller"),
    logger,
    dialer: createGrpcDialer({ token, clock, logger }),
    fetcher,
    discovery: staticDiscovery(
      ports.map((grpcPort) => ({ address: { host: "127.0.0.1", grpcPort } })),
    ),
  });
  const cluster = new RealCluster(dir, workers, node, fetcher);
  try {
    await cluster.start();
  } catch (thrown) {
    await cluster.close();
    throw thrown;
  }
  return cluster;
}

/** Free a moment ago, and different from each other. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert(address !== null && typeof address === "object", "it listens on a port");
    ports.push(address.port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
