/** A process that runs whole queries, one after the other, for the bench over two processes. */
import { servePeer } from "../../src/ground/threads/index.ts";
import { runStream } from "./stream-run.ts";

export interface OneProcess {
  readonly requests: {
    /** Runs the query to its end; the CPU time of all threads meanwhile. */
    run(statements: string): number;
  };
  readonly notes: Record<never, never>;
}

servePeer<OneProcess, Record<string, never>>(() =>
  Promise.resolve({
    requests: { run: async (statements) => (await runStream(statements)).cpuMs },
    notes: {},
    close: () => Promise.resolve(),
  }),
);
