/**
 * The scrape manager with its fetcher and files. A new configuration may be in another directory.
 */
import type { Clock } from "../../../../../ground/kernel/clock.ts";
import type { Logger } from "../../../../../ground/kernel/logger.ts";
import type { ScrapeConfig } from "../../core/ingest/scrape/scrape-config.ts";
import type { TargetStatus } from "../../core/ingest-service.ts";
import type { AppendOutcome, SampleBatch } from "../../core/model.ts";
import { FsTargetFiles } from "./fs-target-files.ts";
import { HttpScrapeFetcher } from "./http-scrape-fetcher.ts";
import { ScrapeManager, type SelfTarget } from "./scrape-manager.ts";

export interface ScrapeServiceOptions {
  append(batch: SampleBatch): Promise<AppendOutcome>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly offsetSeed: string;
  readonly userAgent: string;
}

export class ScrapeService {
  readonly #manager: ScrapeManager;
  readonly #fetcher: HttpScrapeFetcher;
  readonly #files = new FsTargetFiles();

  constructor(options: ScrapeServiceOptions) {
    this.#fetcher = new HttpScrapeFetcher(options.userAgent);
    this.#manager = new ScrapeManager({
      ...options,
      append: (batch) => options.append(batch),
      fetcher: this.#fetcher,
      files: this.#files,
    });
  }

  async apply(config: ScrapeConfig, baseDir: string): Promise<void> {
    this.#fetcher.baseDir = baseDir;
    this.#files.baseDir = baseDir;
    await this.#manager.apply(config);
  }

  addSelfTarget(self: SelfTarget): void {
    this.#manager.addSelfTarget(self);
  }

  targets(): TargetStatus[] {
    return this.#manager.targets();
  }

  close(): void {
    this.#manager.close();
    this.#fetcher.close();
  }
}
