/** One import's own thread: reading gigabytes of text must hold up neither the process nor the head. */
import { parentPort, workerData } from "node:worker_threads";
import { assert, OperatingError } from "../../kernel/errors.ts";
import { MalformedInput } from "../core/ingest/malformed.ts";
import { exemplarToMessage } from "./batch-message.ts";
import { ImportRun } from "./import/import-run.ts";
import type { FromImportThread, ImportThreadOptions, ToImportThread } from "./import-messages.ts";
import { encodeFileError } from "./thread-desk.ts";

const port = parentPort;
assert(port !== null, "an import runs in a thread of its own");
const run = new ImportRun(workerData as ImportThreadOptions);
let failed: boolean = false;

port.on("message", (message: ToImportThread) => {
  if (!failed) void receive(message);
});

async function receive(message: ToImportThread): Promise<void> {
  try {
    if (message.kind === "chunk") {
      run.feed(message.bytes);
      post({ kind: "progress", progress: run.progress });
      return;
    }
    const { segments, result, metadata, exemplars } = await run.finish();
    const sent = exemplars.map(exemplarToMessage);
    post({ kind: "done", segments, result, metadata, exemplars: sent });
    port?.close();
  } catch (thrown) {
    failed = true;
    await run.discard();
    post({ kind: "failed", error: encodeFileError(asBadRequest(thrown)) });
    port?.close();
  }
}

function asBadRequest(thrown: unknown): unknown {
  if (!(thrown instanceof MalformedInput)) return thrown;
  return new OperatingError("bad_request", "never", thrown.message, { cause: thrown });
}

function post(message: FromImportThread): void {
  port?.postMessage(message);
}
