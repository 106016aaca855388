/** Reads target files from this machine's disk. */
import { glob, readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { compareText } from "../../../promql/core/index.ts";
import type { FileDiscovery } from "../../core/ingest/scrape/scrape-config.ts";
import type { TargetFile, TargetFiles } from "../../core/ingest/scrape/scrape-fetcher.ts";

/** A target file has at most this many bytes; a larger one is rejected. */
const fileBytesMax = 16 * 1024 * 1024;

export class FsTargetFiles implements TargetFiles {
  /** Relative patterns refer to this directory. */
  baseDir = ".";

  async read(discovery: FileDiscovery): Promise<readonly TargetFile[]> {
    const paths = new Set<string>();
    for (const pattern of discovery.files) {
      for await (const path of glob(resolve(this.baseDir, pattern))) paths.add(path);
    }
    const files: TargetFile[] = [];
    for (const path of [...paths].sort(compareText)) {
      const { size } = await stat(path);
      if (size > fileBytesMax) throw new Error(`${path} is larger than a list of targets can be`);
      files.push({ path, text: await readFile(path, "utf8") });
    }
    return files;
  }
}
