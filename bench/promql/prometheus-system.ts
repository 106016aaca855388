/** One Prometheus, on blocks that promtool made. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import {
  createBlocks,
  type PrometheusBinaries,
  type PrometheusServer,
  startPrometheus,
} from "./prometheus.ts";
import type { System } from "./system.ts";

/** Its default is 50 million; a day of ten thousands of series needs more. */
const samplesMax = 1_000_000_000;

export class PrometheusSystem implements System {
  readonly name = "prometheus";
  readonly samplesDir: string;
  readonly #binaries: PrometheusBinaries;
  #server: PrometheusServer | undefined;

  constructor(binaries: PrometheusBinaries, samplesDir: string) {
    this.#binaries = binaries;
    this.samplesDir = samplesDir;
  }

  url(): string {
    assert(this.#server !== undefined, "it is not running");
    return this.#server.url;
  }

  rootPids(): readonly number[] {
    return this.#server === undefined ? [] : [this.#server.pid];
  }

  async start(): Promise<void> {
    this.#server ??= await startPrometheus(this.#binaries, this.samplesDir, [
      `--query.max-samples=${samplesMax}`,
    ]);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  async import(file: string): Promise<void> {
    mkdirSync(this.samplesDir, { recursive: true });
    await createBlocks(this.#binaries, file, this.samplesDir);
  }
}
