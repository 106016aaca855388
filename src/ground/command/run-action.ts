import type { ExitCode } from "./exit-codes.ts";

/** How a command of the program is run. */
export interface RunAction {
  /** Runs a command that calls a running Capstan; Ctrl-C aborts the signal. */
  ask(action: (interrupted: AbortSignal) => Promise<void>): Promise<void>;
  /** Runs a process until it is told to stop; the process handles signals itself. */
  serve(action: () => Promise<void>): Promise<void>;
  /** Sets the exit status of a process that ended without failure but not with `ok`. */
  exitWith(code: ExitCode): void;
}
