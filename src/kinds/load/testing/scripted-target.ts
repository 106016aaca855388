/** A target that does to each operation what a script says, by its name and the moment it comes. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Operation } from "../core/operation.ts";
import type {
  Done,
  OperationFailure,
  PreparedOperation,
  Target,
  TargetConnection,
} from "../core/target.ts";

/** An answer after so many milliseconds, a failure after so many, or none at all. */
export type Behaviour = number | { readonly failsAfterMs: number } | "silence";

export type Script = (operation: string, atMs: number) => Behaviour;

const failure: OperationFailure = { kind: "other", code: "500", message: "it failed" };
const ended: OperationFailure = { kind: "connection", code: "", message: "it was closed" };

export class ScriptedTarget implements Target {
  readonly kind = "scripted";
  readonly capabilities = {
    depthMax: 1,
    pollsServer: false,
    enrichment: "none",
    transactions: true,
  } as const;
  readonly #clock: Clock;
  readonly #script: Script;
  readonly #refuses: (atMs: number) => boolean;

  /** `refuses`: whether connections are refused at a moment. */
  constructor(clock: Clock, script: Script, refuses: (atMs: number) => boolean = () => false) {
    this.#clock = clock;
    this.#script = script;
    this.#refuses = refuses;
  }

  async connect(): Promise<TargetConnection> {
    const clock = this.#clock;
    if (this.#refuses(clock.nowMs())) {
      throw new OperatingError("target_refused", "backoff", "it is away");
    }
    const open = new Set<Done>();
    const end = (done: Done, what?: OperationFailure): void => {
      if (open.delete(done)) done(what, what === undefined ? 1 : 0);
    };
    return {
      get inFlight() {
        return open.size;
      },
      prepare: async ({ name }: Operation): Promise<PreparedOperation> => ({
        execute: (_values, done) => {
          const own: Done = (...answer) => done(...answer);
          open.add(own);
          const does = this.#script(name, clock.nowMs());
          if (does === "silence") return;
          if (typeof does === "number") clock.after(does, () => end(own));
          else clock.after(does.failsAfterMs, () => end(own, failure));
        },
      }),
      onBroken: () => undefined,
      close: async () => {
        for (const done of [...open]) end(done, ended);
      },
    };
  }

  async run(): Promise<never> {
    throw new OperatingError("unsupported", "never", "a script runs no SQL");
  }

  pollServer = this.run;
  statementFigures = this.run;

  async close(): Promise<void> {}
}
