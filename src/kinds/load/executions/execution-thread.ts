/** The thread that writes executions to the lake: encoding, files and commits cost the load's own thread nothing. */
import { parentPort, workerData } from "node:worker_threads";
import { emptyStaging, LakeAppender, LakeStore, openLakeFiles } from "../../../data/lake/index.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { encodeError } from "../../../ground/kernel/error-codec.ts";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../ground/kernel/node/system-random.ts";
import { openStore } from "../../../ground/store/index.ts";
import { buffersOf } from "./execution-buffer.ts";
import type { FromThread, ThreadOptions, ToThread } from "./execution-messages.ts";
import { rowsOf } from "./execution-rows.ts";
import { executionColumns, executionTable } from "./execution-table.ts";

const openPauseMs = 1_000;
const clock: Clock = realClock;
const options = workerData as ThreadOptions;
const { source } = options;
const never = new AbortController().signal;
const opened = openAppender();
let last: Promise<void> = Promise.resolve();

assert(parentPort !== null, "this is a thread");
const port = parentPort;
port.on("message", (message: ToThread) => {
  last = last.then(() => write(message)); // One at a time, in order.
});

async function write({ batch, first, originMs }: ToThread): Promise<void> {
  let answer: FromThread;
  try {
    const appender = await opened;
    const token = `load/${source.testId}/${first}`;
    await appender.append(rowsOf(batch, source, { first, originMs }), token, never);
    answer = { first, batch };
  } catch (thrown) {
    answer = { first, error: encodeError(thrown) };
  }
  port.postMessage(answer, "batch" in answer ? buffersOf(answer.batch) : []);
}

/** A store that is away is waited for, as by `LakeAppender` later. */
async function openAppender(): Promise<LakeAppender> {
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
        author: `load worker ${source.workerId}`,
        prng: prng.fork("files"),
        clock,
      });
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) || thrown.retry === "never") throw thrown;
      await sleep(clock, openPauseMs);
    }
  }
}
