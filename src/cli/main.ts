/** `capstan`: parses the command line, runs the command, and reports errors (CM1, CM8). */
import { CommanderError } from "commander";
import { type ExitCode, exitCodes } from "../ground/command/exit-codes.ts";
import { type Failure, failureOf } from "../ground/command/failure.ts";
import { processTerminal } from "../ground/command/output/terminal.ts";
import { formatFailure, formatFailureJson } from "../ground/command/report-failure.ts";
import type { RunAction } from "../ground/command/run-action.ts";
import { OperatingError } from "../ground/kernel/errors.ts";
import { packageInfo } from "../ground/process/package-info.ts";
import { createProgram, usageFailure } from "./program.ts";

export async function main(argv: readonly string[]): Promise<number> {
  const code = await runMain(argv);
  await flushed();
  return code;
}

/** Waits until output is written: a slow reader's pipe holds only a few hundred lines. */
async function flushed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writableLength === 0 || stream.destroyed) continue;
    await new Promise<void>((resolve) => {
      stream.write("", () => resolve());
    });
  }
}

async function runMain(argv: readonly string[]): Promise<number> {
  const interrupted = new AbortController();
  const json = argv.includes("--json");
  let exitCode: ExitCode = exitCodes.ok;
  const run: RunAction = {
    async ask(action) {
      surviveBrokenOutput((why) => {
        if (why === "closed") process.exit(exitCodes.ok);
        process.stderr.write("error: cannot write the output: no space is left\n");
        process.exit(exitCodes.failure);
      });
      process.once("SIGINT", () => interrupted.abort());
      process.once("disconnect", () => process.exit(exitCodes.interrupted));
      process.channel?.unref();
      await action(interrupted.signal);
    },
    async serve(action) {
      surviveBrokenOutput(() => undefined);
      process.umask(0o077); // Only the owner may read what it writes.
      await action();
    },
    exitWith(code) {
      exitCode = code;
    },
  };
  try {
    const program = createProgram(packageInfo().version, run, json);
    await program.parseAsync(argv, { from: "user" });
    return interrupted.signal.aborted ? exitCodes.interrupted : exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError) {
      const wrong = usageFailure(thrown);
      if (json && wrong !== undefined) processTerminal().err(formatFailureJson(wrong));
      return wrong?.exitCode ?? exitCodes.ok;
    }
    if (interrupted.signal.aborted) return exitCodes.interrupted;
    const failure = failureOf(thrown);
    if (failure === undefined) throw thrown;
    if (await toldSupervisor(thrown, failure)) return failure.exitCode;
    const terminal = processTerminal();
    terminal.err(json ? formatFailureJson(failure) : formatFailure(failure, terminal.paintError));
    return failure.exitCode;
  }
}

/** A child of `capstan up` lets its supervisor report the error. */
async function toldSupervisor(thrown: unknown, { code, message, hint }: Failure): Promise<boolean> {
  if (process.env.CAPSTAN_SUPERVISED !== "1") return false;
  const { isSupervised, tellSupervisor } = await import("../ground/process/lifecycle.ts");
  if (!isSupervised()) return false;
  const final = !(thrown instanceof OperatingError) || thrown.retry === "never";
  await tellSupervisor({ kind: "failed", code, message, hint, final });
  return true;
}

/**
 * `capstan sql … | head` is no error. A serving process goes on: it gets a signal when its terminal
 * is gone, and a full disk may have room again.
 */
function surviveBrokenOutput(onBroken: (why: "closed" | "full") => void): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: Error & { code?: string }) => {
      if (error.code === "EPIPE" || error.code === "EIO") onBroken("closed");
      else if (error.code === "ENOSPC") onBroken("full");
      else throw error;
    });
  }
}
