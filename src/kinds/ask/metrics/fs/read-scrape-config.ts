/** Reads and checks the file of `--scrape-config` before anything starts. */
import "../core/error-codes.ts";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { parseScrapeConfig } from "../core/ingest/scrape/parse-scrape-config.ts";

export interface ScrapeConfigFile {
  readonly text: string;
  /** The directory that relative paths in it refer to. */
  readonly baseDir: string;
  /** What has no effect here, each with its line. */
  readonly ignored: readonly string[];
}

/**
 * Throws `bad_settings`, which names the file and the line. Undefined when no file is configured.
 */
export function readScrapeConfig(path: string | undefined): ScrapeConfigFile | undefined {
  if (path === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (thrown) {
    throw badSettings(`cannot read --scrape-config ${path}: ${messageOf(thrown)}`, thrown);
  }
  try {
    const { ignored } = parseScrapeConfig(text);
    return { text, baseDir: dirname(path), ignored };
  } catch (thrown) {
    throw badSettings(`--scrape-config ${path}: ${messageOf(thrown)}`, thrown);
  }
}

function badSettings(message: string, cause: unknown): OperatingError {
  return new OperatingError("bad_settings", "never", message, { cause });
}
