import type { ExitCode } from "./exit-codes.ts";

/** How a command of the program is run. */
export interface RunAction {
  /** A command that asks a running Capstan something; Ctrl-C aborts the signal. */
  ask(action: (interrupted: AbortSignal) => Promise<void>): Promise<void>;
  /** A process that runs until it is told to stop, and sees to signals itself. */
  serve(action: () => Promise<void>): Promise<void>;
  /** What the process says at its end, where that is not `ok` and nothing failed. */
  exitWith(code: ExitCode): void;
}
