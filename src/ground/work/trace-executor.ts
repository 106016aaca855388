import { messageOf, OperatingError } from "../kernel/errors.ts";
import type { Tracing } from "../observe/index.ts";
import type { Executor } from "./core/index.ts";

/** Adds a span for each work, in its query's trace. */
export function traceExecutor(tracing: Tracing, executor: Executor): Executor {
  return {
    async execute(work, path, signal, bytesMax) {
      const span = tracing.startWork(work);
      try {
        const produced = await executor.execute(work, path, signal, bytesMax);
        if (produced instanceof Uint8Array) span.produced(0, produced.length);
        else span.produced(produced.rowCount, produced.sizeBytes);
        span.end();
        return produced;
      } catch (thrown) {
        const code = thrown instanceof OperatingError ? thrown.code : "internal";
        span.end({ code, message: messageOf(thrown) });
        throw thrown;
      }
    },
  };
}
