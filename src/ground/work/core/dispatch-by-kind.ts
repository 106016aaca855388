/** One executor for several kinds of work. */
import { OperatingError } from "../../kernel/errors.ts";
import type { Executor } from "./ports.ts";

export function dispatchByKind(executors: Readonly<Record<string, Executor>>): Executor {
  return {
    execute(work, path, signal, bytesMax) {
      const executor = Object.hasOwn(executors, work.kind) ? executors[work.kind] : undefined;
      if (executor !== undefined) return executor.execute(work, path, signal, bytesMax);
      const message = `this worker cannot execute work of kind ${work.kind}`;
      return Promise.reject(new OperatingError("bad_request", "never", message));
    },
  };
}
