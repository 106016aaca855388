/**
 * A child process (TK7): starts it, reads its output, notices its end, kills it. A child with a
 * channel ends when the channel is gone, and so when this process ends in any way.
 */
import { type ChildProcess, type Serializable, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type Clock, waitAtMost } from "../../kernel/clock.ts";
import type { CommandLine } from "./bounded-command.ts";

export interface ProcessOptions {
  /** This process's environment when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * A function gets the lines of both outputs; a number is an open file for both; `errors` discards
   * standard output and passes standard error on.
   */
  readonly output: ((line: string) => void) | number | "errors";
  /** Receives its messages. Without it there is no channel. */
  readonly onMessage?: (message: unknown) => void;
  /** Messages are cloned; otherwise they are JSON. */
  readonly isCloned?: boolean;
  /** The child has a session of its own and goes on when this process ends. */
  readonly detached?: boolean;
}

export interface ProcessEnd {
  /** Undefined when a signal ended it, or it could not be started. */
  readonly code: number | undefined;
  /** The signal, `exit status 1`, or why it could not be started. */
  readonly how: string;
}

export class OwnProcess {
  /** Rejects when the child cannot be started. */
  readonly started: Promise<void>;
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  #isGone: boolean = false;

  constructor([program, ...args]: CommandLine, options: ProcessOptions) {
    const { env, output, onMessage, isCloned, detached = false } = options;
    const stdio = typeof output === "function" ? "pipe" : output;
    this.#child = spawn(program, args, {
      env: env ?? process.env,
      detached,
      stdio: [
        "ignore",
        stdio === "errors" ? "ignore" : stdio,
        stdio === "errors" ? "inherit" : stdio,
        ...(onMessage === undefined ? [] : ["ipc" as const]),
      ],
      serialization: isCloned === true ? "advanced" : "json",
    });
    if (detached) this.#child.unref();
    if (onMessage !== undefined) this.#child.on("message", onMessage);
    if (typeof output === "function") {
      for (const input of [this.#child.stdout, this.#child.stderr]) {
        if (input === null) continue;
        createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on("line", output);
      }
    }
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<ProcessEnd>();
    this.started = started.promise;
    this.ended = ended.promise;
    this.started.catch(() => undefined); // `ended` reports the same.
    const end = (code: number | undefined, how: string): void => {
      this.#isGone = true;
      started.reject(new Error(how));
      ended.resolve({ code, how });
    };
    this.#child.once("spawn", () => started.resolve());
    this.#child.on("error", (error) => end(undefined, error.message));
    this.#child.once("exit", (code, signal) =>
      end(code ?? undefined, signal ?? `exit status ${code}`),
    );
  }

  /** Undefined when the child is gone or never started. */
  get pid(): number | undefined {
    return this.#isGone ? undefined : this.#child.pid;
  }

  send(message: unknown): void {
    if (!this.#child.connected) return; // The child is ending.
    this.#child.send(message as Serializable, () => undefined);
  }

  kill(signal: "SIGTERM" | "SIGKILL"): void {
    this.#child.kill(signal);
  }

  /** Asks it to end, and kills it after `graceMs`. Resolves when it is gone. */
  async stop(clock: Clock, graceMs: number): Promise<"ended" | "killed"> {
    this.kill("SIGTERM");
    const isOver = this.ended.then(() => true);
    if (await waitAtMost(clock, graceMs, isOver, false)) return "ended";
    this.kill("SIGKILL");
    await this.ended;
    return "killed";
  }
}
