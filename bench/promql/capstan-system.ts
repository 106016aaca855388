/** `capstan up` with two workers. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, runCli, startCluster } from "../../test/e2e/harness.ts";
import type { System } from "./system.ts";

const workerNames = ["worker-1", "worker-2"];

export class CapstanSystem implements System {
  readonly name = "capstan";
  readonly #dataDir: string;
  #cluster: Cluster | undefined;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  get samplesDir(): string {
    return join(this.#dataDir, "lake");
  }

  url(): string {
    return this.#running().url;
  }

  rootPids(): readonly number[] {
    return [this.#running().pid("up")];
  }

  async start(): Promise<void> {
    if (this.#cluster !== undefined) return;
    mkdirSync(this.#dataDir, { recursive: true });
    this.#cluster = await startCluster({ workers: workerNames.length, dataDir: this.#dataDir });
    await this.#cluster.waitForWorkers("ACTIVE", workerNames);
  }

  async stop(): Promise<void> {
    await this.#cluster?.stop();
    this.#cluster = undefined;
  }

  async import(file: string): Promise<void> {
    await this.start();
    const args = ["metrics", "import", file, "--format", "openmetrics", "--url", this.url()];
    const { code, stderr, stdout } = await runCli(args);
    assert.equal(code, 0, `the import failed: ${stdout}${stderr}`);
  }

  #running(): Cluster {
    assert(this.#cluster !== undefined, "it is not running");
    return this.#cluster;
  }
}
