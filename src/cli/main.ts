/** `capstan`: parses the command line, runs the command, and turns what went wrong into a line and an exit status. */
import { CommanderError } from "commander";
import { OperatingError } from "../kernel/errors.ts";
import { packageInfo } from "../process/package-info.ts";
import { exitCodes } from "./exit-codes.ts";
import { type Failure, failureOf } from "./failure.ts";
import { processTerminal } from "./output/terminal.ts";
import { createProgram, exitCodeOf } from "./program.ts";
import { formatFailure, formatFailureJson } from "./report-failure.ts";

export async function main(argv: readonly string[]): Promise<number> {
  const interrupted = new AbortController();
  const program = createProgram(packageInfo().version, {
    async ask(action) {
      surviveClosedOutput(() => process.exit(exitCodes.ok));
      process.once("SIGINT", () => interrupted.abort());
      process.once("disconnect", () => process.exit(exitCodes.interrupted));
      process.channel?.unref();
      await action(interrupted.signal);
    },
    async serve(action) {
      surviveClosedOutput(() => undefined);
      await action();
    },
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return interrupted.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return exitCodeOf(thrown);
    if (interrupted.signal.aborted) return exitCodes.interrupted;
    const failure = failureOf(thrown);
    if (failure === undefined) throw thrown;
    if (await toldSupervisor(thrown, failure)) return failure.exitCode;
    const terminal = processTerminal();
    const json = argv.includes("--json");
    terminal.err(json ? formatFailureJson(failure) : formatFailure(failure, terminal.paintError));
    return failure.exitCode;
  }
}

/** A child of `capstan up` leaves it to its supervisor to say what went wrong. */
async function toldSupervisor(thrown: unknown, { code, message, hint }: Failure): Promise<boolean> {
  if (process.env.CAPSTAN_SUPERVISED !== "1") return false;
  const { isSupervised, tellSupervisor } = await import("../process/lifecycle.ts");
  if (!isSupervised()) return false;
  const final = !(thrown instanceof OperatingError) || thrown.retry === "never";
  await tellSupervisor({ kind: "failed", code, message, hint, final });
  return true;
}

/**
 * `capstan sql … | head` is no error. A process that serves goes on: it is told to stop in other ways when its
 * terminal is gone.
 */
function surviveClosedOutput(onClosed: () => void): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: Error & { code?: string }) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
      onClosed();
    });
  }
}
