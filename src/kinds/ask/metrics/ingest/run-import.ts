/**
 * The process's end of an import: sends chunks one at a time, and publishes all segments at once
 * (IN23).
 *
 * Once publication was tried, files stay: only the catalog knows whether it happened, and files
 * that it does not have are swept as orphans.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import { startThread } from "../../../../ground/threads/index.ts";
import type { ImportProgress } from "../core/ingest-service.ts";
import { segmentsFolder, temporaryFolder } from "../fs/lake.ts";
import type { DoneImport, ImportThread, ImportThreadOptions } from "./import-messages.ts";
import { ownBytes } from "./own-bytes.ts";

/** Returns segments that are on disk and not published. On rejection none are left. */
export async function runImport(
  options: ImportThreadOptions,
  chunks: AsyncIterable<Uint8Array>,
  onProgress: (progress: ImportProgress) => void,
  signal: AbortSignal,
  clock: Clock,
): Promise<DoneImport> {
  if (signal.aborted) throw new OperatingError("cancelled", "never", "the import was cancelled");
  const thread = startThread<ImportThread>({
    module: siblingModule(import.meta.url, "./import-thread"),
    options,
    clock,
    lost: ({ message }) =>
      new OperatingError("store_unavailable", "backoff", `the import broke: ${message}`),
  });
  const whenAborted = "leave";
  try {
    for await (const chunk of chunks) {
      const bytes = ownBytes(chunk);
      const transfer = [bytes.buffer];
      onProgress(await thread.ask("chunk", bytes, { signal, whenAborted, transfer }));
    }
    return await thread.ask("finish", undefined, { signal, whenAborted });
  } catch (thrown) {
    await thread.kill();
    await removeFilesOf(options);
    throw thrown;
  } finally {
    await thread.kill();
  }
}

/** Removes what a thread that died could not remove itself. */
async function removeFilesOf({ lakeDir, importId }: ImportThreadOptions): Promise<void> {
  for (const folder of [temporaryFolder, segmentsFolder]) {
    for (const name of await readdir(join(lakeDir, folder)).catch(() => [])) {
      if (!name.startsWith(importId)) continue;
      await rm(join(lakeDir, folder, name), { recursive: true, force: true });
    }
  }
}
