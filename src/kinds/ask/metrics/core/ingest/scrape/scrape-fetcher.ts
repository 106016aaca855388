/** Ports for scraped text and for files that list targets. */
import type { FileDiscovery } from "./scrape-config.ts";
import type { Target } from "./target.ts";
import type { ScrapedBody } from "./target-samples.ts";

export interface ScrapeFetcher {
  /** Returns the decompressed body. Rejects with a readable message, also on abort. */
  fetch(target: Target, signal: AbortSignal): Promise<ScrapedBody>;
}

export interface TargetFile {
  readonly path: string;
  readonly text: string;
}

export interface TargetFiles {
  /** Every matching file, sorted by path. */
  read(discovery: FileDiscovery): Promise<readonly TargetFile[]>;
}
