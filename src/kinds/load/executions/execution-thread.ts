/**
 * The thread that writes executions to the lake, so that encoding, files and commits do not delay
 * the load.
 */
import "../core/error-codes.ts";
import { emptyStaging, LakeAppender, LakeStore, openLakeFiles } from "../../../data/lake/index.ts";
import { sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock as clock } from "../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../ground/kernel/node/system-random.ts";
import { openStore } from "../../../ground/store/index.ts";
import { servePeer, WithTransfer } from "../../../ground/threads/index.ts";
import { buffersOf } from "./execution-buffer.ts";
import { rowsOf } from "./execution-rows.ts";
import { executionColumns, executionTable } from "./execution-table.ts";
import type { ExecutionThread, ExecutionThreadOptions } from "./thread-sink.ts";

const openPauseMs = 1_000;
const never = new AbortController().signal;

servePeer<ExecutionThread, ExecutionThreadOptions>(async (options) => {
  const appender = await openAppender(options);
  const { source } = options;
  let last: Promise<void> = Promise.resolve();
  return {
    requests: {
      write: async ({ batch, at }) => {
        const token = `load/${source.testId}/${at.first}`;
        const append = () => appender.append(rowsOf(batch, source, at), token, never);
        const written = last.then(append);
        // Batches are written one at a time, in order.
        last = written.then(undefined, () => undefined);
        await written;
        return new WithTransfer(batch, buffersOf(batch));
      },
    },
    notes: {},
  };
});

/** Waits for a store that is unavailable, as `LakeAppender` does later. */
async function openAppender(options: ExecutionThreadOptions): Promise<LakeAppender> {
  const prng = createSystemPrng();
  await emptyStaging(options.stagingDir);
  for (;;) {
    try {
      const store = await openStore({
        ...options.store,
        clock,
        logger: silentLogger,
        prng: prng.fork("store"),
      });
      const { objects } = await openLakeFiles(options.lake, { clock });
      return new LakeAppender({
        catalog: new LakeStore({ store, prng: prng.fork("catalog") }),
        objects,
        stagingDir: options.stagingDir,
        table: { name: executionTable, columns: executionColumns },
        author: `load worker ${options.source.workerId}`,
        prng: prng.fork("files"),
        clock,
      });
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) || thrown.retry === "never") throw thrown;
      await sleep(clock, openPauseMs);
    }
  }
}
