/** A worker's store, on a thread of its own. Answers and errors are those of the store. */
import { Worker } from "node:worker_threads";
import { decodeError } from "../../../ground/kernel/error-codec.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../ground/kernel/node/sibling-module.ts";
import type {
  ControlAnswer,
  ControlCall,
  ControlThreadOptions,
  WorkerStore,
} from "./control-messages.ts";

export interface ThreadControl extends WorkerStore {
  close(): Promise<void>;
}

type Waiting = PromiseWithResolvers<unknown>;

export function startThreadControl(options: ControlThreadOptions): ThreadControl {
  const thread = new Worker(siblingModule(import.meta.url, "./control-thread"), {
    workerData: options,
    resourceLimits: { codeRangeSizeMb: 32 }, // V8 reserves half a gigabyte otherwise: see WP5.
  });
  const waiting = new Map<number, Waiting>();
  let nextId = 1;
  let ended: OperatingError | undefined;
  const end = (why: string): void => {
    ended ??= new OperatingError("store_unavailable", "backoff", why);
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };
  thread.on("message", (answer: ControlAnswer) => {
    const wait = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ("result" in answer) wait?.resolve(answer.result);
    else wait?.reject(decodeError(answer.error));
  });
  thread.on("error", (thrown) => end(`the store's thread failed: ${messageOf(thrown)}`));
  thread.on("exit", () => end("the store's thread ended"));
  const call = async <Method extends keyof WorkerStore>(
    method: Method,
    ...args: Parameters<WorkerStore[Method]>
  ): Promise<Awaited<ReturnType<WorkerStore[Method]>>> => {
    if (ended !== undefined) throw ended;
    const wait: Waiting = Promise.withResolvers();
    const message: ControlCall = { id: nextId, method, args };
    waiting.set(nextId, wait);
    nextId += 1;
    thread.postMessage(message);
    return (await wait.promise) as Awaited<ReturnType<WorkerStore[Method]>>;
  };
  return {
    register: (worker) => call("register", worker),
    read: (runId) => call("read", runId),
    events: (runId, afterSequence) => call("events", runId, afterSequence),
    beat: (worker, beat) => call("beat", worker, beat),
    writeSnapshot: (worker, snapshot) => call("writeSnapshot", worker, snapshot),
    finish: (worker, snapshot, status) => call("finish", worker, snapshot, status),
    log: (runId, lines) => call("log", runId, lines),
    readPools: (runId, templateId) => call("readPools", runId, templateId),
    async close() {
      end("closed");
      await thread.terminate();
    },
  };
}
