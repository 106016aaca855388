/**
 * The thread of one import: reading gigabytes of text must delay neither the process nor the head.
 */
import "../core/error-codes.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { servePeer } from "../../../../ground/threads/index.ts";
import { MalformedInput } from "../core/ingest/malformed.ts";
import { exemplarToMessage } from "./batch-message.ts";
import { fileError } from "./file-error.ts";
import { ImportRun } from "./import/import-run.ts";
import type { ImportThread, ImportThreadOptions } from "./import-messages.ts";

servePeer<ImportThread, ImportThreadOptions>(
  (options) => {
    const run = new ImportRun(options);
    const orNothing = async <T>(act: () => T | Promise<T>): Promise<T> => {
      try {
        return await act();
      } catch (thrown) {
        await run.discard();
        throw thrown;
      }
    };
    return {
      requests: {
        chunk: (bytes) =>
          orNothing(() => {
            run.feed(bytes);
            return run.progress;
          }),
        finish: () =>
          orNothing(async () => {
            const { exemplars, ...done } = await run.finish();
            return { ...done, exemplars: exemplars.map(exemplarToMessage) };
          }),
      },
      notes: {},
    };
  },
  {
    translate: (thrown) =>
      thrown instanceof MalformedInput
        ? new OperatingError("bad_request", "never", thrown.message, { cause: thrown })
        : fileError(thrown),
  },
);
