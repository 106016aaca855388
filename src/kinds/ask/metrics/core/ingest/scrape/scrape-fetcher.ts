/** Where scraped text and lists of targets come from. */
import type { FileDiscovery } from "./scrape-config.ts";
import type { Target } from "./target.ts";
import type { ScrapedBody } from "./target-samples.ts";

export interface ScrapeFetcher {
  /** The body decompressed. Rejects with a message for people when there is none, and when `signal` aborts. */
  fetch(target: Target, signal: AbortSignal): Promise<ScrapedBody>;
}

export interface TargetFile {
  readonly path: string;
  readonly text: string;
}

export interface TargetFiles {
  /** Every file that matches, in the order of their paths. */
  read(discovery: FileDiscovery): Promise<readonly TargetFile[]>;
}
