/** Runs blocks on several threads. A block that is not answered in time is told as a hang. */
import { Worker } from "node:worker_threads";
import type { BlockAnswer, BlockRequest } from "./block.ts";

export interface RunOptions {
  readonly jobs: number;
  /** Wall time, generous: the machine may be busy with other things. */
  readonly hangMs: number;
  /** Whether no further block has to be run. */
  readonly isOver: () => boolean;
  readonly onAnswer: (answer: BlockAnswer, request: BlockRequest) => void;
}

export async function runBlocks(
  requests: readonly BlockRequest[],
  { jobs, hangMs, isOver, onAnswer }: RunOptions,
): Promise<void> {
  const waiting = requests.values();
  const run = async (): Promise<void> => {
    let thread: Worker | undefined;
    for (const request of waiting) {
      if (isOver()) break;
      thread ??= new Worker(new URL("./fuzz-thread.ts", import.meta.url));
      const answer = await answerOf(thread, request, hangMs);
      if (answer.isBroken) {
        await thread.terminate();
        thread = undefined;
      }
      onAnswer(answer, request);
    }
    await thread?.terminate();
  };
  await Promise.all(Array.from({ length: Math.min(jobs, requests.length) }, run));
}

function answerOf(
  thread: Worker,
  request: BlockRequest,
  hangMs: number,
): Promise<BlockAnswer & { readonly isBroken?: boolean }> {
  return new Promise((resolve) => {
    const settle = (answer: BlockAnswer & { readonly isBroken?: boolean }): void => {
      clearTimeout(timer);
      thread.off("message", settle).off("error", failed);
      resolve(answer);
    };
    const broken = (what: string): void => {
      const text = `block ${request.block}: ${what}`;
      const none = { cases: 0, counts: {}, slowestMs: 0, slowest: "" };
      settle({ ...none, failures: [{ text }], isBroken: true });
    };
    const timer = setTimeout(() => broken(`nothing came back within ${hangMs} ms`), hangMs);
    const failed = (error: Error): void => broken(`the thread broke: ${error.stack}`);
    thread.on("message", settle).on("error", failed);
    thread.postMessage(request);
  });
}
