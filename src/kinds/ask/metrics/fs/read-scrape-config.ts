/**
 * The file that `--scrape-config` names, read and checked before anything starts: a mistake in it
 * must not cost the metrics.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { parseScrapeConfig } from "../core/ingest/scrape/parse-scrape-config.ts";

export interface ScrapeConfigFile {
  readonly text: string;
  /** Relative paths in it are relative to this. */
  readonly baseDir: string;
  /** What is in it and does nothing here, by its lines. */
  readonly ignored: readonly string[];
}

/** Throws `bad_settings` that names the file and the line. `undefined`: there is none. */
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
