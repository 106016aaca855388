/** A recorder's way to the thread. Batches are moved there and, when they are written, back. */
import { Worker } from "node:worker_threads";
import { decodeError } from "../../../ground/kernel/error-codec.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../ground/kernel/node/sibling-module.ts";
import { buffersOf, type ExecutionBatch } from "./execution-buffer.ts";
import type { FromThread, ThreadOptions, ToThread } from "./execution-messages.ts";
import type { ExecutionSink } from "./execution-recorder.ts";

export function startThreadSink(options: ThreadOptions): ExecutionSink {
  const thread = new Worker(siblingModule(import.meta.url, "./execution-thread"), {
    workerData: options,
    resourceLimits: { codeRangeSizeMb: 32 }, // V8 reserves half a gigabyte otherwise: see WP5.
  });
  thread.unref();
  const waiting = new Map<number, PromiseWithResolvers<ExecutionBatch>>();
  let ended: Error | undefined;
  const end = (error: Error): void => {
    ended ??= error;
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };
  thread.on("message", (message: FromThread) => {
    const wait = waiting.get(message.first);
    waiting.delete(message.first);
    if ("batch" in message) wait?.resolve(message.batch);
    else wait?.reject(decodeError(message.error));
  });
  thread.on("error", (thrown) => end(new Error(`the thread failed: ${messageOf(thrown)}`)));
  thread.on("exit", () => end(new Error("the thread ended")));
  return {
    write(batch, { first, originMs }) {
      if (ended !== undefined) return Promise.reject(ended);
      const wait = Promise.withResolvers<ExecutionBatch>();
      waiting.set(first, wait);
      const message: ToThread = { batch, first, originMs };
      thread.postMessage(message, buffersOf(batch));
      return wait.promise;
    },
    async close() {
      end(new Error("there was no time left"));
      await thread.terminate();
    },
  };
}
